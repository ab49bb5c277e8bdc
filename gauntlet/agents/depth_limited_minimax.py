"""Depth-limited minimax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gauntlet.agents.base import Decision, Thinking, Turn
from gauntlet.games.base import Game
from gauntlet.games.capabilities import nothing_hidden
from gauntlet.games.contract import fault, final_returns, legal_actions, seats_to_move
from gauntlet.games.playouts import sample

MOST = 6
"""Maximum depth in plies. `Minimax` searches deeper, with a transposition table."""


@dataclass(frozen=True)
class DepthLimitedMinimax:
    """Chooses uniformly among the moves that are best within its search depth, for either seat.

    depth: plies, including its own: 1 finds a win, 2 also meets a threat. Positions beyond count as
        draws. Raises ValueError unless it is from 1 to MOST.
    """

    depth: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.depth <= MOST:
            raise ValueError(f"depth is {self.depth}; it looks 1 to {MOST} plies ahead")

    def check(self, game: Game[Any]) -> None:
        """Raises ValueError unless the game has two seats that alternate and perfect
        information."""
        name = type(game).__name__
        if game.num_seats != 2 or not nothing_hidden(game):
            raise ValueError(
                f"minimax of {self.depth} plies plays games of 2 seats in which nothing is hidden "
                f"and seats move in turn; {name} is not one"
            )

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        game, state = turn.game, sample(turn.game, turn.observation, rng)
        seat = turn.observation.seat
        after = (game.play(state, (action,)) for action in turn.options)
        scores = tuple(worth(game, position, seat, self.depth - 1) for position in after)
        best = [option for option, score in enumerate(scores) if score == max(scores)]
        return Decision(best[int(rng.integers(len(best)))], scores=scores)
        yield


def worth(game: Game[Any], state: Any, seat: int, depth: int) -> float:
    """The minimax value for `seat` at `depth` plies; 0 at the horizon."""
    movers = seats_to_move(game, state)
    if not movers:
        return final_returns(game, state)[seat]
    if not depth:
        return 0.0
    if len(movers) > 1:
        raise fault(game, "to_move", movers, "a single seat (`perfect_information = True`)")
    (mover,) = movers
    pick = max if mover == seat else min
    legal = legal_actions(game, state, mover)
    return pick(worth(game, game.play(state, (one,)), seat, depth - 1) for one in legal)
