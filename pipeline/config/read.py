"""From Hydra's composed configs to plain frozen data. Nothing past this file sees a DictConfig."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from hydra.errors import MissingConfigException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from common.errors import UserError, nearest

Node = Mapping[str, Any]
FindNode = Callable[[str, str], Node]
"""Finds the YAML node of a (group, choice), for seats that name their own agent or model."""

SUBJECT = "subject"


@dataclass(frozen=True)
class SeatConfig:
    """One entry of a seating: the nodes of its player, and what it plays for."""

    name: str
    subject: bool
    agent: Node
    model: Node
    prompt: Node
    helps: int | None


@dataclass(frozen=True)
class CellConfig:
    """What one job of a sweep asks for: one cell of the table, as nodes still to be built."""

    experiment: str
    labels: Mapping[str, str]
    game: Node
    seats: tuple[SeatConfig, ...]
    measured: tuple[int, ...]
    rotate: bool
    quirks: Literal["none", "paper"]
    baseline: str | None
    packages: tuple[str, ...]


@dataclass(frozen=True)
class Expect:
    """The win rate that a planned number of deals should find, with which power, at which level;
    and how well `stop=precision` is to know a win rate."""

    win_rate: float
    power: float
    alpha: float
    half_width: float


@dataclass(frozen=True)
class SweepConfig:
    """What all jobs of a sweep share."""

    deals: int | Literal["auto"]
    simulate: bool
    seed: int
    output_dir: Path
    width: int
    stop: Literal["fixed", "sprt", "precision"]
    expect: Expect
    launch: Node
    tracking: Node


GROUPS = ("game", "agent", "model", "prompt", "seats")


def read_cell(
    config: DictConfig, choices: Mapping[str, str], overrides: Sequence[str], find: FindNode
) -> CellConfig:
    """One job's config as plain data. Raises UserError for a value that cannot be meant."""
    plain = _plain(config)
    labels: Node = {group: _label(group, choices, overrides, plain) for group in GROUPS}
    if plain["quirks"] == "paper":
        labels = {**labels, "game": f"{labels['game']}[quirks=paper]"}
    seats = dict(plain["seats"])
    measured = seats.pop("measured", None)
    numbers = sorted(seats, key=lambda number: (len(number), number))
    if numbers != [str(number) for number in range(len(seats))]:
        raise UserError(f"seats must be numbered from 0 without a gap, got {', '.join(numbers)}")
    seated = _measured(measured, len(seats))
    built = tuple(_seat(number, seats[number], plain, labels, find) for number in numbers)
    if not any(seat.subject for seat in built):
        labels = _without_subject(labels, overrides, seats[str(seated[0])])
    return CellConfig(
        experiment=str(plain["name"]),
        labels=labels,
        game=plain["game"],
        seats=built,
        measured=seated,
        rotate=_one_of("rotate", plain["rotate"], (True, False)),
        quirks=_one_of("quirks", plain["quirks"], ("none", "paper")),
        baseline=plain["baseline"],
        packages=tuple(plain["packages"]),
    )


def _measured(given: Any, seats: int) -> tuple[int, ...]:
    """The measured seats: one, a list of them, or all."""
    asked = list(range(seats)) if given == "all" else given if isinstance(given, list) else [given]
    whole = all(isinstance(seat, int) and not isinstance(seat, bool) for seat in asked)
    if not (asked and whole and set(asked) <= set(range(seats)) and len(set(asked)) == len(asked)):
        raise UserError(
            f"seats.measured is {given!r}; it must be 0 to {seats - 1}, a list of such, or all"
        )
    return tuple(asked)


def _without_subject(labels: Mapping[str, str], overrides: Sequence[str], entry: Node) -> Node:
    """The labels of a seating whose players are all fixed: the measured one, `entry`, stands for
    the subject. Raises UserError where an agent is chosen that no seat takes."""
    for override in overrides:
        if override.startswith(("agent=", "agent.")):
            raise UserError(
                f"{override}: seats={labels['seats']} has no seat whose agent is `{SUBJECT}`"
            )
    own = {part: str(entry[part]) for part in ("agent", "model", "prompt") if entry.get(part)}
    return {**labels, **own}


def read_sweep(configs: Sequence[DictConfig]) -> SweepConfig:
    """What the jobs share. Raises UserError where a key that belongs to the sweep is swept."""
    sweeps = [_sweep(_plain(config)) for config in configs]
    for field in fields(SweepConfig):
        values = {str(getattr(sweep, field.name)) for sweep in sweeps}
        if len(values) > 1:
            raise UserError(
                f"{field.name} takes one value a run, got {' and '.join(sorted(values))}"
            )
    return sweeps[0]


