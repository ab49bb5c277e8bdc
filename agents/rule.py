"""A scripted player that comes with its game, such as RLCard's rule player for UNO."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from agents.base import Decision, Goal, Thinking, Turn
from games.base import Game
from games.capabilities import Aiming, Scripted


@dataclass(frozen=True)
class Rule:
    """Draws its move from the probabilities that the game's scripted policy gives the options."""

    policy: str = "rule"

    def check(self, game: Game[Any]) -> None:
        """Raises ValueError where the game has no policy of that name."""
        known = tuple(game.policies) if isinstance(game, Scripted) else ()
        if self.policy not in known:
            raise ValueError(
                f"{type(game).__name__} has no scripted policy {self.policy!r}; "
                f"it has {', '.join(known) or 'none'}"
            )

    def aimed(self, game: Game[Any], seat: int, goal: Goal) -> Rule:
        """The same player with an eye on the seat that its goal names, if it is of that kind.
        Raises ValueError where it is, and the goal names no other seat."""
        if not isinstance(game, Aiming):
            return self
        return replace(self, policy=game.aimed(self.policy, seat, goal.helps))

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        assert isinstance(turn.game, Scripted), turn.game
        chances = turn.game.probabilities(self.policy, turn.observation)
        return Decision(int(rng.choice(len(chances), p=chances)))
        yield
