"""Santorini's rules, scripted players, playouts and evaluation, compiled.

A state is a flat int64 array: the level of each square, then the fields named below. Squares are 0
to 24, row by row from a1; a set of squares is a bit mask with bit i for square i. Pawns are 0 to 3
in the cyclic order in which they act; pawn p belongs to seat p % 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gauntlet.games.compiling import Compiler, below, derive

_compiler = Compiler(Path(__file__).parent)
compiled = _compiler.compiled
inlined = _compiler.inlined
allocating = _compiler.allocating


@dataclass(frozen=True, slots=True)
class State:
    """A position and its history.

    cells: the array of `games.santorini.rules`. history: a clause for each stage of each turn.
    """

    cells: tuple[int, ...]
    history: tuple[str, ...] = ()

    @property
    def array(self) -> np.ndarray:
        """The cells as the compiled rules take them; a new array each time."""
        return np.array(self.cells)


SIDE = 5
SQUARES = SIDE * SIDE
PAWNS = SQUARES
"""The square of each of the four pawns, -1 before it is placed."""
TURN, STAGE, WINNER = range(PAWNS + 4, PAWNS + 7)
"""TURN: the pawn to act. STAGE: what it does. WINNER: a seat, -1 while the game goes on."""
SIZE = PAWNS + 7

PLACE, MOVE, BUILD = range(3)
TOP, COMPLETE = 3, 4
"""The level that wins, and the level of a dome."""
BOTH = SQUARES
"""Actions from here on combine a move and a build: BOTH + 25 * move + build."""

WHOLE = (1 << SQUARES) - 1
NEAR = tuple(
    sum(
        1 << other
        for other in range(SQUARES)
        if other != square
        and max(abs(other // SIDE - square // SIDE), abs(other % SIDE - square % SIDE)) == 1
    )
    for square in range(SQUARES)
)
"""The squares next to each, along a row, a column or a diagonal."""


def blank() -> np.ndarray:
    """Return the state before the first pawn is placed."""
    state = np.zeros(SIZE, np.int64)
    state[PAWNS : PAWNS + 4] = -1
    state[WINNER] = -1
    return state


@inlined
def copy(state: np.ndarray, into: np.ndarray) -> None:
    """As `into[:] = state`, for which numba also generates code for overlapping arrays."""
    for field in range(SIZE):
        into[field] = state[field]


@inlined
def over(state: np.ndarray) -> bool:
    return bool(state[WINNER] >= 0)


@inlined
def free(state: np.ndarray) -> int:
    """Return the squares without a pawn."""
    mask = WHOLE
    for pawn in range(PAWNS, PAWNS + 4):
        if state[pawn] >= 0:
            mask &= ~(1 << state[pawn])
    return mask


@compiled
def reachable_squares(state: np.ndarray, pawn: int) -> int:
    """Return where a placed pawn can step: adjacent, without a pawn, and at most one level up. That
    excludes domes, since a pawn on level 3 has won."""
    mask = NEAR[state[PAWNS + pawn]] & free(state)
    most = state[state[PAWNS + pawn]] + 1
    for square in range(SQUARES):
        if state[square] > most:
            mask &= ~(1 << square)
    return int(mask)


@compiled
def sites(state: np.ndarray, pawn: int) -> int:
    """Return where a pawn can build: adjacent, without a pawn, no dome. There is always one, the
    square that it has just left."""
    mask = NEAR[state[PAWNS + pawn]] & free(state)
    for square in range(SQUARES):
        if state[square] >= COMPLETE:
            mask &= ~(1 << square)
    return int(mask)


@compiled
def legal(state: np.ndarray) -> int:
    """Return the legal squares for the pawn to act, in a game that is not over."""
    if state[STAGE] == PLACE:
        return free(state)
    if state[STAGE] == MOVE:
        return reachable_squares(state, state[TURN])
    return sites(state, state[TURN])


@compiled
def step(state: np.ndarray, square: int) -> None:
    """Place the pawn to act on a legal square, step to it or build on it, in place."""
    pawn = state[TURN]
    if state[STAGE] == BUILD:
        state[square] += 1
        next_turn(state)
        return
    state[PAWNS + pawn] = square
    if state[STAGE] == PLACE:
        next_turn(state)
    elif state[square] == TOP:
        state[WINNER] = pawn % 2
    else:
        state[STAGE] = BUILD


@inlined
def next_turn(state: np.ndarray) -> None:
    """Pass the turn to the next pawn; if it is placed and cannot step, its seat loses."""
    pawn = (state[TURN] + 1) % 4
    state[TURN] = pawn
    state[STAGE] = PLACE if state[PAWNS + pawn] < 0 else MOVE
    if state[STAGE] == MOVE and reachable_squares(state, pawn) == 0:
        state[WINNER] = 1 - pawn % 2


@compiled
def act(state: np.ndarray, action: int) -> None:
    """As `step`, for an action that may combine a move and a build; no build follows a win."""
    if action < BOTH:
        step(state, action)
        return
    step(state, (action - BOTH) // SQUARES)
    if not over(state):
        step(state, (action - BOTH) % SQUARES)


@inlined
def number_of(squares: int) -> int:
    count = 0
    while squares:
        squares &= squares - 1
        count += 1
    return count


@inlined
def nth(squares: int, place: int) -> int:
    """Return the square at index `place` of a set in order."""
    for _ in range(place):
        squares &= squares - 1
    square = 0
    while not squares >> square & 1:
        square += 1
    return square


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
