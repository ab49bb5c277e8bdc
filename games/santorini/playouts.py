"""Playing Santorini many times over: from the start, and on after every option of a decision."""

from __future__ import annotations

import numpy as np

from games.santorini.compiled import allocating, compiled
from games.santorini.players import RANDOM, choose, choose_both
from games.santorini.rules import MOVE, STAGE, TURN, WINNER, act, over, step
from games.uno.chance import derive

MOVES = 0
"""What a random stream is for."""


@compiled
def playout(state: np.ndarray, policies: np.ndarray, both: bool, key: np.uint64) -> int:
    """Plays `state` to its end, in place, one policy a seat; the winner.

    both: whether a move and a build are one choice, which a random player makes otherwise.
    """
    count = 0
    while not over(state):
        policy = policies[state[TURN] % 2]
        if both and policy == RANDOM and state[STAGE] == MOVE:
            step(state, choose_both(state, key, count))
        else:
            step(state, choose(state, policy, key, count))
        count += 1
    return int(state[WINNER])


@allocating
def simulate(
    start: np.ndarray, policies: np.ndarray, both: bool, games: int, seed: int
) -> np.ndarray:
    """Wins by seat, then games without a winner, of which there are none: int64 of shape (3,)."""
    counts = np.zeros(3, np.int64)
    state = start.copy()
    for game in range(games):
        state[:] = start
        counts[playout(state, policies, both, derive(seed, MOVES, game))] += 1
    return counts


@allocating
def winners(
    start: np.ndarray, actions: np.ndarray, policies: np.ndarray, both: bool, n: int, seed: int
) -> np.ndarray:
    """Who wins after each action, playout by playout: as `games.capabilities.PlayedOut.winners`."""
    found = np.zeros((len(actions), n), np.uint16)
    state = start.copy()
    for playing in range(n):
        key = derive(seed, MOVES, playing)
        for option in range(len(actions)):
            state[:] = start
            act(state, actions[option])
            found[option, playing] = 1 << playout(state, policies, both, key)
    return found
