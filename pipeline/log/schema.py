"""What a log holds, as types: a line of a records file is one of the kinds of `Record`.

    {"kind": "match", "match": "090f8c02f1c9682a", "cell": "4d07f0079a9d1832", "deal": 48, ...}

A line that does not fit its type, or does not hold together, is damaged. A second kind beside a
match is one more `Record` with a tag of its own, in the union that `lines.py` reads.
"""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from msgspec import Meta, Struct, convert

from gauntlet.agents.base import Status
from gauntlet.games.capabilities import WIN
from gauntlet.models.exchanges import MOST, Count, Exchange
from gauntlet.pipeline.config.values import MOST_PLAYED

ROTATIONS = 10**4
"""A deal's matches have smaller numbers."""
SEATS = 256
"""Tables hold how many seats won in 8 bits."""

Deal = Annotated[int, Meta(ge=0, lt=MOST_PLAYED)]
Seat = Annotated[int, Meta(ge=0, lt=1000)]
Seats = Annotated[tuple[Seat, ...], Meta(min_length=1)]
Rotation = Annotated[int, Meta(ge=0, lt=ROTATIONS)]
MatchId = Annotated[str, Meta(pattern="^[!-~]{1,16}$")]
Figure = Annotated[float, Meta(ge=-1e15, le=1e15)]
"""What a match yields; sums of many, and of their squares, are numbers still."""
Figures = tuple[Figure, ...]
Seconds = Annotated[float, Meta(ge=0, lt=4 * 10**9)]
"""Two of them are a time that MLflow can count in nanoseconds."""
Options = Annotated[tuple[str, ...], Meta(min_length=1)]


class Cheaper(TypedDict):
    """What a method of fewer prompts would have done."""

    chosen: int
    prompts: Count


class Notes(TypedDict, total=False):
    """What tables read of the notes of a decision; there may be more."""

    answers: list[Any]
    faults: list[Any]
    dropped: list[Any]
    cheaper: dict[str, Cheaper]


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
    options: Options
    scores: tuple[float | None, ...]
    margin: Annotated[float, Meta(ge=0)] | None
    chosen: Count
    forced: bool
    status: Status
    fallback: bool
    attempts: Count
    tokens: Count
    asked: tuple[Exchange, ...]
    notes: dict[str, Any] = {}
    text: str = ""

    def __post_init__(self) -> None:
        options = len(self.options)
        if self.chosen >= options:
            raise ValueError("a decision for no option")
        if self.scores and len(self.scores) != options:
            raise ValueError("scores that are not one an option")
        if self.margin is not None and len(self.scores) - self.scores.count(None) < 2:
            raise ValueError("a margin without two scores")
        if self.notes:
            convert(self.notes, Notes)

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

    began: Seconds
    asked: tuple[tuple[Seconds, Seconds], ...]


class MatchRecord(Record, frozen=True, kw_only=True, tag="match"):
    """A finished match.

    subjects, measured: seats. returns: one a seat. measures: by name, one figure a seat.
    preparation: in the first record of a file alone. seconds: of play and of waiting for models;
    device_seconds: see `pipeline/play/cost.py`. clock: None where no model was asked. Raises
    ValueError where it does not hold together.
    """

    subjects: Seats
    measured: Seats
    returns: Annotated[Figures, Meta(max_length=SEATS - 1)]
    measures: dict[str, Figures]
    plies: Count
    decisions: tuple[DecisionRecord, ...]
    preparation: tuple[Preparation, ...] = ()
    seconds: Seconds = 0.0
    device_seconds: Seconds = 0.0
    clock: Clock | None = None

    def __post_init__(self) -> None:
        seats, tokens, asked = len(self.returns), 0, 0
        for listed in (self.subjects, self.measured):
            if max(listed) >= seats or len({*listed}) < len(listed):
                raise ValueError("a seat without a return, or twice")
        self._check_measures(seats)
        for decision in self.decisions:
            tokens += decision.tokens
            asked += len(decision.asked)
            if decision.seat >= seats:
                raise ValueError("a decision of no seat")
        if tokens >= MOST:
            raise ValueError("more tokens than can be counted")
        if self.plies != len(self.decisions):
            raise ValueError("plies that are not one a decision")
        if any(prepared.player >= seats for prepared in self.preparation):
            raise ValueError("a preparation of no player")
        if self.clock is not None:
            if len(self.clock.asked) != asked:
                raise ValueError("times that are not one a question")
            if any(began > ended for began, ended in self.clock.asked):
                raise ValueError("an answer before its question")

    def _check_measures(self, seats: int) -> None:
        if WIN.name not in self.measures:
            raise ValueError("it does not say who won")
        if any(len(figures) != seats for figures in self.measures.values()):
            raise ValueError("a measure that is not one figure a seat")
        if not all(WIN.low <= won <= WIN.high for won in self.measures[WIN.name]):
            raise ValueError("a win that is not from 0 to 1")

    @property
    def named(self) -> set[str]:
        asked = [one for decision in self.decisions for one in decision.asked]
        asked += [one for prepared in self.preparation for one in prepared.asked]
        return {name for one in asked for name in one.named}
