"""Convert composed configs to frozen plain data. Nothing after this module sees a DictConfig.

Hydra silently accepts `+key=value`, `~key` and unknown keys in files; a run does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

from msgspec import Meta

from gauntlet.common.errors import UserError
from gauntlet.common.process import invocation
from gauntlet.pipeline.config.jobs import Composed
from gauntlet.pipeline.config.players import (
    SUBJECT,
    FindNode,
    Job,
    SeatConfig,
    check_named,
    pairs,
    read_seat,
    unmeasured_seats,
)
from gauntlet.pipeline.config.players import Node as Node
from gauntlet.pipeline.config.values import MOST_PLAYED as MOST_PLAYED
from gauntlet.pipeline.config.values import check_value, format_value, settings
from gauntlet.stats.verdicts import Verdict

GROUPS = ("game", "agent", "model", "prompt", "seats")
"""The config groups that make a cell."""
MOST = 1_000_000_000
"""Most deals per seed."""
MOST_SEED = 2**63 - 1
TRACES = ("sample", "all", "none")
"""Which matches' model calls go to MLflow."""

Seed = int | tuple[int, ...]
"""The source of all randomness in a sweep: one number, or several that take turns by deal."""
Text = Annotated[str, Meta(pattern=r"\S")]
Share = Annotated[float, Meta(gt=0, lt=1)]
Positive = Annotated[float, Meta(gt=0)]
Count = Annotated[int, Meta(ge=1)]
FromZero = Annotated[int, Meta(ge=0)]
SlurmName = Annotated[
    str,
    Meta(
        pattern=r"\A[A-Za-z0-9_][A-Za-z0-9_.,@+-]*\Z",
        description="a name of letters, digits and any of _ . , @ + -",
    ),
]
Places = Annotated[tuple[Literal["first", "last"] | Count, ...], Meta(max_length=100)]
TestName = Literal["two_sided", "above", "non_inferior"]
Stop = Literal["fixed", "sprt", "precision"]


@dataclass(frozen=True)
class DeclaredTest:
    """The test of a cell's result, declared in advance: whether it differs from the baseline, is
    above it, or is not below it by more than the margin (as a fraction of the measure's range, or
    in its unit if unbounded)."""

    name: TestName = "two_sided"
    margin: float = 0.0

    @property
    def side(self) -> Literal["either", "above"]:
        return "either" if self.name == "two_sided" else "above"


TWO_SIDED = DeclaredTest()
NO_BELIEFS: Node = {"kind": "none"}


@dataclass(frozen=True)
class CellConfig:
    """One job of a sweep: one cell of the table, as nodes still to be built.

    measure: the name of the result; None for the game's default.
    opponent: in a round robin, the opponent's player number, for labels; else None.
    without: the part that an ablation leaves out, as KEY=VALUE; "" for none.
    """

    experiment: str
    labels: Mapping[str, str]
    game: Node
    seats: tuple[SeatConfig, ...]
    measured: tuple[int, ...]
    rotate: bool
    paper_bugs: bool
    baseline: str | None
    packages: tuple[str, ...]
    measure: Text | None = None
    opponent: int | None = None
    samples: Annotated[int, Meta(ge=1, le=10_000)] = 1
    test: DeclaredTest = TWO_SIDED
    keep_thoughts: bool = True
    without: str = ""


@dataclass(frozen=True)
class Expect:
    """The win rate that a planned number of deals should detect, with its power, and the precision
    that `stop=precision` aims for.

    win_rate: of every cell; None for `gain` above the cell's own baseline.
    """

    win_rate: Share | None
    gain: Share
    power: Share
    half_width: Share

    def above(self, baseline: float) -> float:
        """The win rate to detect against this baseline. `gain` is capped at half the distance from
        the baseline to 1. An explicit win_rate may be below the baseline."""
        if self.win_rate is not None:
            return self.win_rate
        return min(baseline + self.gain, (baseline + 1) / 2)


@dataclass(frozen=True)
class Budget:
    """What an adaptive sweep may spend, over all its runs; it stops after the round that reaches
    it. money: US dollars at list prices. None: no limit."""

    matches: Count | None
    tokens: Count | None
    money: Positive | None


