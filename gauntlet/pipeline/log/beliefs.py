"""What players believed beside their matches: <output_dir>/beliefs/<cell>.jsonl, a line per match.

They lie beside the records, which are the same whether anybody is asked or not. If a match has
several lines, the last one counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.json import Decoder

from gauntlet.common.disk import DISK, append, strip_checksum
from gauntlet.models.exchanges import Count
from gauntlet.pipeline.log.lines import line
from gauntlet.pipeline.log.recovery import repair_lines
from gauntlet.pipeline.log.schema import Deal, MatchId, Options, Rotation, Seat

Probability = Annotated[float, Meta(ge=0, le=1 + 1e-6)]
Probabilities = tuple[Probability, ...]
ROUNDING = 1e-6
"""By how much probabilities may fail to sum to 1, or to at most 1."""


class Belief(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What a player believed right after one of its decisions.

    ply: the decision's number in the match. seat: who was asked. chosen: the option that it took.
    kind, about, answers: the question, as in `games.capabilities.BeliefQuestion`. truth: the right
        answer, an index.
    scores: the mean probability of each answer's letters among all tokens; their sum is the mass.
    deal: the probability of each answer over the deals that fit what the seat saw, whatever others
        did; () if unknown. exact: the same given also what the others did, by their known policies;
        () if one is unknown.
    worths: of each option given each answer, as in `Believable.worths`; None for impossible ones.
    tokens: read, with shared text counted for every prompt.
    """

    ply: Count
    seat: Seat
    chosen: Count
    kind: Literal["hidden", "move", "win"]
    about: Seat
    answers: Options
    truth: Count
    scores: Probabilities
    deal: Probabilities = ()
    exact: Probabilities = ()
    worths: tuple[tuple[float | None, ...], ...] = ()
    tokens: Count = 0

    def __post_init__(self) -> None:
        count = len(self.answers)
        if self.truth >= count or len(self.scores) != count:
            raise ValueError("a truth or scores that do not fit the answers")
        if sum(self.scores) > 1 + ROUNDING:
            raise ValueError("scores that sum to more than 1")
        for known in (self.deal, self.exact):
            if known and (len(known) != count or not math.isclose(sum(known), 1, abs_tol=ROUNDING)):
                raise ValueError("probabilities that are not one an answer, or do not sum to 1")


class MatchBeliefs(Struct, frozen=True, kw_only=True, gc=False):
    """The beliefs of one match, in order. every: the interval, in decisions of a player, between
    two that it was asked about."""

    match: MatchId
    deal: Deal
    rotation: Rotation
    every: Count
    beliefs: tuple[Belief, ...]


_DECODER = Decoder(MatchBeliefs)


def beliefs_file(folder: Path, stem: str) -> Path:
    return folder / "beliefs" / f"{stem}.jsonl"


def _decoded(text: bytes) -> MatchBeliefs:
    """Raises ValueError for a damaged line."""
    return _DECODER.decode(strip_checksum(text))


def reopened(folder: Path, stem: str, every: int, notes: list[str]) -> set[str]:
    """The ids of the matches that were asked about at this frequency. Repairs the file, as `Log`
    does records; the caller holds its lock."""
    path = beliefs_file(folder, stem)
    if not path.exists():
        return set()
    then = "; those matches are asked about again"
    last = {one.match: one.every for one in repair_lines(DISK, path, _decoded, notes, then)}
    return {match for match, asked in last.items() if asked == every}


def add_beliefs(folder: Path, stem: str, beliefs: Iterable[MatchBeliefs]) -> None:
    """Append lines, durable on return. Raises OSError."""
    path = beliefs_file(folder, stem)
    path.parent.mkdir(exist_ok=True)
    append(DISK, path, b"".join(line(one) for one in beliefs))


def read_beliefs(folder: Path, stem: str) -> Iterator[MatchBeliefs]:
    """The last intact line of every match, in the order of the file. Damaged lines are left out."""
    found: dict[str, MatchBeliefs] = {}
    path = beliefs_file(folder, stem)
    for text in DISK.lines(path) if path.exists() else ():
        try:
            one = _decoded(text)
        except ValueError:
            continue
        found[one.match] = one
    yield from found.values()
