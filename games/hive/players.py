"""Hive's scripted players, its playouts, and what a position is worth; compiled.

RANDOM is uniform over the legal moves. GREEDY takes any of those after which the other queen's
filled neighbours lie furthest ahead of its own queen's.

Playouts go from the start, or on after each option of a decision. What a position is worth to
players that look one move ahead counts, with WEIGHTS: filled neighbours of the queens; pieces on
the table that may move; pieces in hand; and whether either side could surround the other queen with
its next move. The weights were set by hand, by who won matches against GREEDY.
"""

from __future__ import annotations

import math

import numpy as np

from gauntlet.games.compiling import below, derive
from gauntlet.games.hive.hexes import CELLS, COUNT, LAST, allocating, compiled, inlined
from gauntlet.games.hive.rules import (
    BLACK_WINS,
    DRAW,
    GOING_ON,
    HAND,
    KIND,
    OWN,
    PAPER_BUGS,
    PASS,
    PLY,
    RESULT,
    SIZE,
    WHITE_WINS,
    Table,
    act,
    can_stir,
    clear,
    lay_out,
    legal,
    make_table,
    pinned,
    to_move,
)

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
        return int(COUNT[table.near[end]]) - int(start != HAND and are_neighbours(start, end))
    if cell == HAND:
        return 0
    left = int(start != HAND and are_neighbours(start, cell))
    return int(COUNT[table.near[cell]]) - left + int(are_neighbours(end, cell))


@inlined
def are_neighbours(cell: int, other: int) -> bool:
    """Whether two cells are neighbours."""
    apart = (other - cell) & LAST
    return bool(
        apart == 1 or apart == LAST or apart == 32 or apart == LAST - 31
        or apart == 31 or apart == LAST - 30
    )  # fmt: skip


MOVES = 1
"""What a key is for."""


@compiled
def playout(table: Table, state: np.ndarray, policies: np.ndarray, key: np.uint64) -> int:
    """Plays a state that is laid out to its end, in place; how it ended."""
    while state[RESULT] == GOING_ON:
        act(table, state, choose(table, state, policies[to_move(state)], key))
    return int(state[RESULT])


@compiled
def simulate(
    table: Table,
    state: np.ndarray,
    start: np.ndarray,
    policies: np.ndarray,
    seed: int,
    first: int,
    last: int,
    counts: np.ndarray,
) -> None:
    """Plays the games numbered `first` up to `last` from `start`, in the room of `state`, and adds
    to `counts` how many white won, black won and nobody won. The table is empty before and
    after."""
    for game in range(first, last):
        copy(start, state)
        lay_out(table, state)
        ended = playout(table, state, policies, derive(seed, MOVES, game))
        counts[min(ended, DRAW)] += 1
        clear(table, state)


@compiled
def play_out(
    table: Table,
    state: np.ndarray,
    start: np.ndarray,
    move: int,
    policies: np.ndarray,
    seed: int,
    winners: np.ndarray,
) -> None:
    """Plays on from `start` after a move, in the room of `state`: fills `winners`, a figure a
    playout, with the bit of the seat that won. The table is empty before and after."""
    for number in range(len(winners)):
        copy(start, state)
        lay_out(table, state)
        act(table, state, move)
        ended = playout(table, state, policies, derive(seed, MOVES, number))
        winners[number] = 1 if ended == WHITE_WINS else 2 if ended == BLACK_WINS else 0
        clear(table, state)


@compiled
def copy(state: np.ndarray, into: np.ndarray) -> None:
    """As `into[:] = state`, which numba also makes fit for arrays that overlap."""
    for field in range(SIZE):
        into[field] = state[field]


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
        elif can_stir(table, piece, cell, state[PAPER_BUGS] != 0) and not pinned(
            table, piece, cell
        ):
            found += MOBILE[KIND[piece]]
    cell = state[OWN * seat]
    return found - (0.0 if cell == HAND else FILLED[COUNT[table.near[cell]]])
