"""Records of schema 1, read as what they would be today.

Their lines have no kind; one seat is the subject, one is measured, and wins are all that is
measured. Nothing writes them any more.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.json import Decoder

from agents.base import Status
from games.capabilities import WIN
from models.exchanges import Count, Exchange1
from pipeline.log.schema import (
    SEATS,
    Deal,
    DecisionRecord,
    Figures,
    MatchId,
    MatchRecord,
    Options,
    Preparation,
    Rotation,
    Seat,
    Seconds,
)


class _Decision(Struct, frozen=True, kw_only=True, gc=False):
    seat: Seat
    options: Options
    scores: tuple[float | None, ...]
    margin: Annotated[float, Meta(ge=0)] | None = None
    chosen: Count
    forced: bool
    status: Status
    fallback: bool
    attempts: Count
    tokens: Count
    asked: tuple[Exchange1, ...]
    notes: dict[str, Any] = {}

    def upgraded(self) -> DecisionRecord:
        return DecisionRecord(
            seat=self.seat,
            options=self.options,
            scores=self.scores,
            margin=self.margin,
            chosen=self.chosen,
            forced=self.forced,
            status=self.status,
            fallback=self.fallback,
            attempts=self.attempts,
            tokens=self.tokens,
            asked=tuple(exchange.upgraded() for exchange in self.asked),
            notes=self.notes,
        )


class _Preparation(Struct, frozen=True, gc=False):
    player: Seat
    asked: tuple[Exchange1, ...]

    def upgraded(self) -> Preparation:
        return Preparation(self.player, tuple(exchange.upgraded() for exchange in self.asked))


class _Match(Struct, frozen=True, kw_only=True):
    match: MatchId
    cell: str
    deal: Deal
    rotation: Rotation
    subject: Seat
    measured: Seat
    returns: Annotated[Figures, Meta(max_length=SEATS - 1)]
    plies: Count
    decisions: tuple[_Decision, ...]
    statics: dict[str, str]
    preparation: tuple[_Preparation, ...] = ()
    seconds: Seconds
    device_seconds: Seconds = 0.0

    def upgraded(self) -> MatchRecord:
        return MatchRecord(
            match=self.match,
            cell=self.cell,
            deal=self.deal,
            rotation=self.rotation,
            subjects=(self.subject,),
            measured=(self.measured,),
            returns=self.returns,
            measures={WIN.name: tuple(float(worth > 0) for worth in self.returns)},
            plies=self.plies,
            decisions=tuple(decision.upgraded() for decision in self.decisions),
            statics=self.statics,
            preparation=tuple(one.upgraded() for one in self.preparation),
            seconds=self.seconds,
            device_seconds=self.device_seconds,
        )


_DECODER = Decoder(_Match)


def upgraded(line: bytes) -> MatchRecord:
    """The match of a line of schema 1. Raises ValueError or RecursionError where it is none."""
    return _DECODER.decode(line).upgraded()
