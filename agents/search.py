"""Monte Carlo search: each option is played on many times, hidden cards dealt afresh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from agents.base import Decision, Thinking, Turn
from games.base import Game
from games.capabilities import Valued


@dataclass(frozen=True)
class Search:
    """Chooses the option after which the seat that it plays for wins most playouts.

    playouts: how many an option; the error of a value is at most 0.5 / sqrt(playouts).
    policy: the scripted player that every seat is taken for in the playouts.

    It plays for its own win, or for that of the seat that its goal names. Each playout deals
    afresh what it cannot see, so it knows no more than another player in its seat. Ties go to
    the option that the game lists first. A decision's scores are the shares of playouts won.
    """

    playouts: int = 100
    policy: str = "random"

    def __post_init__(self) -> None:
        if self.playouts < 1:
            raise ValueError(f"playouts is {self.playouts}; a search plays 1 or more an option")

    def check(self, game: Game[Any]) -> None:
        """Raises ValueError where the game cannot be played on from what a seat knows."""
        name = type(game).__name__
        if not isinstance(game, Valued):
            raise ValueError(f"{name} has no playouts to search with")
        if self.policy not in game.policies:
            raise ValueError(
                f"{name} has no scripted policy {self.policy!r}; it has {', '.join(game.policies)}"
            )

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        game, seen = turn.game, turn.observation
        assert isinstance(game, Valued), game
        measured = seen.seat if turn.goal.helps is None else turn.goal.helps
        players = (self.policy,) * turn.game.num_seats
        worth = game.values(seen, measured, players, self.playouts, int(rng.integers(2**63)))
        return Decision(int(worth.argmax()), scores=tuple(worth.tolist()))
        yield
