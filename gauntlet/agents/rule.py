"""A scripted player: a policy of the game, such as the rule player of RLCard for UNO, or random."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gauntlet.agents.base import Decision, Goal, Thinking, Turn
from gauntlet.games.base import Game, TextMove
from gauntlet.games.playouts import check_policy, fill_text, probabilities, targeted_policy


@dataclass(frozen=True)
class Rule:
    """Draws from the option probabilities of the game's scripted policy, and takes its text."""

    policy: str = "rule"

    @property
    def scripted(self) -> str:
        """See `agents.base.scripted_policy`."""
        return self.policy

    def check(self, game: Game[Any]) -> None:
        try:
            check_policy(game, self.policy)
        except ValueError as error:
            raise ValueError(f"{error} (agent=rule agent.policy=NAME)") from error

    def aimed(self, game: Game[Any], seat: int, goal: Goal) -> Rule:
        """Aim the policy at the seat that the goal names, if the policy can be aimed."""
        return replace(self, policy=targeted_policy(game, self.policy, seat, goal.helps))

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        game, seen = turn.game, turn.observation
        chances = probabilities(game, self.policy, seen)
        option = int(rng.choice(len(chances), p=chances))
        move = fill_text(game, self.policy, seen, turn.options, option, rng)
        return Decision(option, text=move.text if isinstance(move, TextMove) else "")
        yield
