"""From composed configs to plain frozen data. Nothing past this file sees a DictConfig."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_type_hints

from gauntlet.common.errors import UserError
from gauntlet.pipeline.config import keys
from gauntlet.pipeline.config.keys import GROUPS, Share
from gauntlet.pipeline.config.keys import MOST_PLAYED as MOST_PLAYED
from gauntlet.pipeline.config.keys import MOST_SEED as MOST_SEED
from gauntlet.pipeline.config.players import (
    SUBJECT,
    FindNode,
    Job,
    SeatConfig,
    others,
    pairs,
    read_seat,
)
from gauntlet.pipeline.config.players import Node as Node
from gauntlet.pipeline.config.values import settings

Seed = int | tuple[int, ...]
"""What settles all chance of a sweep: a number, or several that take turns deal by deal."""


@dataclass(frozen=True)
class Declared:
    """The test that a cell's result is put to, chosen beforehand: whether it differs from the
    baseline, is above it, or at least not below it by more than the margin (in parts of the
    measure's range, of its unit where it has none)."""

    name: keys.TestName = "two_sided"
    margin: float = 0.0

    @property
    def side(self) -> Literal["either", "above"]:
        return "either" if self.name == "two_sided" else "above"


TWO_SIDED = Declared()


@dataclass(frozen=True)
class CellConfig:
    """What one job of a sweep asks for: one cell of the table, as nodes still to be built.

    measure: by name what counts of a match; None for what the game is judged by.
    opponent: the player that a pair's measured one meets, whom the labels tell; None else.
    samples: how often each deal is played, with all chance but the deal's drawn anew.
    """

    experiment: str
    labels: Mapping[str, str]
    game: Node
    seats: tuple[SeatConfig, ...]
    measured: tuple[int, ...]
    rotate: bool
    quirks: Literal["none", "paper"]
    baseline: str | None
    packages: tuple[str, ...]
    measure: str | None = None
    opponent: int | None = None
    samples: int = 1
    test: Declared = TWO_SIDED


@dataclass(frozen=True)
class Expect:
    """The win rate that a planned number of deals should find, with which power, at which level;
    and how well `stop=precision` is to know a win rate.

    win_rate: of every cell; None for `gain` above the cell's own baseline.
    """

    win_rate: Share | None
    gain: Share
    power: Share
    alpha: Share
    half_width: Share

    def above(self, baseline: float) -> float:
        """The win rate to be found against this baseline. Where `gain` would go past the middle
        between it and 1, that middle. It may lie below where a person said so."""
        if self.win_rate is not None:
            return self.win_rate
        return min(baseline + self.gain, (baseline + 1) / 2)


@dataclass(frozen=True)
class SweepConfig:
    """What all jobs of a sweep share.

    deals: of each seed.
    controls: the places of `agents.fixed.Fixed` whose players are played in the subjects' places;
    "auto" is the first and the last, where that asks no model.
    noise_floor: whether subjects are asked again in prompts that differ in nothing that matters.
    allow_code_change: go on with a folder although the code has changed since its matches were
        played.
    comparisons: the rule of `pipeline.tables.comparisons` by which the tables pair cells.
    max_failures: how many first matches of a cell may fail alike before this run stops the cell;
        None: any number.
    config: all that was composed, as `pipeline.config.resolved` has it.
    """

    deals: int | Literal["auto"]
    simulate: bool
    seed: Seed
    output_dir: Path
    concurrent_matches: int
    stop: keys.Stop
    expect: Expect
    launch: Node
    tracking: Node
    controls: Literal["auto"] | tuple[int, ...] = "auto"
    noise_floor: bool = False
    allow_code_change: bool = False
    comparisons: str = "auto"
    max_failures: int | None = 5
    config: Node = field(default_factory=dict)


EXPECT = get_type_hints(Expect, include_extras=True)
UNLABELLED = (
    *("base_url", "limit", "in_flight", "timeout", "patience"),
    *("price_in", "price_out", "cap", "cache"),
)
"""Settings of a server and of what it may cost, which are no part of a name."""
PLAIN = "wording=plain"
"""The default, said aloud so that it can be swept: it is no part of a name."""


def read_cells(
    plain: Node, choices: Mapping[str, str], overrides: Sequence[str], find: FindNode
) -> tuple[CellConfig, ...]:
    """One job's config as plain data: one cell, or one a pair of players. Raises UserError for a
    value that cannot be meant."""
    values = keys.read(plain)
    for group in GROUPS:
        if not isinstance(choices.get(group), str):
            raise UserError(f"{group} is {choices.get(group)!r}; a run needs one: {group}=NAME")
    labels = {group: _label(group, choices, overrides, plain) for group in GROUPS}
    if values["quirks"] == "paper":
        labels["game"] = f"{labels['game']}[quirks=paper]"
    job = Job(values, labels, tuple(overrides), find)
    entries, measured = _seating(values["seats"])
    if values["pairing"] == "round_robin":
        opponent = others(measured, len(entries))[0]
        return tuple(
            _cell(job, seats, measured, opponent) for seats in pairs(job, entries, measured)
        )
    if values["players"]:
        raise UserError("players is for pairing=round_robin; pairing=seats takes those of `seats`")
    seats = tuple(read_seat(number, entry, job) for number, entry in enumerate(entries))
    return (_cell(job, seats, measured, None),)


def _cell(
    job: Job, seats: tuple[SeatConfig, ...], measured: tuple[int, ...], opponent: int | None
) -> CellConfig:
    values, labels = job.plain, dict(job.labels)
    if opponent is not None or not any(seat.subject for seat in seats):
        _refuse_agent(job)
        labels.update(seats[measured[0]].labels)
    margin = values["margin"] if values["test"] == "non_inferior" else 0.0
    same = ("game", "rotate", "quirks", "baseline", "packages", "measure", "samples")
    return CellConfig(
        experiment=values["name"],
        labels=labels,
        seats=seats,
        measured=measured,
        opponent=opponent,
        test=Declared(values["test"], margin),
        **{key: values[key] for key in same},
    )


def _seating(seats: Node) -> tuple[list[Any], tuple[int, ...]]:
    """The seats' entries in their order, and the measured seats."""
    entries = {key: entry for key, entry in seats.items() if key != "measured"}
    numbers = sorted(entries, key=lambda number: (len(number), number))
    if numbers != [str(number) for number in range(len(entries))]:
        raise UserError(f"seats must be numbered from 0 without a gap, got {', '.join(numbers)}")
    return [entries[number] for number in numbers], _measured(seats.get("measured"), len(entries))


def _measured(given: Any, seats: int) -> tuple[int, ...]:
    """The measured seats: one, a list of them, or all."""
    asked = list(range(seats)) if given == "all" else given if isinstance(given, list) else [given]
    whole = all(isinstance(seat, int) and not isinstance(seat, bool) for seat in asked)
    if not (asked and whole and set(asked) <= set(range(seats)) and len(set(asked)) == len(asked)):
        raise UserError(
            f"seats.measured is {given!r}; it must be 0 to {seats - 1}, a list of such, or all"
        )
    return tuple(asked)


def _refuse_agent(job: Job) -> None:
    """Raises UserError where an agent is chosen that no seat takes."""
    for override in job.overrides:
        if override.startswith(("agent=", "agent.")):
            where = "pairing=round_robin" if job.plain["pairing"] == "round_robin" else ""
            raise UserError(
                f"{override}: {where or 'seats=' + job.labels['seats']} has no seat whose agent "
                f"is `{SUBJECT}`"
            )


def read_sweep(plains: Sequence[Node]) -> SweepConfig:
    """What the jobs share; of a swept seed all values, in order. Raises UserError where another key
    that belongs to the sweep is swept."""
    sweeps = [_sweep(keys.read(plain)) for plain in plains]
    seeds = tuple(dict.fromkeys(plain["seed"] for plain in plains))
    for key in (own.name for own in fields(SweepConfig) if own.name != "seed"):
        values = {str(getattr(sweep, key)) for sweep in sweeps}
        if len(values) > 1:
            raise UserError(f"{key} takes one value a run, got {' and '.join(sorted(values))}")
    sweep = replace(sweeps[0], seed=seeds if len(seeds) > 1 else seeds[0])
    if sweep.deals != "auto" and not sweep.simulate and sweep.deals * len(seeds) > MOST_PLAYED:
        raise UserError(
            f"deals={sweep.deals:,}: a sweep plays at most {MOST_PLAYED:,} deals, of all seeds "
            "together; simulate=true counts more"
        )
    return sweep


def _sweep(values: Node) -> SweepConfig:
    every = {
        **values,
        "output_dir": Path(values["output_dir"]),
        "expect": Expect(**settings(values["expect"], EXPECT, "expect.")),
        "controls": _controls(values["controls"]),
        "comparisons": str(values["comparisons"]),
    }
    names = [own.name for own in fields(SweepConfig) if own.name != "config"]
    return SweepConfig(**{name: every[name] for name in names})


def _label(group: str, choices: Mapping[str, str], overrides: Sequence[str], plain: Node) -> str:
    """The group's choice, with its `name` or the last part of the `path` it was given, and in
    brackets what else was changed: tic_tac_toe[size=4], openspiel:go[listed=20]."""
    starts = (f"{group}.", f"{group}@{group}.")
    typed = (item.lstrip("+") for item in overrides)
    changes = [
        item.removeprefix(starts[1]).removeprefix(starts[0])
        for item in typed
        if item.startswith(starts)
    ]
    name, unlabelled = choices[group], UNLABELLED if group == "model" else ()
    if "name" in plain[group]:
        name, unlabelled = f"{name}:{plain[group]['name']}", ("name", *unlabelled)
    elif path := next((change for change in changes if change.startswith("path=")), None):
        changes.remove(path)
        name = f"{name}:{Path(str(plain[group]['path'])).name}"
    changes = [change for change in changes if change.partition("=")[0] not in unlabelled]
    changes = [change for change in changes if change != PLAIN]
    return f"{name}[{','.join(changes)}]" if changes else name


def _controls(given: Any) -> Literal["auto"] | tuple[int, ...]:
    if given == "auto":
        return "auto"
    ends: dict[Any, Any] = {"first": 1, "last": -1}
    listed = given if isinstance(given, list) else [None]
    places: list[Any] = [ends.get(str(one), one) for one in listed]
    if all(type(place) is int and place != 0 for place in places):
        return tuple(dict.fromkeys(places))
    raise UserError(
        f"controls is {given!r}; it must be auto, or a list of first, last and places from 1"
    )
