"""The same player with the options listed backwards, to see whether their order matters."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gauntlet.agents.base import Agent, Answer, Goal, Question, Thinking, Turn, decide, prepared
from gauntlet.games.base import Game


@dataclass(frozen=True)
class Reordered:
    """Plays like `agent`, which sees the options in reverse order; its decisions name them in the
    game's order."""

    agent: Agent

    def prepare(
        self, game: Game[Any], seat: int, goal: Goal
    ) -> Generator[Question, Answer, Reordered]:
        return Reordered((yield from prepared(self.agent, game, seat, goal)))

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        seen = turn.observation
        told = replace(seen, options=seen.options[::-1])
        backwards = replace(turn, options=turn.options[::-1], observe=lambda: told)
        decision = yield from decide(self.agent, backwards, rng)
        option = len(turn.options) - 1 - decision.option
        scores, chances = decision.scores[::-1], decision.chances[::-1]
        return replace(decision, option=option, scores=scores, chances=chances)
