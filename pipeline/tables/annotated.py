"""One decision of a cell with all that it took: what was shown, what each option got, what came
of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from gauntlet.models.exchanges import Exchange, ScoreExchange
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord
from gauntlet.pipeline.log.trace import LETTERED, TracedPrompt, trace
from gauntlet.pipeline.tables.page import Row, rows
from gauntlet.pipeline.tables.replies import known_statics

ENOUGH = 6
"""A decision between more options says no more of how a player decides."""
PROMPTS = 8
"""The most prompts that are shown of one decision."""


@dataclass(frozen=True)
class Annotated:
    """A decision to be looked at closely.

    situation: the prompt down to its options. asked: of every question the first prompt, of `sent`
    in all. margin: as records have it.
    """

    match: str
    deal: int
    rotation: int
    seat: int
    situation: str
    rows: Sequence[Row]
    chosen: str
    margin: float | None
    status: str
    fallback: bool
    asked: Sequence[TracedPrompt]
    sent: int


def telling(decision: DecisionRecord) -> tuple[bool, int]:
    """The higher, the more a reader learns of the decision: what a model settled, between several
    options."""
    return not decision.fallback, min(len(decision.options), ENOUGH)


def annotated(record: MatchRecord, decision: DecisionRecord) -> Annotated:
    """A decision of the record that a model was asked for."""
    statics = known_statics(decision, record.statics)
    found = trace(decision, statics)
    firsts = list(islice(_firsts(decision.asked), PROMPTS))
    return Annotated(
        match=record.match,
        deal=record.deal,
        rotation=record.rotation,
        seat=decision.seat,
        situation=situation(decision.asked[0], decision.options),
        rows=rows(found.options, found.scores, found.chosen),
        chosen=decision.move,
        margin=decision.margin,
        status=decision.status,
        fallback=decision.fallback,
        asked=[found.asked[at] for at in firsts],
        sent=len(found.asked),
    )


def _firsts(asked: Sequence[Exchange]) -> Iterator[int]:
    """Where in a trace the prompts stand that are shown: all replies, of scored prompts one."""
    at = 0
    for exchange in asked:
        if isinstance(exchange, ScoreExchange):
            yield at
            at += len(exchange.branches)
        else:
            yield from range(at, at + 1 + len(exchange.others))
            at += 1 + len(exchange.others)


def situation(exchange: Exchange, options: Sequence[str]) -> str:
    """What a prompt tells before it lists the options."""
    branches = exchange.branches if isinstance(exchange, ScoreExchange) else ("",)
    lines = f"{exchange.shared}{branches[0]}".splitlines()
    for number, line in enumerate(lines):
        listed = LETTERED.fullmatch(line)
        if listed and listed[2] in options:
            above = number - 1 if number and lines[number - 1].endswith(":") else number
            return "\n".join(lines[:above])
    return (
        exchange.shared[: exchange.shared.rfind("\n") + 1] if len(branches) > 1 else exchange.shared
    )