@dataclass(frozen=True)
class Adaptive:
    """How `pairing=adaptive` chooses what to play, see `stats.tournament`.

    margin: players whose mean shares of a deal are within 1/2 +- margin are level.
    """

    verdict: Verdict
    margin: Share
    round_deals: Annotated[int, Meta(ge=1, le=100_000)]
    budget: Budget


@dataclass(frozen=True)
class SweepConfig:
    """The keys that all jobs of a sweep share.

    deals: per seed; the most of an adaptive sweep. controls: positions for `agents.fixed.Fixed`
    players that replace the subjects; "auto" is the first and the last, if that needs no model.
    config: the composed config, as `pipeline.config.resolved` writes it.
    """

    deals: Annotated[int, Meta(ge=1, le=MOST)] | Literal["auto"]
    seed: Seed
    output_dir: Path
    concurrent_matches: Annotated[int, Meta(ge=1, le=100_000)]
    stop: Stop
    expect: Expect
    launch: Node
    tracking: Node
    controls: Literal["auto"] | tuple[int, ...] = "auto"
    noise_floor: bool = False
    allow_code_change: bool = False
    comparisons: Text = "auto"
    max_failures: Count | None = 5
    adaptive: Adaptive | None = None
    beliefs: Node = field(default_factory=lambda: NO_BELIEFS)
    config: Node = field(default_factory=dict)


SHARED = (
    *("deals", "concurrent_matches", "stop", "expect", "noise_floor", "allow_code_change"),
    *("comparisons", "max_failures"),
)
"""The fields of `SweepConfig` that are as in the config."""


def _hints(cls: type[Any], *names: str) -> dict[str, Any]:
    """The types of a class's fields, by name; of all without names."""
    hints = get_type_hints(cls, include_extras=True)
    return {name: hints[name] for name in names or hints}


KEYS: Mapping[str, Any] = {
    **dict.fromkeys((*GROUPS, "launch", "tracking", "beliefs", "ablate"), Any),
    **_hints(CellConfig, "paper_bugs", "packages", "measure", "samples", "keep_thoughts"),
    **_hints(Adaptive),
    **_hints(SweepConfig, *SHARED),
    "name": Text,
    "output_dir": Text,
    "seed": Annotated[int, Meta(ge=0, le=MOST_SEED)],
    "rotate": bool | Literal["auto"],
    "baseline": Text | None,
    "pairing": Literal["seats", "round_robin", "anchor", "adaptive"],
    "players": tuple[str, ...],
    "controls": Literal["auto"] | Places,
    "test": TestName,
    "allow_env": tuple[str, ...],
}
"""The type of every key of a run; conf/config.yaml explains them."""
_WORKERS = {"workers": Count | None, "nodes": Count, "patience": Positive | None}
KINDS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "launch": {
        "inline": {"workers": Count | None},
        "ray": {
            **_WORKERS,
            "address": Text | None,
            "auth": Literal["token", "disabled"],
            "token_file": Text | None,
        },
        "slurm": {
            **_WORKERS,
            **dict.fromkeys(("partition", "account"), SlurmName | None),
            "time": Any,
            **dict.fromkeys(("gpus_per_node", "requeues"), FromZero),
            **dict.fromkeys(("cpus_per_task", "signal"), Count),
            "extra": tuple[str, ...],
            "dry_run": bool,
        },
    },
    "tracking": {"none": {"store": Any}, "mlflow": {"store": Text, "traces": Literal[TRACES]}},
    "beliefs": {"none": {}, "asked": {"every": Count}},
}
"""The settings that each kind of these groups may have, and except for `launch` must."""
NO_TRACKING: Node = {"kind": "none", "store": None}
UNLABELLED = (
    *("base_url", "limit", "in_flight", "batch", "timeout", "patience", "slots", "threads"),
    *("price_in", "price_out", "price_cached", "cap", "cache", "key_env", "headers", "stream"),
    "parameters",
)
"""Settings of a server, its cost and a model's size, which do not appear in names."""
PLAIN = "wording=plain"
"""Default value, written out so that it can be swept; omitted from labels."""


