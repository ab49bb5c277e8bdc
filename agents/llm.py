"""The agent that plays by asking a language model through a prompting method."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from agents.base import Answer, Decision, Goal, Question, Thinking, Turn
from agents.prompting.base import Method, PreparedMethod
from games.base import Game


@dataclass(frozen=True)
class LLM:
    """Plays what the model answers to `method`; an unusable reply becomes a uniform random legal
    move, recorded as a fallback with what was wrong."""

    method: Method

    def prepare(self, game: Game[Any], seat: int, goal: Goal) -> Generator[Question, Answer, LLM]:
        method = self.method
        if isinstance(method, PreparedMethod):
            method = yield from method.prepare(game, seat, goal)
        return replace(self, method=method)

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        answer = yield from self.method.ask(turn, rng)
        if isinstance(answer, Decision):
            return answer
        option = int(rng.integers(len(turn.options)))
        return Decision(
            option, answer.status, fallback=True, attempts=answer.attempts, notes=answer.notes
        )
