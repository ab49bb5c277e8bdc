"""What a position of Hive is worth, compiled: for players that look one move ahead.

What counts, with WEIGHTS: filled neighbours of the queens; pieces on the table that may move;
pieces in hand; and whether either side could surround the other queen with its next move. The
weights were set by hand, by who won matches against GREEDY.
"""

from __future__ import annotations

import math

import numpy as np

from games.hive.compiled import allocating, compiled
from games.hive.hexes import COUNT
from games.hive.policies import WON, keep_best, lead
from games.hive.rules import (
    DRAW,
    GOING_ON,
    HAND,
    KIND,
    OWN,
    PLY,
    QUIRKS,
    RESULT,
    Table,
    can_stir,
    lay_out,
    legal,
    make_table,
    pinned,
    to_move,
)

FILLED = np.array((0.0, 0.8, 1.8, 3.0, 4.4, 6.0, 0.0))
"""What it weighs that so many neighbours of a queen are filled."""
MOBILE = np.array((1.0, 0.15, 0.25, 0.6))
"""What a piece on the table weighs that may move, by kind."""
HELD = np.array((0.0, 0.1, 0.15, 0.3))
"""What a piece in hand weighs, by kind."""
THREAT = 1.0
"""What it weighs that the side which is not to move could win if it were."""
SURE = 0.98
"""What a position is worth in which the side to move can win at once."""


@allocating
def worth(state: np.ndarray, seat: int) -> float:
    """What `seat` may hope for, from 0 to 1: what it gets where the game is over."""
    ended = state[RESULT]
    if ended == DRAW:
        return 0.5
    if ended != GOING_ON:
        return 1.0 if ended == seat else 0.0
    table = make_table()
    lay_out(table, state)
    mover = to_move(state)
    sign = 1.0 if seat == mover else -1.0
    if can_win(table, state):
        return 0.5 + sign * (SURE - 0.5)
    found = strength(table, state, mover) - strength(table, state, 1 - mover)
    found -= THREAT if can_win(table, turned(state)) else 0.0
    return 0.5 + (SURE - 0.5) * math.tanh(sign * found / 6)


@allocating
def can_win_next(state: np.ndarray) -> bool:
    """Whether the seat that is not to move could win at once if it were."""
    table = make_table()
    lay_out(table, state)
    return can_win(table, turned(state))


@allocating
def turned(state: np.ndarray) -> np.ndarray:
    """The state as it would be if the seat to move did nothing."""
    other = state.copy()
    other[PLY] += 1
    return other


@compiled
def can_win(table: Table, state: np.ndarray) -> bool:
    """Whether a move of the seat to move surrounds the other queen and not its own."""
    seat = to_move(state)
    cell = state[OWN * (1 - seat)]
    if cell == HAND or COUNT[table.near[cell]] < 5 or state[OWN * seat] == HAND:
        return False
    count = legal(table, state)
    return keep_best(table, state, count) > 0 and lead(table, state, table.moves[0]) > WON


@compiled
def strength(table: Table, state: np.ndarray, seat: int) -> float:
    """How a seat stands, without regard to the other's men: high is good."""
    found = 0.0
    for piece in range(OWN * seat, OWN * seat + OWN):
        cell = state[piece]
        if cell == HAND:
            found += HELD[KIND[piece]]
        elif can_stir(table, piece, cell, state[QUIRKS] != 0) and not pinned(table, piece, cell):
            found += MOBILE[KIND[piece]]
    cell = state[OWN * seat]
    return found - (0.0 if cell == HAND else FILLED[COUNT[table.near[cell]]])