def read_cells(composed: Composed, find: FindNode) -> tuple[CellConfig, ...]:
    """The cells of one job: one, or one for every pair of players. Raises UserError for invalid
    values."""
    values = _values(composed.config)
    for group in GROUPS:
        if not isinstance(composed.choices.get(group), str):
            raise missing_choice(group, composed.choices.get(group))
    keys = [change.partition("=")[0] for change in _changes("model", composed)]
    changes = {key: composed.config["model"].get(key) for key in keys}
    check_named(composed.choices["model"], changes, find)
    labels = {group: _label(group, composed) for group in GROUPS}
    if values["paper_bugs"]:
        labels["game"] = f"{labels['game']}[paper_bugs=true]"
    job = Job(values, labels, composed.overrides, find)
    entries, measured = _seating(values["seats"])
    if values["pairing"] != "seats":
        opponent = unmeasured_seats(measured, len(entries))[0]
        if composed.without:
            raise UserError("ablate is for pairing=seats, where a cell has one player under study")
        seatings = pairs(job, entries, measured)
        return tuple(_cell(job, seats, measured, opponent) for seats in seatings)
    if values["players"]:
        raise UserError(
            "players is for pairing=round_robin, anchor or adaptive; pairing=seats takes those of "
            "`seats`"
        )
    seats = tuple(read_seat(number, entry, job) for number, entry in enumerate(entries))
    return (replace(_cell(job, seats, measured, None), without=composed.without),)


def read_sweep(plains: Sequence[Node]) -> SweepConfig:
    """The settings that the jobs share, with all seeds in order. Raises UserError if another
    sweep-wide key is swept."""
    sweeps = [_sweep(_values(plain)) for plain in plains]
    seeds = tuple(dict.fromkeys(plain["seed"] for plain in plains))
    for key in (own.name for own in fields(SweepConfig) if own.name != "seed"):
        values = {str(getattr(sweep, key)) for sweep in sweeps}
        if len(values) > 1:
            raise UserError(f"{key} takes one value a run, got {' and '.join(sorted(values))}")
    sweep = replace(sweeps[0], seed=seeds if len(seeds) > 1 else seeds[0])
    if sweep.deals != "auto" and sweep.deals * len(seeds) > MOST_PLAYED:
        raise UserError(
            f"deals={sweep.deals:,}: a sweep plays at most {MOST_PLAYED:,} deals, of all seeds "
            "together"
        )
    return sweep


def _values(config: Node) -> dict[str, Any]:
    """The checked value of every key; group contents are checked only as far as every run needs
    them."""
    for group in GROUPS:
        if not isinstance(config.get(group), Mapping):
            raise missing_choice(group, config.get(group))
    default = {"launch": None, "tracking": NO_TRACKING, "beliefs": NO_BELIEFS}
    values = settings({**default, **config}, KEYS)
    return values | {group: _kind(group, values[group]) for group in KINDS}


def missing_choice(group: str, value: Any) -> UserError:
    return UserError(
        f"{group} is {format_value(value)}; a run needs one: {group}=NAME "
        f"({invocation('pipeline.run')} --help lists them)"
    )


def _kind(group: str, node: Any) -> Node:
    """The checked node of a group whose `kind` determines its settings."""
    if not isinstance(node, Mapping):
        raise missing_choice(group, node)
    kind = check_value(node.get("kind"), Literal[tuple(KINDS[group])], f"{group}.kind")
    hints = {"kind": str, **KINDS[group][kind]}
    return settings(node, hints, f"{group}.", optional=group == "launch")


def _cell(
    job: Job, seats: tuple[SeatConfig, ...], measured: tuple[int, ...], opponent: int | None
) -> CellConfig:
    values, labels = job.config, dict(job.labels)
    if opponent is not None or not any(seat.subject for seat in seats):
        _refuse_agent(job)
        labels.update(seats[measured[0]].labels)
    rotate = values["pairing"] == "adaptive" or values["rotate"]
    if rotate == "auto":  # a seat can be worth as much as a player
        players = {(seat.name, seat.asked) for seat in seats}
        free_for_all = len(players) > 2 and all(seat.helps is None for seat in seats)
        rotate = values["pairing"] != "seats" or free_for_all
    baseline = values["baseline"]
    if baseline == "auto":
        baseline = "random" if values["pairing"] == "seats" else None
    margin = values["margin"] if values["test"] == "non_inferior" else 0.0
    same = ("game", "paper_bugs", "packages", "measure", "samples", "keep_thoughts")
    return CellConfig(
        experiment=values["name"],
        labels=labels,
        seats=seats,
        measured=measured,
        opponent=opponent,
        baseline=baseline,
        test=DeclaredTest(values["test"], margin),
        rotate=rotate,
        **{key: values[key] for key in same},
    )


