"""Exact play by searching the whole game tree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from agents.base import Decision, Thinking, Turn
from games.base import Game
from games.capabilities import Sampled


@dataclass(frozen=True)
class Minimax:
    """Chooses uniformly among the moves whose outcome is best when both seats play perfectly.

    For zero-sum games of two seats that are small enough to search to the end: tic-tac-toe takes
    0.05 seconds on 3 x 3 and a second on 4 x 4 with lines of 3, but has no end in sight on 5 x 5.
    It plays to win whatever the seat's goal. A decision's scores are the outcomes, from -1 to 1.
    """

    def check(self, game: Game[Any]) -> None:
        """Raises ValueError unless the game has two seats, that move in turn and see all."""
        name = type(game).__name__
        if game.num_seats != 2:
            raise ValueError(f"minimax plays games of 2 seats; this {name} has {game.num_seats}")
        if not (isinstance(game, Sampled) and game.perfect_information):
            raise ValueError(
                f"minimax plays games in which nothing is hidden and seats move in turn; "
                f"{name} is not one"
            )

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        assert isinstance(turn.game, Sampled), turn.game
        state = turn.game.sample(turn.observation, rng)
        sign = 1 - 2 * turn.observation.seat
        after = (turn.game.play(state, (action,)) for action in turn.options)
        scores = tuple(sign * outcome(turn.game, position) for position in after)
        best = [option for option, score in enumerate(scores) if score == max(scores)]
        return Decision(best[int(rng.integers(len(best)))], scores=scores)
        yield


@cache
def outcome(game: Any, state: Any) -> float:
    """What seat 0 gets from here when both seats play perfectly."""
    seats = game.to_move(state)
    if not seats:
        return float(game.returns(state)[0])
    (seat,) = seats
    sign: int = 1 - 2 * seat
    best = -1.0
    for action in game.legal(state, seat):
        best = max(best, sign * outcome(game, game.play(state, (action,))))
        if best == 1:  # no return is above 1
            break
    return sign * best
