"""What a log holds, as types: a line of a records file is one of the kinds of `Record`.

    {"kind": "match", "match": "090f8c02f1c9682a", "cell": "4d07f0079a9d1832", "deal": 48, ...}

A line that does not fit its type, or does not hold together, is damaged. A second kind beside a
match is one more `Record` with a tag of its own, in the union that `lines.py` reads.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from agents.base import Status
from games.capabilities import WIN
from models.exchanges import Exchange, ScoreExchange

MOST = 2**32
"""Counts are smaller: tables hold them in 32 bits."""
ROTATIONS = 10**4
"""A deal's matches have smaller numbers."""
SEATS = 256
"""Tables hold how many seats won in 8 bits."""

Count = Annotated[int, Meta(ge=0, lt=MOST)]
Deal = Annotated[int, Meta(ge=0, lt=10**8)]
Seat = Annotated[int, Meta(ge=0, lt=1000)]
Seats = Annotated[tuple[Seat, ...], Meta(min_length=1)]
Rotation = Annotated[int, Meta(ge=0, lt=ROTATIONS)]
MatchId = Annotated[str, Meta(pattern="^[!-~]{1,16}$")]


class Record(Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    """What every kind has: the match that it is of, and under their hashes the texts that its
    prompts share. In a file a text stands once, where it comes first; a reader puts it back."""

    match: MatchId
    cell: str
    deal: Deal
    rotation: Rotation
    statics: dict[str, str]

    @property
    def named(self) -> set[str]:
        """The hashes of all texts that its prompts share with others."""
        return set()


class DecisionRecord(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One seat's decision.

    scores: one an option, None for minus infinity; () where the agent has none. margin: how far
        the best lies above the second. chosen: an index into `options`. forced: there was nothing
        to choose. status, fallback, attempts, notes: as `agents.base.Decision` has them.
    tokens: logical ones, of all that was asked. text: the words that an open option was given.
    """

    seat: Seat
    options: tuple[str, ...]
    scores: tuple[float | None, ...]
    margin: float | None
    chosen: Count
    forced: bool
    status: Status
    fallback: bool
    attempts: Count
    tokens: Count
    asked: tuple[Exchange, ...]
    notes: dict[str, Any] = {}
    text: str = ""

    @property
    def move(self) -> str:
        """The option that was taken."""
        return self.options[self.chosen]


class Preparation(Struct, frozen=True, gc=False):
    """What a player, by its number, asked before the first match of its cell."""

    player: Seat
    asked: tuple[Exchange, ...]


class Clock(Struct, frozen=True, gc=False):
    """When a match was played, by the clock of the machine that played it.

    began: seconds since 1970. asked: for each of its decisions' exchanges, in order, when the model
        began on it and when it had answered, in seconds since then; a batch is one for all in it.
    """

    began: float
    asked: tuple[tuple[float, float], ...]


class MatchRecord(Record, frozen=True, kw_only=True, tag="match"):
    """A finished match.

    subjects, measured: seats. returns: one a seat. measures: by name, one figure a seat.
    preparation: in the first record of a file alone. seconds: of play and of waiting for models;
    device_seconds: see `pipeline/play/cost.py`. clock: None where no model was asked, and where an
    older version wrote the record. Raises ValueError where it does not hold together.
    """

    subjects: Seats
    measured: Seats
    returns: tuple[float, ...]
    measures: dict[str, tuple[float, ...]]
    plies: Count
    decisions: tuple[DecisionRecord, ...]
    preparation: tuple[Preparation, ...] = ()
    seconds: float = 0.0
    device_seconds: float = 0.0
    clock: Clock | None = None

    def __post_init__(self) -> None:
        seats, tokens, asked = len(self.returns), 0, 0
        if max(*self.subjects, *self.measured) >= seats:
            raise ValueError("a seat without a return")
        if any(len(figures) != seats for figures in self.measures.values()):
            raise ValueError("a measure that is not one figure a seat")
        for decision in self.decisions:
            tokens += decision.tokens
            asked += len(decision.asked)
            if decision.chosen >= len(decision.options) or decision.seat >= seats:
                raise ValueError("a decision for no option, or of no seat")
            if decision.notes and not isinstance(decision.notes.get("answers", ()), list | tuple):
                raise ValueError("answers are a list")
        if tokens >= MOST:
            raise ValueError("more tokens than can be counted")
        if self.clock is not None and len(self.clock.asked) != asked:
            raise ValueError("times that are not one a question")

    @property
    def named(self) -> set[str]:
        asked = [one for decision in self.decisions for one in decision.asked]
        asked += [one for prepared in self.preparation for one in prepared.asked]
        return {name for one in asked for name in one.named}


def check_closely(record: Record) -> None:
    """What no writer gets wrong, and an edit of a line without a checksum may. Raises ValueError
    where the record does not hold together."""
    if not isinstance(record, MatchRecord):
        return
    if WIN.name not in record.measures:
        raise ValueError("it does not say who won")
    if len(record.returns) >= SEATS or len({*record.measured}) < len(record.measured):
        raise ValueError("more seats than can be counted")
    for decision in record.decisions:
        if len(decision.scores) not in (0, len(decision.options)):
            raise ValueError("scores that are not one an option")
        for asked in decision.asked:
            if isinstance(asked, ScoreExchange):
                _check_scores(asked)


def _check_scores(asked: ScoreExchange) -> None:
    prompts, words = len(asked.branches), len(asked.choices)
    if (len(asked.logprobs), len(asked.tokens)) != (prompts, prompts):
        raise ValueError("log-probabilities or lengths that are not one a prompt")
    if any(len(row) != words for row in asked.logprobs):
        raise ValueError("log-probabilities that are not one a choice")
    if not 0 <= asked.unreported < MOST:
        raise ValueError("more unreported choices than can be counted")
