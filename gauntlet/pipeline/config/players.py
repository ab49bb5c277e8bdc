"""The player in each seat, given by its parts or by the name of a player file, and round-robin
pairs.

A player is an agent, the model it asks, and the prompt it uses. It is defined in a seat, or in its
own file in `conf/player`; see docs/players.md.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from omegaconf import OmegaConf

from gauntlet.common.errors import UserError, suggest
from gauntlet.pipeline.config.values import format_value

Node = Mapping[str, Any]
FindNode = Callable[[str, str], Node]
"""Returns the YAML node of a (group, choice), for seats that name their own agent or model."""

SUBJECT = "subject"
PARTS = ("agent", "model", "prompt")
WHICH = ("path", "name")
"""The settings that say which model a file of `conf/model` names."""


@dataclass(frozen=True)
class SeatConfig:
    """One entry of a seating: the nodes of its player, and its goal.

    asked: suffixes of its name, used if it asks a model: for the model and for the prompt. labels:
    the table's names for its parts. names_model: whether it has a model even if its agent has no
    prompting method. where: the config path of its nodes, for messages. optional: whether it sits
    out of games that it cannot play.
    """

    name: str
    subject: bool
    agent: Node
    model: Node
    prompt: Node
    helps: int | None = None
    asked: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    names_model: bool = False
    where: str = ""
    optional: bool = False


@dataclass(frozen=True)
class Job:
    """One composed config as plain data, its group labels, its overrides, and a lookup for the
    nodes of group choices."""

    config: Node
    labels: Mapping[str, str]
    overrides: tuple[str, ...]
    find: FindNode


def read_seat(number: int, entry: Any, job: Job) -> SeatConfig:
    """The player of one seat. Raises UserError."""
    where = f"seats.{number}"
    helps = _helps(where, entry)
    entry = _one_way(where, entry, job.overrides)
    parts = {key: value for key, value in entry.items() if key not in ("goal", "player")}
    if (player := entry.get("player")) is not None:
        seat = read_player(player if isinstance(player, str) else format_value(player), job)
    elif parts.get("agent") == SUBJECT:
        seat = _subject(where, parts, job)
    else:
        seat = _of_parts(f"{where}.", parts, ("player", *PARTS, "goal"), job)
    return replace(seat, helps=helps)


def read_player(name: str, job: Job) -> SeatConfig:
    """The player in a file of `conf/player`, or the one written MODEL/PROMPT, with the goal to win.
    Raises UserError."""
    model, slash, prompt = name.partition("/")
    written: Node = {"agent": "llm", "model": model, "prompt": prompt}
    parts = written if slash else job.find("player", name)
    seat = _of_parts(f"player={name}: ", parts, PARTS, job)
    asked = tuple(f".{job.labels[part]}" if parts.get(part) is None else "" for part in PARTS[1:])
    return replace(seat, name=name, asked=asked, labels={**seat.labels, "agent": name})


def pairs(
    job: Job, entries: Sequence[Any], measured: Sequence[int]
) -> Iterator[tuple[SeatConfig, ...]]:
    """The seats for every pair of listed players: the one listed first takes the measured seats,
    the other the rest, each with the goal of its seat. With `pairing=anchor` only those with the
    first player, who takes the rest. A player named with a `?` is optional. Raises UserError."""
    rest = unmeasured_seats(measured, len(entries))
    names = job.config["players"]
    if len(names) < 2:
        raise UserError(f"players is {[*names]}; a pair needs two or more of them")
    (name, times), *_ = Counter(name.removesuffix("?") for name in names).most_common(1)
    if times > 1:
        raise UserError(f"players names {name} twice")
    players = [
        replace(read_player(name.removesuffix("?"), job), optional=name.endswith("?"))
        for name in names
    ]
    helps = [_helps(f"seats.{number}", entry) for number, entry in enumerate(entries)]
    anchored = ((other, players[0]) for other in players[1:])
    every = itertools.combinations(players, 2)
    for first, second in anchored if job.config["pairing"] == "anchor" else every:
        yield tuple(
            replace(second if seat in rest else first, subject=seat not in rest, helps=helps[seat])
            for seat in range(len(entries))
        )


def unmeasured_seats(measured: Sequence[int], seats: int) -> list[int]:
    """The unmeasured seats, where a pair's second player sits. Raises UserError."""
    rest = [seat for seat in range(seats) if seat not in measured]
    if not rest:
        raise UserError("a pair of players needs a seat beside seats.measured, for the opponent")
    return rest


