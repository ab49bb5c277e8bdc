"""Playing Hive many times over: games from the start, and what each option of a decision gets."""

from __future__ import annotations

import numpy as np

from games.hive.compiled import compiled
from games.hive.policies import choose
from games.hive.rules import (
    BLACK_WINS,
    DRAW,
    GOING_ON,
    RESULT,
    SIZE,
    WHITE_WINS,
    Table,
    act,
    clear,
    lay_out,
    to_move,
)
from games.uno.chance import derive

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
    found: np.ndarray,
) -> None:
    """Plays on from `start` after a move, in the room of `state`: fills `found`, a figure a
    playout, with the bit of the seat that won. The table is empty before and after."""
    for number in range(len(found)):
        copy(start, state)
        lay_out(table, state)
        act(table, state, move)
        ended = playout(table, state, policies, derive(seed, MOVES, number))
        found[number] = 1 if ended == WHITE_WINS else 2 if ended == BLACK_WINS else 0
        clear(table, state)


@compiled
def copy(state: np.ndarray, into: np.ndarray) -> None:
    """As `into[:] = state`, which numba also makes fit for arrays that overlap."""
    for field in range(SIZE):
        into[field] = state[field]
