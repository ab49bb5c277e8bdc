"""The agent that queries a language model through a prompting method."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gauntlet.agents.base import Answer, Decision, Goal, Question, Thinking, Turn, check
from gauntlet.agents.prompting.base import Method, PreparedMethod, includes_text
from gauntlet.agents.prompting.words import add_text
from gauntlet.games.base import Game, TextAction


@dataclass(frozen=True)
class LLM:
    """Plays the option that `method` reads from the model's replies.

    An unusable reply becomes a uniform random legal move, recorded as a fallback with what was
    wrong. If the option needs text that the method did not give, the model is asked for it next;
    one of the game's examples is the fallback.
    """

    method: Method

    def check(self, game: Game[Any]) -> None:
        check(self.method, game)

    def prepare(self, game: Game[Any], seat: int, goal: Goal) -> Generator[Question, Answer, LLM]:
        method = self.method
        if isinstance(method, PreparedMethod):
            method = yield from method.prepare(game, seat, goal)
        return replace(self, method=method)

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        decision = yield from self._choose(turn, rng)
        return decision if decision.text else (yield from add_text(turn, decision, rng))

    def _choose(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        only_words = len(turn.options) == 1 and isinstance(turn.options[0], TextAction)
        if only_words and not includes_text(self.method):
            return Decision(0)
        answer = yield from self.method.ask(turn, rng)
        if isinstance(answer, Decision):
            return answer
        option = int(rng.integers(len(turn.options)))
        return Decision(
            option, answer.status, fallback=True, attempts=answer.attempts, notes=answer.notes
        )