def _one_way(where: str, entry: Node, overrides: Sequence[str]) -> Node:
    """The entry with either its player or its parts; if it has both, whichever was typed."""
    keys = [key for key, value in entry.items() if _part(key) and value is not None]
    if entry.get("player") is None or not keys:
        return entry
    typed = {item.lstrip("+").partition("=")[0] for item in overrides}
    parts = [part for part in PARTS if f"{where}.{part}" in typed]
    if f"{where}.player" not in typed and "agent" in parts:
        return {key: value for key, value in entry.items() if key != "player"}
    if f"{where}.player" in typed and not parts:
        return {key: value for key, value in entry.items() if not _part(key)}
    raise UserError(f"{where} names a player and its {keys[0]}; give one of the two")


def _subject(where: str, parts: Node, job: Job) -> SeatConfig:
    for key, value in parts.items():
        if key != "agent" and value is not None:
            raise UserError(f"{where}.{key} is the subject's: choose it by {key}={value}")
    nodes = {part: job.config[part] for part in PARTS}
    return _seat(True, nodes, {part: job.labels[part] for part in PARTS}, "")


def _of_parts(where: str, parts: Node, keys: Sequence[str], job: Job) -> SeatConfig:
    if parts.get("agent") is None:
        raise UserError(f"{where.rstrip('.: ')} must name an agent, as in {{agent: random}}")
    for key in parts:
        if not _part(key):
            raise UserError(f"{where}{key} is not a setting{suggest(key, keys)}")
    labels = {part: _label(part, parts, job.labels[part]) for part in PARTS}
    nodes = {part: _node(part, parts, job, f"{where}{part}.") for part in PARTS}
    seat = _seat(False, nodes, labels, where)
    return replace(seat, names_model=parts.get("model") is not None)


def _seat(
    subject: bool, nodes: Mapping[str, Any], labels: Mapping[str, str], where: str
) -> SeatConfig:
    asked = tuple(f".{labels[part]}" for part in PARTS[1:])
    return SeatConfig(labels["agent"], subject, **nodes, asked=asked, labels=labels, where=where)


def _part(key: str) -> bool:
    """Whether a key names an agent, a model or a prompt, or a setting of one."""
    return key.partition(".")[0] in PARTS


def _settings(part: str, parts: Node) -> dict[str, Any]:
    """The changed settings of a part, by path."""
    start = f"{part}."
    return {key[len(start) :]: value for key, value in parts.items() if key.startswith(start)}


def _label(part: str, parts: Node, default: str) -> str:
    """The part's name, with its changed settings in brackets; `own`, the sweep's, if null."""
    setting = parts.get(part)
    if isinstance(setting, Mapping):
        setting = str(setting.get("_target_")).rpartition(".")[2]
    name = default if setting is None else str(setting)
    changes = ",".join(f"{key}={value}" for key, value in _settings(part, parts).items())
    return f"{name}[{changes}]" if changes else name


def _node(part: str, parts: Node, job: Job, where: str) -> Any:
    entry = parts.get(part)
    if entry is None:
        entry = job.config[part]
    node = entry if isinstance(entry, Mapping) else job.find(part, str(entry))
    changes = _settings(part, parts)
    if not changes:
        return node
    config = OmegaConf.create(dict(node))
    for path, value in changes.items():
        OmegaConf.update(config, path, value)
    changed: Any = OmegaConf.to_container(config)
    if part == "model" and isinstance(entry, str):
        check_named(entry, changes, job.find, where)
    return changed


def check_named(choice: str, changes: Node, find: FindNode, where: str = "model.") -> None:
    """Raises UserError if changed settings replace the model that a file of `conf/model` names:
    tables would call the other one by its name."""
    for key in WHICH:
        if key not in changes:
            continue
        named = find("model", choice).get(key)
        if named not in (None, "???", changes[key]):
            general = "hf or gguf" if key == "path" else "openai"
            raise UserError(
                f"{where}{key} is {changes[key]!r}, but {choice} names {named!r}; another model is "
                f"played by model={general}"
            )


def _helps(where: str, entry: Any) -> int | None:
    """The seat that the entry's goal is to help; None to win."""
    if not isinstance(entry, Mapping):
        raise UserError(f"{where} must name an agent or a player, as in {{player: random}}")
    goal = str(entry.get("goal", "win"))
    match = re.fullmatch(r"help:(\d+)", goal)
    if not match and goal != "win":
        raise UserError(f"{where}.goal is {goal!r}; it must be win or help:SEAT")
    return int(match[1]) if match else None
