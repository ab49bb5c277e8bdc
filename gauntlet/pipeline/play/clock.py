"""When the model worked on each question of a match, in the order of the match's record.

No match depends on it and records are compared without it, so it is separate from the code that
plays a match.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from gauntlet.models.base import Prompt, Request, Score
from gauntlet.models.exchanges import Exchange, ScoreExchange
from gauntlet.pipeline.log.schema import Clock, MatchRecord
from gauntlet.pipeline.play.chains import Ask

PLACES = 4
"""Decimal places of a second to keep."""

Span = tuple[float, float]


@dataclass
class MatchTimer:
    """Times of a match's asks, started with the match. Simultaneous seats are asked in turns, while
    the record lists their decisions one after another."""

    began: float = field(default_factory=time.time)
    _zero: float = field(default_factory=time.perf_counter)
    _spans: dict[Ask, Span] = field(default_factory=dict)
    """One per ask, in the order asked."""

    def register(self, ask: Ask) -> None:
        self._spans[ask] = (0.0, 0.0)

    def answered(self, ask: Ask, began: float, finished: float) -> None:
        """Set the times, as `time.perf_counter` values."""
        self._spans[ask] = (round(began - self._zero, PLACES), round(finished - self._zero, PLACES))

    def read(self, record: MatchRecord) -> Clock | None:
        """The times of the record's exchanges, or None if it has none. Asks outside the record, by
        players that are notified of the result, are left out."""
        exchanges = [one for decision in record.decisions for one in decision.asked]
        if not exchanges:
            return None
        waiting = list(self._spans)
        spans: list[Span] = []
        for exchange in exchanges:
            place = next(at for at, ask in enumerate(waiting) if _fits(ask.request, exchange))
            spans.append(self._spans[waiting.pop(place)])
        return Clock(round(self.began, PLACES), tuple(spans))


def _fits(request: Request, exchange: Exchange) -> bool:
    """Whether the exchange belongs to this request, or to an identical one."""
    if isinstance(request, Score) != isinstance(exchange, ScoreExchange):
        return False
    prompt: Prompt = request.prompts[0] if isinstance(request, Score) else request.prompt
    branch = exchange.branches[0] if isinstance(exchange, ScoreExchange) else ""
    turns = getattr(prompt, "turns", None)
    return (prompt.changing, turns) == (exchange.shared + branch, exchange.turns)
