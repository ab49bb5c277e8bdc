"""Hive's scripted players, playouts and evaluation; compiled.

RANDOM is uniform over the legal moves. GREEDY picks uniformly among the moves that maximize the
filled neighbours of the other queen minus those of its own queen.

Playouts run from the start, or after each option of a decision. The evaluation for one-ply players
weighs filled neighbours of the queens, pieces on the table that may move, pieces in hand, and
whether either side could surround the other queen with its next move. The weights were set by hand,
by matches against GREEDY.
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
"""Codes of the scripted players by name."""

ENDED = 100
"""What a lost queen adds to a lead; no queen has more than six neighbours."""
WON = ENDED // 2
"""A lead above this is a win."""


@compiled
def choose(table: Table, state: np.ndarray, policy: int, key: np.uint64) -> int:
    """Return a scripted player's move in a state that is laid out on the table; `key` gives the
    randomness."""
    count = legal(table, state)
    if policy == GREEDY:
        count = keep_best(table, state, count)
    return int(table.moves[below(count, key, state[PLY])])


@compiled
def keep_best(table: Table, state: np.ndarray, count: int) -> int:
    """Keep those of the first `count` moves that GREEDY would take, in order; return how many."""
    best, kept_count = -2 * ENDED, 0
    for at in range(count):
        move = table.moves[at]
        score = lead(table, state, move)
        if score > best:
            best, kept_count = score, 0
        if score == best:
            table.moves[kept_count] = move
            kept_count += 1
    return kept_count


@compiled
def lead(table: Table, state: np.ndarray, move: int) -> int:
    """Return the filled neighbours of the other queen minus those of the own one after a move;
    above WON if it wins, below -WON if it loses."""
    seat = to_move(state)
    own = filled_after(table, state, OWN * seat, move)
    other = filled_after(table, state, OWN * (1 - seat), move)
    return other - own + ENDED * (int(other == 6) - int(own == 6))


@allocating
def leads(state: np.ndarray) -> np.ndarray:
    """Return the `lead` after each legal move of the seat to move, in order."""
    table = make_table()
    lay_out(table, state)
    scores = np.empty(legal(table, state), np.int64)
    for at in range(len(scores)):
        scores[at] = lead(table, state, table.moves[at])
    return scores


@compiled
def filled_after(table: Table, state: np.ndarray, queen: int, move: int) -> int:
    """Return how many neighbours of a queen are filled after a move; 0 if she is not on the
    table."""
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
    offset = (other - cell) & LAST
    return bool(
        offset == 1 or offset == LAST or offset == 32 or offset == LAST - 31
        or offset == 31 or offset == LAST - 30
    )  # fmt: skip


MOVES = 1
"""The purpose of a random key."""


@compiled
def playout(table: Table, state: np.ndarray, policies: np.ndarray, key: np.uint64) -> int:
    """Play a state that is laid out to its end, in place; return the result."""
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
    """Play games `first` to `last` - 1 from `start`, using `state` as scratch space, and add to
    `counts` how many white won, black won and nobody won. The table is empty before and after."""
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
    """Play on from `start` after a move, using `state` as scratch space. Fills `winners`, one entry
    per playout, with the bit of the winning seat. The table is empty before and after."""
    for number in range(len(winners)):
        copy(start, state)
        lay_out(table, state)
        act(table, state, move)
        ended = playout(table, state, policies, derive(seed, MOVES, number))
        winners[number] = 1 if ended == WHITE_WINS else 2 if ended == BLACK_WINS else 0
        clear(table, state)


@compiled
def copy(state: np.ndarray, into: np.ndarray) -> None:
    """As `into[:] = state`, for which numba also generates code for overlapping arrays."""
    for field in range(SIZE):
        into[field] = state[field]


FILLED = np.array((0.0, 0.8, 1.8, 3.0, 4.4, 6.0, 0.0))
"""Weight by the number of filled neighbours of a queen."""
MOBILE = np.array((1.0, 0.15, 0.25, 0.6))
"""Weight of a mobile piece on the table, by kind."""
HELD = np.array((0.0, 0.1, 0.15, 0.3))
"""Weight of a piece in hand, by kind."""
THREAT = 1.0
"""Weight of a threat: the side not to move could win if it were to move."""
SURE = 0.98
"""Value of a position in which the side to move can win at once."""


@allocating
def worth(state: np.ndarray, seat: int) -> float:
    """Return the value of the state for `seat`, 0 to 1; its result if the game is over."""
    result = state[RESULT]
    if result == DRAW:
        return 0.5
    if result != GOING_ON:
        return 1.0 if result == seat else 0.0
    table = make_table()
    lay_out(table, state)
    mover = to_move(state)
    sign = 1.0 if seat == mover else -1.0
    if can_win(table, state):
        return 0.5 + sign * (SURE - 0.5)
    found = strength(table, state, mover) - strength(table, state, 1 - mover)
    found -= THREAT if can_win(table, pass_turn(state)) else 0.0
    return 0.5 + (SURE - 0.5) * math.tanh(sign * found / 6)


@allocating
def can_win_next(state: np.ndarray) -> bool:
    """Return whether the seat not to move could win at once if it were to move."""
    table = make_table()
    lay_out(table, state)
    return can_win(table, pass_turn(state))


@allocating
def pass_turn(state: np.ndarray) -> np.ndarray:
    """Return the state as if the seat to move had done nothing."""
    other = state.copy()
    other[PLY] += 1
    return other


@compiled
def can_win(table: Table, state: np.ndarray) -> bool:
    """Return whether a move of the seat to move surrounds the other queen and not its own."""
    seat = to_move(state)
    cell = state[OWN * (1 - seat)]
    if cell == HAND or COUNT[table.near[cell]] < 5 or state[OWN * seat] == HAND:
        return False
    count = legal(table, state)
    return keep_best(table, state, count) > 0 and lead(table, state, table.moves[0]) > WON


@compiled
def strength(table: Table, state: np.ndarray, seat: int) -> float:
    """Return the strength of a seat's position, ignoring the other's pieces; higher is better."""
    total = 0.0
    for piece in range(OWN * seat, OWN * seat + OWN):
        cell = state[piece]
        if cell == HAND:
            total += HELD[KIND[piece]]
        elif can_stir(table, piece, cell, state[PAPER_BUGS] != 0) and not pinned(
            table, piece, cell
        ):
            total += MOBILE[KIND[piece]]
    cell = state[OWN * seat]
    return total - (0.0 if cell == HAND else FILLED[COUNT[table.near[cell]]])