def explain(error: Exception) -> str:
    """One line for what Hydra or OmegaConf refused."""
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        group, _, choice = str(error.missing_cfg_file).rpartition("/")
        return f"{group}={choice} does not exist{nearest(choice, error.options or ())}"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    unknown = re.match(r"Could not override '([^']+)'", lines[0]) if lines else None
    if unknown:
        return f"{unknown.group(1)} is not a key of the config (python -m pipeline.run --help)"
    return lines[0] if lines else type(error).__name__


def _sweep(plain: Node) -> SweepConfig:
    deals = plain["deals"]
    if deals != "auto":
        deals = _whole("deals", deals, 1, "or auto")
    expect = plain["expect"]
    return SweepConfig(
        deals=deals,
        simulate=_one_of("simulate", plain["simulate"], (True, False)),
        seed=_whole("seed", plain["seed"], 0),
        output_dir=Path(str(plain["output_dir"])),
        width=_whole("width", plain["width"], 1),
        stop=_one_of("stop", plain["stop"], ("fixed", "sprt", "precision")),
        expect=Expect(**{key: _share(f"expect.{key}", expect[key]) for key in expect}),
        launch=plain["launch"],
        tracking=plain["tracking"],
    )


def _seat(
    number: str, entry: Any, plain: Node, labels: Mapping[str, str], find: FindNode
) -> SeatConfig:
    if not isinstance(entry, Mapping) or "agent" not in entry:
        raise UserError(f"seats.{number} must name an agent, as in {{agent: random}}")
    unknown = entry.keys() - {"agent", "model", "prompt", "goal"}
    if unknown:
        key = min(unknown)
        raise UserError(
            f"seats.{number}.{key} is not a setting"
            f"{nearest(key, ('agent', 'model', 'prompt', 'goal'))}"
        )
    subject = entry["agent"] == SUBJECT

    def node(group: str) -> Node:
        if subject or entry.get(group) is None:
            own: Node = plain[group]
            return own
        return find(group, str(entry[group]))

    parts = ("agent", "model", "prompt")
    names = [labels[part] if subject else entry.get(part) or labels[part] for part in parts]
    return SeatConfig(
        name=".".join(map(str, names)),
        subject=subject,
        agent=node("agent"),
        model=node("model"),
        prompt=node("prompt"),
        helps=_helps(number, str(entry.get("goal", "win"))),
    )


def _helps(number: str, goal: str) -> int | None:
    if goal == "win":
        return None
    match = re.fullmatch(r"help:(\d+)", goal)
    if not match:
        raise UserError(f"seats.{number}.goal is {goal!r}; it must be win or help:SEAT")
    return int(match.group(1))


def _label(group: str, choices: Mapping[str, str], overrides: Sequence[str], plain: Node) -> str:
    """The group's choice, and in brackets what was changed in it: tic_tac_toe[size=4]."""
    start = f"{group}."
    changes = [
        item.lstrip("+")[len(start) :] for item in overrides if item.lstrip("+").startswith(start)
    ]
    if group == "model" and choices[group] == "hf":
        changes = [change for change in changes if not change.startswith("path=")]
        name = f"hf:{Path(str(plain['model'].get('path'))).name}"
    elif group == "model" and choices[group] == "openai":
        telling = ("endpoint=", "scores=", "top=", "samples=", "seed=")
        changes = [change for change in changes if change.startswith(telling)]
        name = f"openai:{plain['model'].get('name')}"
    else:
        name = choices[group]
    return f"{name}[{','.join(changes)}]" if changes else name


def _plain(config: DictConfig) -> dict[str, Any]:
    try:
        plain = OmegaConf.to_container(config, resolve=True)
    except OmegaConfBaseException as error:
        raise UserError(str(error).splitlines()[0]) from error
    assert isinstance(plain, dict)
    return {str(key): value for key, value in plain.items() if key != "hydra"}


def _whole(key: str, value: Any, least: int, further: str = "") -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return value
    allowed = f"a whole number from {least} up {further}".strip()
    raise UserError(f"{key} is {value!r}; it must be {allowed}")


def _share(key: str, value: Any) -> float:
    if isinstance(value, (int, float)) and 0 < value < 1:
        return float(value)
    raise UserError(f"{key} is {value!r}; it must lie between 0 and 1")


def _one_of(key: str, value: Any, allowed: tuple[Any, ...]) -> Any:
    if value in allowed:
        return value
    words = " or ".join(str(item).lower() for item in allowed)
    raise UserError(f"{key} is {value!r}; it must be {words}")
