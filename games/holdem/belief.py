"""What a seat may believe of the other's two cards: Bayes' rule over all that they could be, by how
likely a policy would have made the other seat's moves of this hand with each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from games.holdem.compiled import compiled, inlined
from games.holdem.policies import HOLES, PAIRS, RIVALS, Room, kind, looks, weigh
from games.holdem.ranks import worth
from games.holdem.rules import (
    CARDS,
    LOG,
    PAID,
    PLY,
    PREFLOP,
    STACKS,
    STREET,
    TO_MOVE,
    act,
    blank,
    board,
    copy,
    faceup,
    hole,
    legal,
    post,
)


class Belief(NamedTuple):
    """weights: for each of PAIRS how likely the other seat would have made its moves of this hand
    with it, float64 of shape (1326,). sums: the same summed up from the first, over those that the
    seat to move may believe in. strengths: the `strength` of each. rivals, trial: room for the
    worths of RIVALS, and for a hand played again."""

    weights: np.ndarray
    sums: np.ndarray
    strengths: np.ndarray
    rivals: np.ndarray
    trial: np.ndarray


def make_belief() -> Belief:
    """Nothing believed yet: all equally likely."""
    return Belief(
        weights=np.ones(len(PAIRS)),
        sums=np.zeros(len(PAIRS)),
        strengths=np.zeros(len(PAIRS)),
        rivals=np.zeros(len(RIVALS), np.int64),
        trial=blank(),
    )


@compiled
def believe(state: np.ndarray, policy: int, room: Room, belief: Belief) -> None:
    """Sums up in `belief` what the other seat may hold, for the seat to move, if the other plays by
    `policy`.

    Where the policy would not have made those moves with any cards, and where it does not look at
    them, all are equally likely.
    """
    forget(belief)
    if looks(policy) and state[PLY] > 0:
        recall(state, policy, room, belief)
    sum_up(state, belief)
    if belief.sums[-1] == 0:
        forget(belief)
        sum_up(state, belief)


@inlined
def forget(belief: Belief) -> None:
    """Makes all equally likely."""
    for at in range(len(PAIRS)):
        belief.weights[at] = 1.0


@compiled
def recall(state: np.ndarray, policy: int, room: Room, belief: Belief) -> None:
    """Weighs every move that the other seat has made in this hand."""
    trial, other, street = belief.trial, 1 - state[TO_MOVE], -1
    copy(state, trial)
    rewind(trial)
    for ply in range(state[PLY]):
        action = state[LOG + ply]
        if trial[TO_MOVE] == other:
            if trial[STREET] != street:
                street = trial[STREET]
                measure_strengths(trial, room, belief)
            reweigh(trial, policy, action, room, belief)
        act(trial, action)


@inlined
def rewind(state: np.ndarray) -> None:
    """Makes the hand under way what it was as it began, its blinds posted."""
    for seat in range(2):
        state[STACKS + seat] += state[PAID + seat]
    post(state)


@compiled
def reweigh(state: np.ndarray, policy: int, action: int, room: Room, belief: Belief) -> None:
    """Multiplies the weights by how likely the seat to move takes this action by `policy`, its hand
    as strong as `measure_strengths` found it."""
    actions = legal(state)
    for at in range(len(PAIRS)):
        if belief.weights[at] > 0:
            total = weigh(policy, state, actions, belief.strengths[at], room.weights)
            belief.weights[at] *= room.weights[action] / total


@compiled
def measure_strengths(state: np.ndarray, room: Room, belief: Belief) -> None:
    """The `strength` of each of PAIRS on the board as it lies face up; of one with a card of the
    board anything."""
    if state[STREET] == PREFLOP:
        for at in range(len(PAIRS)):
            belief.strengths[at] = room.preflop[kind(PAIRS[at, 0], PAIRS[at, 1])]
        return
    table, size, count = board(state, faceup(state[STREET])), state[STREET] + 4, 0
    for at in range(len(RIVALS)):
        if not table & RIVALS[at]:
            rank(worth(RIVALS[at] | table, size), count, belief.rivals)
            count += 1
    for at in range(len(PAIRS)):
        if not table & HOLES[at]:
            mine = worth(HOLES[at] | table, size)
            won = place(mine, count, belief.rivals) + place(mine + 1, count, belief.rivals)
            belief.strengths[at] = won / (2 * count)


@inlined
def rank(value: int, count: int, values: np.ndarray) -> None:
    """Puts a value among the first `count`, which are in order."""
    while count > 0 and values[count - 1] > value:
        values[count] = values[count - 1]
        count -= 1
    values[count] = value


@inlined
def place(value: int, count: int, values: np.ndarray) -> int:
    """How many of the first `count` values, which are in order, are below `value`."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def sum_up(state: np.ndarray, belief: Belief) -> None:
    """Sums the weights up, less those of pairs with a card that the seat to move sees."""
    seen, total = board(state, faceup(state[STREET])) | hole(state, state[TO_MOVE]), 0.0
    for at in range(len(PAIRS)):
        if not seen & HOLES[at]:
            total += belief.weights[at]
        belief.sums[at] = total


@inlined
def hold(state: np.ndarray, seat: int, at: int) -> None:
    """Gives a seat these of PAIRS."""
    state[CARDS + 2 * seat], state[CARDS + 2 * seat + 1] = PAIRS[at, 0], PAIRS[at, 1]


@inlined
def drawn(sums: np.ndarray, by: float) -> int:
    """The place of PAIRS that a random number from 0 to 1, itself left out, stands for."""
    left = by * sums[-1]
    low, high = 0, len(sums) - 1
    while low < high:
        middle = (low + high) // 2
        if sums[middle] > left:
            high = middle
        else:
            low = middle + 1
    return low
