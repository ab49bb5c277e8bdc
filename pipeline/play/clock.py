"""When each question of a match was worked on, in the order in which its record has them.

No match depends on it and no record is compared by it, so it stays out of what plays a match.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from gauntlet.models.base import Prompt, Request, Score
from gauntlet.models.exchanges import Exchange, ScoreExchange
from gauntlet.pipeline.log.schema import Clock, MatchRecord
from gauntlet.pipeline.play.chains import Ask

PLACES = 4
"""Decimals of a second that are kept."""

Span = tuple[float, float]


@dataclass
class Watch:
    """Started with a match. Seats that move together are asked in turns, while the record has one
    decision after the other."""

    began: float = field(default_factory=time.time)
    _zero: float = field(default_factory=time.perf_counter)
    _spans: dict[Ask, Span] = field(default_factory=dict)
    """Of every ask, in the order in which they were put."""

    def register(self, ask: Ask) -> None:
        self._spans[ask] = (0.0, 0.0)

    def answered(self, ask: Ask, began: float, ended: float) -> None:
        """Times as `time.perf_counter` counts."""
        self._spans[ask] = (round(began - self._zero, PLACES), round(ended - self._zero, PLACES))

    def read(self, record: MatchRecord) -> Clock | None:
        """The times of the record's exchanges; None where it has none. What was asked beside them,
        by players that hear how the match ended, is left out."""
        exchanges = [one for decision in record.decisions for one in decision.asked]
        if not exchanges:
            return None
        waiting = list(self._spans)
        found: list[Span] = []
        for exchange in exchanges:
            place = next(at for at, ask in enumerate(waiting) if _fits(ask.request, exchange))
            found.append(self._spans[waiting.pop(place)])
        return Clock(round(self.began, PLACES), tuple(found))


def _fits(request: Request, exchange: Exchange) -> bool:
    """Whether the exchange is of this request, or of one that reads the same."""
    if isinstance(request, Score) != isinstance(exchange, ScoreExchange):
        return False
    prompt: Prompt = request.prompts[0] if isinstance(request, Score) else request.prompt
    branch = exchange.branches[0] if isinstance(exchange, ScoreExchange) else ""
    turns = getattr(prompt, "turns", None)
    return (prompt.changing, turns) == (exchange.shared + branch, exchange.turns)
