"""One-ply search: each option is tried, and the position after it is judged by the game."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gauntlet.agents.base import Decision, Thinking, Turn
from gauntlet.games.base import Action, Game, Observation, TextMove
from gauntlet.games.capabilities import Valued, nothing_hidden
from gauntlet.games.playouts import check_policy, fill_text, lack, sample, scripted_move

ALIKE = 1e-9
"""Worths that differ by less are equal."""


@dataclass(frozen=True)
class OnePly:
    """Takes the option after which the seat that it plays for stands best, in the mean over states
    that fit what it knows; of several best ones any.

    worlds: how many such states; one is enough where nothing is hidden.
    policy: the scripted player that finds the words of open options, and that moves for the others
        where seats move at once.
    """

    worlds: int = 8
    policy: str = "greedy"

    def __post_init__(self) -> None:
        if not 1 <= self.worlds <= 1000:
            raise ValueError(f"worlds is {self.worlds}; a search looks at 1 to 1,000")

    def check(self, game: Game[Any]) -> None:
        """Raises ValueError where the game does not judge positions, or cannot be guessed."""
        if not isinstance(game, Valued):
            name = type(game).__name__
            raise ValueError(f"{name} does not tell what a position is worth: it has no `worth`")
        if reason := lack(game):
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
        worth = np.mean([self._worths(game, seen, moves, benefits, rng) for _ in range(count)], 0)
        best = np.flatnonzero(worth >= worth.max() - ALIKE)
        option = int(best[rng.integers(len(best))])
        move = moves[option]
        text = move.text if isinstance(move, TextMove) else ""
        return Decision(option, scores=tuple(worth.tolist()), text=text)
        yield

    def _worths(
        self,
        game: Any,
        observation: Observation,
        moves: list[Action],
        benefits: int,
        rng: np.random.Generator,
    ) -> list[float]:
        """What each move is worth in one state that fits, the others moving alike after each."""
        state = sample(game, observation, rng)
        others = {
            seat: scripted_move(game, state, seat, self.policy, rng)
            for seat in game.to_move(state)
            if seat != observation.seat
        }
        return [
            game.worth(
                game.play(state, [others.get(seat, move) for seat in game.to_move(state)]), benefits
            )
            for move in moves
        ]
