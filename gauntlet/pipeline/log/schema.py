"""The schema of a log: each line of a records file is one kind of `Record`.

    {"kind": "match", "match": "090f8c02f1c9682a", "cell": "4d07f0079a9d1832", "deal": 48, ...}

A line that does not fit its type, or is inconsistent, is damaged. To add a kind, add a `Record`
subclass with its own tag to the union that `lines.py` reads.
"""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from msgspec import Meta, Struct, convert

from gauntlet.agents.base import Status
from gauntlet.games.contract import LARGEST
from gauntlet.models.exchanges import MOST, Count, Exchange
from gauntlet.pipeline.config.values import MOST_PLAYED

ROTATIONS = 10**4
"""Rotation numbers are smaller than this."""
SEATS = 256
"""Outcomes store the number of winning seats in 8 bits."""

Deal = Annotated[int, Meta(ge=0, lt=MOST_PLAYED)]
Seat = Annotated[int, Meta(ge=0, lt=1000)]
Seats = Annotated[tuple[Seat, ...], Meta(min_length=1)]
Rotation = Annotated[int, Meta(ge=0, lt=ROTATIONS)]
MatchId = Annotated[str, Meta(pattern="^[!-~]{1,16}$")]
Figure = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
"""A result of a match."""
Figures = tuple[Figure, ...]
Seconds = Annotated[float, Meta(ge=0, lt=4 * 10**9)]
"""Bounded so that the sum of two fits MLflow's time stamps in nanoseconds."""
Chance = Annotated[float, Meta(ge=0, le=1)]
Options = Annotated[tuple[str, ...], Meta(min_length=1)]


class Cheaper(TypedDict):
    """What a method with fewer prompts would have chosen."""

    chosen: int
    prompts: Count


class Notes(TypedDict, total=False):
    """The notes of a decision that tables read; there may be more."""

    answers: list[Any]
    faults: list[Any]
    dropped: list[Any]
    cheaper: dict[str, Cheaper]
    again: list[Count]


class Record(Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    """The fields that every kind has: the position of its match, and the texts that its prompts
    share, by hash. A file stores each text once, where it first occurs; a reader restores it."""

    match: MatchId
    cell: str
    deal: Deal
    rotation: Rotation
    statics: dict[str, str]

    @property
    def named(self) -> set[str]:
        """The hashes of all texts that its prompts share."""
        return set()


class DecisionRecord(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One seat's decision.

    scores: one per option, None for minus infinity; () if the agent has none. margin: the best
    score minus the second best. chosen: an index into `options`. forced: there was
    only one option, or the opening was drawn at random. status, fallback, attempts, notes: as in
    `agents.base.Decision`. tokens: logical tokens of all exchanges. text: the text given to an open
    option. chances: the probabilities from which the player drew the option, one per option; () if
    it did not, or they are not known.
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
    chances: tuple[Chance, ...] = ()

    def __post_init__(self) -> None:
        """Raises ValueError for what an agent must not give."""
        options = len(self.options)
        if self.chosen >= options:
            raise ValueError("a decision for no option")
        if self.scores and len(self.scores) != options:
            raise ValueError("scores that are not one an option")
        if self.chances and len(self.chances) != options:
            raise ValueError("chances that are not one an option")
        if self.notes:
            convert(self.notes, Notes)

    @property
    def move(self) -> str:
        """The chosen option."""
        return self.options[self.chosen]


class Preparation(Struct, frozen=True, gc=False):
    """A player's exchanges before the first match of its cell, by player number."""

    player: Seat
    asked: tuple[Exchange, ...]


class Clock(Struct, frozen=True, gc=False):
    """When a match was played, by the clock of the machine that played it.

    began: seconds since 1970. asked: for each exchange of its decisions, in order, when the model
    started on it and when it had answered, in seconds since `began`; all exchanges of a batch share
    both times.
    """

    began: Seconds
    asked: tuple[tuple[Seconds, Seconds], ...]


class MatchRecord(Record, frozen=True, kw_only=True, tag="match"):
    """A finished match.

    subjects, measured: seats. returns: one per seat. measures: by name, one figure per seat.
    forfeits: the seats that gave the match up. preparation: only in the first
    record of a file, and in those of workers whose models answered it otherwise (in 16 bits).
    seconds: time spent playing and waiting for models; device_seconds: see `pipeline/play/cost.py`.
    clock: None if no model was asked. Raises ValueError if a server
    claims more tokens than can be counted.
    """

    subjects: Seats
    measured: Seats
    returns: Annotated[Figures, Meta(max_length=SEATS - 1)]
    measures: dict[str, Figures]
    plies: Count
    decisions: tuple[DecisionRecord, ...]
    forfeits: tuple[Seat, ...] = ()
    preparation: tuple[Preparation, ...] = ()
    seconds: Seconds = 0.0
    device_seconds: Seconds = 0.0
    clock: Clock | None = None

    def __post_init__(self) -> None:
        if sum(decision.tokens for decision in self.decisions) >= MOST:
            raise ValueError("more tokens than can be counted")

    @property
    def named(self) -> set[str]:
        asked = [one for decision in self.decisions for one in decision.asked]
        asked += [one for prepared in self.preparation for one in prepared.asked]
        return {name for one in asked for name in one.named}
