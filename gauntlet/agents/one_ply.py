"""One-ply search: try each option and let the game evaluate the position after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gauntlet.agents.base import Decision, Thinking, Turn
from gauntlet.games.base import Action, Game, Observation, TextMove
from gauntlet.games.capabilities import Valued, nothing_hidden
from gauntlet.games.contract import seats_to_move, worth
from gauntlet.games.playouts import (
    check_policy,
    fill_text,
    no_playouts_reason,
    sample,
    scripted_move,
)

ALIKE = 1e-9
"""Tolerance within which two values are equal."""


@dataclass(frozen=True)
class OnePly:
    """Takes the option after which its side stands best, averaged over states it may be in.

    Ties are broken at random.

    worlds: number of such states; one is used if nothing is hidden.
    policy: the scripted player that writes the text of text actions and moves for the others when
        seats move simultaneously.
    """

    worlds: int = 8
    policy: str = "greedy"

    def __post_init__(self) -> None:
        if not 1 <= self.worlds <= 1000:
            raise ValueError(f"worlds is {self.worlds}; a search looks at 1 to 1,000")

    def check(self, game: Game[Any]) -> None:
        """Raises ValueError if the game has no evaluation or cannot be sampled."""
        if not isinstance(game, Valued):
            name = type(game).__name__
            raise ValueError(f"{name} does not tell what a position is worth: it has no `worth`")
        if reason := no_playouts_reason(game):
            raise ValueError(reason)
        check_policy(game, self.policy)

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        game, seen = turn.game, turn.observation
        benefits = seen.seat if turn.goal.helps is None else turn.goal.helps
        count = 1 if nothing_hidden(game) else self.worlds
        moves = [
            fill_text(game, self.policy, seen, turn.options, option, rng)
            for option in range(len(turn.options))
        ]
        means = np.mean([self._worths(game, seen, moves, benefits, rng) for _ in range(count)], 0)
        best = np.flatnonzero(means >= means.max() - ALIKE)
        option = int(best[rng.integers(len(best))])
        move = moves[option]
        text = move.text if isinstance(move, TextMove) else ""
        return Decision(option, scores=tuple(means.tolist()), text=text)
        yield

    def _worths(
        self,
        game: Any,
        observation: Observation,
        moves: list[Action],
        benefits: int,
        rng: np.random.Generator,
    ) -> list[float]:
        """The value of each move in one sampled state; the others' moves are the same for all."""
        state = sample(game, observation, rng)
        seats = seats_to_move(game, state)
        others = {
            seat: scripted_move(game, state, seat, self.policy, rng)
            for seat in seats
            if seat != observation.seat
        }
        return [
            worth(game, game.play(state, [others.get(seat, move) for seat in seats]), benefits)
            for move in moves
        ]
