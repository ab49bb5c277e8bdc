"""Exact play by searching the whole game tree."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from gauntlet.agents.base import Decision, Thinking, Turn
from gauntlet.games.base import Game
from gauntlet.games.capabilities import nothing_hidden
from gauntlet.games.contract import fault, final_returns, legal_actions, seats_to_move
from gauntlet.games.playouts import sample

POSITIONS = 100_000
"""Maximum number of positions searched per call: about 3 seconds of tic-tac-toe, and 50 MB."""

SECONDS = 20.0
"""Maximum thread time of the search by which `check` admits a game, for slow rules."""


@dataclass(frozen=True)
class Minimax:
    """Chooses uniformly among the moves that are best under perfect play of both seats.

    For zero-sum games of two seats that are small enough to search to the end: tic-tac-toe takes
    0.05 s on 3 x 3 and 1 s on 4 x 4 with lines of 3, but is out of reach on 5 x 5. It plays to win
    whatever the seat's goal. A decision's scores are the outcomes, from -1 to 1.
    """

    def check(self, game: Game[Any]) -> None:
        """Raises ValueError unless the game has two seats that alternate, perfect information,
        and is small enough to search from a first state to the end."""
        name = type(game).__name__
        if game.num_seats != 2:
            raise ValueError(f"minimax plays games of 2 seats; this {name} has {game.num_seats}")
        if not nothing_hidden(game):
            raise ValueError(
                f"minimax plays games in which nothing is hidden and seats move in turn; "
                f"{name} is not one"
            )
        state = game.deal(np.random.default_rng(0))
        try:
            hash(state)
        except TypeError:
            raise ValueError(f"minimax keeps states in a table; {name}'s have no hash") from None
        outcome(game, state, SECONDS)

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        game, state = turn.game, sample(turn.game, turn.observation, rng)
        sign = 1 - 2 * turn.observation.seat
        after = (game.play(state, (action,)) for action in turn.options)
        scores = tuple(sign * outcome(game, position) for position in after)
        best = [option for option, score in enumerate(scores) if score == max(scores)]
        return Decision(best[int(rng.integers(len(best)))], scores=scores)
        yield


def outcome(game: Any, state: Any, seconds: float = math.inf) -> float:
    """The return of seat 0 from here when both seats play perfectly.

    seconds: limit on this thread's time.

    Raises ValueError if the search exceeds it, visits more than POSITIONS positions, or meets lines
    of play too long for the recursion.
    """
    known = outcomes(game)
    if len(known) > POSITIONS:
        known.clear()
    try:
        return _outcome(game, state, known, len(known) + POSITIONS, time.thread_time() + seconds)
    except (_TooBig, RecursionError) as error:
        known.clear()
        why = error.args[0] if isinstance(error, _TooBig) else "has more"
        raise ValueError(
            f"minimax searches games of up to {POSITIONS:,} positions, and {type(game).__name__} "
            f"{why}; agent=search plays games of any size"
        ) from None


@lru_cache(maxsize=2)
def outcomes(game: Game[Any]) -> dict[Any, float]:
    """The transposition table of a game: at most twice POSITIONS entries."""
    return {}


class _TooBig(Exception):
    """The search has reached a limit."""


def _outcome(
    game: Game[Any], state: Any, cache: dict[Any, float], most: int, until: float
) -> float:
    """The recursion of `outcome`. The cache may grow to `most` entries; `until`: thread time. A
    state that also has what led to it names its `position`, on which alone the outcome depends."""
    position = getattr(state, "position", state)
    if (found := cache.get(position)) is not None:
        return found
    seats = seats_to_move(game, state)
    if not seats:
        return final_returns(game, state)[0]
    if len(cache) >= most:
        raise _TooBig("has more")
    if time.thread_time() > until:
        raise _TooBig("takes too long to look at so many")
    if len(seats) > 1:
        raise fault(game, "to_move", seats, "a single seat (`perfect_information = True`)")
    (seat,) = seats
    sign: int = 1 - 2 * seat
    best = -1.0
    for action in legal_actions(game, state, seat):
        best = max(best, sign * _outcome(game, game.play(state, (action,)), cache, most, until))
        if best == 1:  # no return is above 1
            break
    cache[position] = sign * best
    return sign * best
