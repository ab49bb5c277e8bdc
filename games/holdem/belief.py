"""What a seat may believe of the other's two cards: Bayes' rule over all that they could be, by how
likely a policy would have made the other seat's moves of this hand with each."""

from __future__ import annotations

import numpy as np

from games.holdem.compiled import allocating, inlined
from games.holdem.policies import PAIRS, Room, looks, strength, weigh
from games.holdem.ranks import bit
from games.holdem.rules import (
    ACTIONS,
    CARDS,
    LOG,
    PAID,
    PLY,
    STACKS,
    STREET,
    TO_MOVE,
    act,
    board,
    faceup,
    hole,
    legal,
    post,
)


@allocating
def believed(state: np.ndarray, policy: int, room: Room) -> np.ndarray:
    """How likely each of PAIRS is what the other seat holds, for the seat to move, if the other
    plays by `policy`: weights summed up from the first, float64 of shape (1326,).

    Where the policy would not have made those moves with any cards, and where it does not look at
    them, all are equally likely.
    """
    weights = possible(state)
    if looks(policy) and state[PLY] > 0:
        by_moves = weights.copy()
        weigh_moves(state, policy, by_moves, room)
        if by_moves.sum() > 0:
            weights = by_moves
    for at in range(1, len(weights)):
        weights[at] += weights[at - 1]
    return weights


@allocating
def possible(state: np.ndarray) -> np.ndarray:
    """1 for each of PAIRS without a card that the seat to move sees, else 0."""
    seen = board(state, faceup(state[STREET])) | hole(state, state[TO_MOVE])
    found = np.zeros(len(PAIRS))
    for at in range(len(PAIRS)):
        found[at] = seen & (bit(PAIRS[at, 0]) | bit(PAIRS[at, 1])) == 0
    return found


@allocating
def weigh_moves(state: np.ndarray, policy: int, weights: np.ndarray, room: Room) -> None:
    """Multiplies `weights` by how likely `policy` makes every move that the other seat has made."""
    trial, other, street = rewound(state), 1 - state[TO_MOVE], -1
    chances, strengths = np.zeros(ACTIONS, np.int64), np.zeros(len(PAIRS))
    for ply in range(state[PLY]):
        action = state[LOG + ply]
        if trial[TO_MOVE] == other:
            actions = legal(trial)
            for at in range(len(PAIRS)):
                if weights[at] > 0:
                    if trial[STREET] != street:
                        hold(trial, other, at)
                        strengths[at] = strength(trial, room)
                    total = weigh(policy, trial, actions, strengths[at], chances)
                    weights[at] *= chances[action] / total
            street = trial[STREET]
        act(trial, action)


@allocating
def rewound(state: np.ndarray) -> np.ndarray:
    """The hand under way as it began, its blinds posted."""
    trial = state.copy()
    for seat in range(2):
        trial[STACKS + seat] += trial[PAID + seat]
    post(trial)
    return trial


@inlined
def hold(state: np.ndarray, seat: int, at: int) -> None:
    """Gives a seat these of PAIRS."""
    state[CARDS + 2 * seat], state[CARDS + 2 * seat + 1] = PAIRS[at, 0], PAIRS[at, 1]


@inlined
def drawn(weights: np.ndarray, by: float) -> int:
    """The place of PAIRS that a random number from 0 to 1, itself left out, stands for.

    weights: as `believed` gives them.
    """
    left = by * weights[-1]
    low, high = 0, len(weights) - 1
    while low < high:
        middle = (low + high) // 2
        if weights[middle] > left:
            high = middle
        else:
            low = middle + 1
    return low
