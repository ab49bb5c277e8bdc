"""Santorini's scripted players, playouts and evaluation; compiled."""

from __future__ import annotations

import math

import numpy as np

from gauntlet.games.compiling import below, derive
from gauntlet.games.santorini.rules import (
    MOVE,
    PAWNS,
    PLACE,
    SIDE,
    SIZE,
    SQUARES,
    STAGE,
    TOP,
    TURN,
    WINNER,
    act,
    allocating,
    compiled,
    copy,
    inlined,
    legal,
    nth,
    number_of,
    over,
    reachable_squares,
    sites,
    step,
)

RANDOM, GREEDY = range(2)

TOLD = {
    "random": "takes any legal option alike",
    "greedy": "places pawns in the middle, steps as high as it can, builds where the opponent's "
    "next pawn has the fewest ways to reach level 3",
}
"""What each policy does, by name; the index is its code."""

MIDDLE = sum(1 << row * SIDE + column for row in (1, 2, 3) for column in (1, 2, 3))

HEIGHT = (0.0, 1.0, 2.6, 2.6)
"""Weight of a pawn's own level."""
CLIMB, ROOM, CENTRE, THREAT, WINNING = 0.35, 0.06, 0.12, 0.8, 8.0
"""Weights of a reachable square one level up; of any reachable square; of a pawn on the middle nine
squares; of a square on which it can win at its next turn, and at this one. Set by hand."""


@compiled
def wins(state: np.ndarray, pawn: int) -> int:
    """Return the squares onto which a placed pawn can step to win."""
    squares = reachable_squares(state, pawn)
    for square in range(SQUARES):
        if state[square] != TOP:
            squares &= ~(1 << square)
    return squares


@compiled
def best(state: np.ndarray, policy: int) -> int:
    """Return the legal squares among which a policy chooses uniformly."""
    open_to = legal(state)
    if policy == RANDOM:
        return open_to
    if state[STAGE] == PLACE:
        return open_to & MIDDLE
    mask, record = 0, -SQUARES
    for square in range(SQUARES):
        if open_to >> square & 1:
            good = state[square] if state[STAGE] == MOVE else -left_to_next(state, square)
            if good > record:
                mask, record = 0, good
            if good == record:
                mask |= 1 << square
    return mask


@inlined
def left_to_next(state: np.ndarray, square: int) -> int:
    """Return how many ways to win the next pawn has once the pawn to act has built on a square."""
    state[square] += 1
    count = number_of(wins(state, (state[TURN] + 1) % 4))
    state[square] -= 1
    return count


@compiled
def choose(state: np.ndarray, policy: int, key: np.uint64, count: int) -> int:
    """Return the legal square that a policy takes, by the `count`-th random number under `key`."""
    squares = best(state, policy)
    return nth(squares, below(number_of(squares), key, count))


@compiled
def choose_both(state: np.ndarray, key: np.uint64, count: int) -> int:
    """Return the step of a player that is uniform over pairs of step and build: each step is
    weighted by the number of builds after it."""
    pawn, steps, total = state[TURN], legal(state), 0
    at = state[PAWNS + pawn]
    for square in range(SQUARES):
        if steps >> square & 1:
            state[PAWNS + pawn] = square
            total += number_of(sites(state, pawn))
    remaining, chosen = below(total, key, count), -1
    for square in range(SQUARES):
        if steps >> square & 1 and remaining >= 0:
            state[PAWNS + pawn] = square
            remaining -= number_of(sites(state, pawn))
            chosen = square
    state[PAWNS + pawn] = at
    return chosen


@compiled
def worth(state: np.ndarray, seat: int, trial: np.ndarray) -> float:
    """Return the value of the state for a seat, 0 to 1; 1 or 0 once the game is over.

    If a build is due, the value is that after the best build. trial: scratch space for a state.
    """
    if state[STAGE] != PLACE and state[STAGE] != MOVE and not over(state):
        mover, squares, value = state[TURN] % 2, legal(state), 0.0
        for square in range(SQUARES):
            if squares >> square & 1:
                copy(state, trial)
                step(trial, square)
                value = max(value, settled(trial, mover))
        return value if mover == seat else 1.0 - value
    return settled(state, seat)


@inlined
def settled(state: np.ndarray, seat: int) -> float:
    """As `worth`, when no build is due."""
    if over(state):
        return 1.0 if state[WINNER] == seat else 0.0
    lead = 0.0
    for pawn in range(4):
        if state[PAWNS + pawn] >= 0:
            lead += pawn_value(state, pawn) if pawn % 2 == seat else -pawn_value(state, pawn)
    return 1.0 / (1.0 + math.exp(-lead))


@inlined
def pawn_value(state: np.ndarray, pawn: int) -> float:
    """Return the value of a placed pawn's position."""
    at = state[PAWNS + pawn]
    steps, won = reachable_squares(state, pawn), number_of(wins(state, pawn))
    count = HEIGHT[state[at]] + ROOM * number_of(steps) + CENTRE * (MIDDLE >> at & 1)
    for square in range(SQUARES):
        if steps >> square & 1 and state[square] == state[at] + 1:
            count += CLIMB
    if won:
        count += WINNING if state[TURN] == pawn else THREAT * won
    return float(count)


def room() -> np.ndarray:
    """Return scratch space for a state."""
    return np.zeros(SIZE, np.int64)


MOVES = 0
"""The purpose of a random stream."""


@compiled
def playout(state: np.ndarray, policies: np.ndarray, joint: bool, key: np.uint64) -> int:
    """Play `state` to its end, in place, one policy per seat; return the winner.

    joint: whether a move and a build are one choice, which only changes the random player.
    """
    count = 0
    while not over(state):
        policy = policies[state[TURN] % 2]
        if joint and policy == RANDOM and state[STAGE] == MOVE:
            step(state, choose_both(state, key, count))
        else:
            step(state, choose(state, policy, key, count))
        count += 1
    return int(state[WINNER])


@allocating
def simulate(
    start: np.ndarray, policies: np.ndarray, joint: bool, games: int, seed: int
) -> np.ndarray:
    """Return wins by seat, then games without a winner (always 0): int64 of shape (3,)."""
    counts = np.zeros(3, np.int64)
    state = start.copy()
    for game in range(games):
        state[:] = start
        counts[playout(state, policies, joint, derive(seed, MOVES, game))] += 1
    return counts


@allocating
def winners(
    start: np.ndarray, actions: np.ndarray, policies: np.ndarray, joint: bool, n: int, seed: int
) -> np.ndarray:
    """Return the winners after each action, per playout: as
    `games.capabilities.PlayedOut.winners`."""
    masks = np.zeros((len(actions), n), np.uint16)
    state = start.copy()
    for playing in range(n):
        key = derive(seed, MOVES, playing)
        for option in range(len(actions)):
            state[:] = start
            act(state, actions[option])
            masks[option, playing] = 1 << playout(state, policies, joint, key)
    return masks