def _seating(seats: Node) -> tuple[list[Any], tuple[int, ...]]:
    """The seats' entries in order, and the measured seats: one, a list, or all."""
    entries = {key: entry for key, entry in seats.items() if key != "measured"}
    numbers = sorted(entries, key=lambda number: (len(number), number))
    if numbers != [str(number) for number in range(len(entries))]:
        raise UserError(f"seats must be numbered from 0 without a gap, got {', '.join(numbers)}")
    value = seats.get("measured")
    every = list(range(len(entries))) if value == "all" else value
    measured = every if isinstance(every, list) else [every]
    known = all(type(seat) is int and 0 <= seat < len(entries) for seat in measured)
    if not measured or not known or len(set(measured)) < len(measured):
        raise UserError(
            f"seats.measured is {value!r}; it must be 0 to {len(entries) - 1}, a list of such, or "
            "all"
        )
    return [entries[number] for number in numbers], tuple(measured)


def _refuse_agent(job: Job) -> None:
    """Raises UserError if an agent was chosen but no seat uses it."""
    for override in job.overrides:
        if override.startswith(("agent=", "agent.")):
            pairing = job.config["pairing"]
            where = f"seats={job.labels['seats']}" if pairing == "seats" else f"pairing={pairing}"
            raise UserError(f"{override}: {where} has no seat whose agent is `{SUBJECT}`")


def _sweep(values: Node) -> SweepConfig:
    controls: Any = values["controls"]
    if controls != "auto":
        ends = {"first": 1, "last": -1}
        controls = tuple(dict.fromkeys(ends.get(place, place) for place in controls))
    every = {
        **values,
        "output_dir": Path(values["output_dir"]),
        "controls": controls,
        "adaptive": _adaptive(values) if values["pairing"] == "adaptive" else None,
    }
    names = [own.name for own in fields(SweepConfig) if own.name != "config"]
    return SweepConfig(**{name: every[name] for name in names})


def _adaptive(values: Node) -> Adaptive:
    """The settings of an adaptive sweep. Raises UserError for others that do not go with it."""
    usual = {"stop": "fixed", "test": "two_sided", "noise_floor": False}
    for key, value in usual.items():
        if values[key] != value:
            raise UserError(f"pairing=adaptive takes {key}={str(value).lower()} only")
    if values["deals"] == "auto":
        raise UserError("pairing=adaptive plays until it is settled: give the most deals, not auto")
    if values["rotate"] is False:
        raise UserError("rotate=false: pairing=adaptive plays every deal from every seat")
    if values["controls"] not in ("auto", ()):
        raise UserError("pairing=adaptive plays no controls")
    if values["margin"] >= 0.5:
        raise UserError(f"margin={values['margin']:g}: with pairing=adaptive it is below 0.5")
    return Adaptive(**{own.name: values[own.name] for own in fields(Adaptive)})


def _changes(group: str, job: Composed) -> list[str]:
    """The settings of a group's choice that were changed, as KEY=VALUE."""
    starts = (f"{group}@{group}.", f"{group}.")
    typed = (word.lstrip("+") for word in job.overrides)
    return [
        word.removeprefix(starts[0]).removeprefix(starts[1])
        for word in typed
        if word.startswith(starts)
    ]


def _label(group: str, job: Composed) -> str:
    """The group's choice, with its `name` or the last part of its `path`, and the other changed
    settings in brackets: tic_tac_toe[size=4], openspiel:go[listed=20]."""
    changes = _changes(group, job)
    node, name, unlabelled = job.config[group], job.choices[group], {PLAIN}
    if "name" in node:
        name, unlabelled = f"{name}:{node['name']}", {PLAIN, "name"}
    elif any(change.startswith("path=") for change in changes):
        name, unlabelled = f"{name}:{Path(str(node['path'])).name}", {PLAIN, "path"}
    unlabelled |= {*UNLABELLED} if group == "model" else set()
    changes = [one for one in changes if not {one, one.partition("=")[0]} & unlabelled]
    return f"{name}[{','.join(changes)}]" if changes else name
