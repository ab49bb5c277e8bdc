"""Santorini's rules, compiled: one implementation for play and for playouts.

A state is a flat int64 array: the level of each square, then the fields named below. Squares are 0
to 24, row by row from a1; a set of squares is a bit mask with bit i for square i. Pawns are 0 to 3
in the cyclic order in which they act; pawn p belongs to seat p % 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gauntlet.games.compiling import Compiler

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
