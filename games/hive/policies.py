"""Hive's scripted players, compiled, and what a position is worth.

RANDOM is uniform over the legal moves. GREEDY takes any of those after which the other queen's
filled neighbours lie furthest ahead of its own queen's.
"""

from __future__ import annotations

import numpy as np

from games.hive.compiled import allocating, compiled, inlined
from games.hive.hexes import CELLS, COUNT, LAST
from games.hive.rules import HAND, OWN, PASS, PLY, Table, lay_out, legal, make_table, to_move
from games.uno.chance import below

RANDOM, GREEDY = range(2)

CODES = {"random": RANDOM, "greedy": GREEDY}
"""Scripted players by name."""

ENDED = 100
"""What a lost queen adds to a lead; no queen has more than six neighbours."""
WON = ENDED // 2
"""A lead above this is a win."""


@compiled
def choose(table: Table, state: np.ndarray, policy: int, key: np.uint64) -> int:
    """The move of a scripted player in a state that is laid out, by the random numbers of `key`."""
    count = legal(table, state)
    if policy == GREEDY:
        count = keep_best(table, state, count)
    return int(table.moves[below(count, key, state[PLY])])


@compiled
def keep_best(table: Table, state: np.ndarray, count: int) -> int:
    """Of the first `count` moves keeps those that GREEDY would take, in their order; how many."""
    best, kept = -2 * ENDED, 0
    for at in range(count):
        move = table.moves[at]
        found = lead(table, state, move)
        if found > best:
            best, kept = found, 0
        if found == best:
            table.moves[kept] = move
            kept += 1
    return kept


@compiled
def lead(table: Table, state: np.ndarray, move: int) -> int:
    """By how many the filled neighbours of the other queen exceed those of the own one after a
    move; above WON where it wins, and below -WON where it loses."""
    seat = to_move(state)
    own = filled_after(table, state, OWN * seat, move)
    other = filled_after(table, state, OWN * (1 - seat), move)
    return other - own + ENDED * (int(other == 6) - int(own == 6))


@allocating
def leads(state: np.ndarray) -> np.ndarray:
    """The `lead` after each legal move of the seat to move, in order."""
    table = make_table()
    lay_out(table, state)
    found = np.empty(legal(table, state), np.int64)
    for at in range(len(found)):
        found[at] = lead(table, state, table.moves[at])
    return found


@compiled
def filled_after(table: Table, state: np.ndarray, queen: int, move: int) -> int:
    """How many neighbours of a queen are filled after a move; 0 where she is not on the table."""
    if move == PASS:
        return int(COUNT[table.near[state[queen]]]) if state[queen] != HAND else 0
    piece, end = move // CELLS, move % CELLS
    start, cell = state[piece], state[queen]
    if piece == queen:
        return int(COUNT[table.near[end]]) - int(start != HAND and beside(start, end))
    if cell == HAND:
        return 0
    left = int(start != HAND and beside(start, cell))
    return int(COUNT[table.near[cell]]) - left + int(beside(end, cell))


@inlined
def beside(one: int, other: int) -> bool:
    """Whether two cells are neighbours."""
    apart = (other - one) & LAST
    return bool(
        apart == 1 or apart == LAST or apart == 32 or apart == LAST - 31
        or apart == 31 or apart == LAST - 30
    )  # fmt: skip
