"""The schemas of the small files next to the records.

A file or line that does not match its schema or its checksum is damaged. Extra keys are allowed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, NotRequired, TypedDict

from msgspec import Meta, convert

from gauntlet.common.disk import add_checksum, strip_checksum
from gauntlet.pipeline.log.schema import Deal, MatchId, Rotation
from gauntlet.stats.verdicts import Verdict

Time = Annotated[float, Meta(ge=0, lt=10**11)]
"""Seconds since 1970."""
Number = Annotated[int, Meta(ge=0, lt=2**53)]


class Claim(TypedDict):
    """sweep.json."""

    seed: int | Annotated[list[int], Meta(min_length=1)]
    schema: int
    id: str


class Status(TypedDict):
    """status.json."""

    state: str
    started: Time
    updated: Time
    host: str
    process: Annotated[int, Meta(ge=0, lt=2**31)]
    cells: dict[str, Number]
    stopped: list[str]
    workers: Number
    rate: Annotated[float, Meta(ge=0)] | None
    error: str | None


class Labels(TypedDict):
    """The labels that identify a cell in tables."""

    game: str
    seats: str
    agent: str
    model: str
    prompt: str


class CellDescription(TypedDict):
    """cells/<cell>.json, besides the fields that `CellInfo.read` takes."""

    key: str
    labels: Labels
    described: int
    identity: dict[str, Any]
    players: list[str]


class Rule(TypedDict):
    """What the rounds of an adaptive sweep settle, see `stats.tournament`."""

    verdict: Verdict
    alpha: float
    margin: float
    players: list[str]


class StoppedAt(TypedDict):
    deals: Deal
    above: bool


class Stops(TypedDict):
    """stop.json."""

    rule: str
    win_rate: float | None
    half_width: float
    cells: dict[str, StoppedAt | None]


class TablesConfig(TypedDict):
    """tables.json."""

    comparisons: str


class Note(TypedDict):
    """note.json: what people say of the run."""

    note: str
    tags: list[str]


class Event(TypedDict):
    """A line of run.log, which has no checksum."""

    time: str
    level: str
    event: str


class RunInfo(TypedDict):
    """A line of runs.jsonl. command: the command line without secrets, if the run had one."""

    started: str
    host: str
    matches: NotRequired[Number]
    commit: NotRequired[str | None]
    command: NotRequired[str]
    versions: dict[str, str]


class RoundLine(TypedDict):
    """A line of rounds.jsonl: a round of an adaptive sweep, its deals from the first to before the
    last number. pairs: why each of its cells plays, by key. rule: what all rounds have in
    common."""

    deals: Annotated[list[Deal], Meta(min_length=2, max_length=2)]
    pairs: dict[str, str]
    rule: Rule


class FailedMatch(TypedDict):
    """A line of failed_matches.jsonl."""

    match: MatchId
    cell: str
    deal: Deal
    rotation: Rotation
    error: str


class UnrepeatableCell(TypedDict):
    """A line of unrepeatable.jsonl: a cell with a player or game that is not reproducible, and
    how a match shows it."""

    cell: str
    why: str


class CodeVersion(TypedDict):
    """A line of code.jsonl: a code fingerprint and the hash of each file it covers."""

    code: str
    files: dict[str, str]


class AcceptedChange(TypedDict):
    """A line of accepted.jsonl; each change is a file, its hash then and its hash now."""

    when: str
    matches: Number
    cells: list[str]
    changed: list[Annotated[list[str], Meta(min_length=3, max_length=3)]]


LOGS: Mapping[str, type] = {
    "runs": RunInfo,
    "rounds": RoundLine,
    "failed_matches": FailedMatch,
    "unrepeatable": UnrepeatableCell,
    "code": CodeVersion,
    "accepted": AcceptedChange,
}
"""The small logs by name."""


def parse_object(text: bytes, kind: type | None = None) -> dict[str, Any]:
    """Parse a file or line and drop its checksum. Raises ValueError with a readable reason if it is
    damaged or not of this kind."""
    return parse_plain(strip_checksum(text), kind)


def parse_plain(text: bytes, kind: type | None = None) -> dict[str, Any]:
    """As `parsed`, for text without a checksum."""
    try:
        data = json.loads(text)
        if not isinstance(data, dict):
            raise ValueError("it is no object")
        if kind is not None:
            convert(data, kind)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise ValueError("it is no JSON") from None
    return data


def to_bytes(data: Mapping[str, Any], **options: Any) -> bytes:
    """Encode a small file for `parsed`."""
    return add_checksum(json.dumps(data, **options).encode())


def parse_line(name: str, line: bytes) -> dict[str, Any]:
    """Parse a line of the small log `name`. Raises ValueError with a readable reason if it is
    damaged."""
    if not line.endswith(b"\n"):
        raise ValueError("it is cut off")
    return parse_object(line, LOGS.get(name))
