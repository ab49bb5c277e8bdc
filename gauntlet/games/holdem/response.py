"""What a seat can know of the other's cards and next move, exactly; and the local best response.

It is what an option earns if both seats only check and call after it.

V. Lisy and M. Bowling (2017), Equilibrium approximation quality of current no-limit poker bots,
AAAI workshop on computer poker, 1612.07547. The seat to move holds its cards against the other's
range: how likely the other is to have each of PAIRS, by Bayes' rule from how a believed policy
would have made its moves of this hand. After a raise, the other folds as that policy would, and
else calls. Whatever is believed, the options chosen this way are a strategy, so what they win
bounds a best response from below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gauntlet.games.compiling import derive
from gauntlet.games.holdem import rules
from gauntlet.games.holdem.playouts import (
    Belief,
    forget,
    make_belief,
    measure_strengths,
    recall,
    rewind,
)
from gauntlet.games.holdem.policies import (
    FACTS,
    HOLES,
    LEAD,
    PAIRS,
    PRICE,
    STRENGTH,
    Habits,
    Room,
    looks,
    make_room,
    notice,
    weigh,
    weigh_habits,
)
from gauntlet.games.holdem.ranks import allocating, bit, compiled, worth
from gauntlet.games.holdem.rules import (
    ACTIONS,
    FOLD,
    LOG,
    PAID,
    PLY,
    STACKS,
    STREET,
    TO_MOVE,
    board,
    cost,
    draw,
    faceup,
    hole,
    legal,
)

TEN = 8
"""The index of a ten among the ranks, from the two at 0."""
HOLDINGS = (
    "a pair",
    "no pair, two cards of ten or higher",
    "no pair, one card of ten or higher",
    "no pair, both cards below ten",
)


def holdings() -> np.ndarray:
    """Return the index of each of PAIRS among HOLDINGS: int64 (1326,)."""
    ranks = PAIRS >> 2
    high = (ranks >= TEN).sum(axis=1)
    return np.asarray(np.where(ranks[:, 0] == ranks[:, 1], 0, 3 - high))


def holding(first: int, second: int) -> int:
    """Return the index among HOLDINGS of two cards."""
    if first >> 2 == second >> 2:
        return 0
    return 3 - (first >> 2 >= TEN) - (second >> 2 >= TEN)


def pair_chances(array: np.ndarray, seat: int, policy: int | None) -> np.ndarray | None:
    """Return the probability that the other seat holds each of PAIRS, float64 (1326,), given what
    `seat` sees; None if the other would never have made its moves.

    policy: the code of what the other plays; None counts its moves as if they told nothing.
    """
    view, belief = array.copy(), make_belief()
    view[TO_MOVE] = seat
    forget(belief)
    if policy is not None and looks(policy) and view[PLY] > 0:
        recall(view, policy, make_room(), belief)
    seen = board(view, faceup(view[STREET])) | hole(view, seat)
    weights = np.where(HOLES & seen, 0.0, belief.weights)
    total = weights.sum()
    return weights / total if total > 0 else None


def move_chances(array: np.ndarray, pairs: np.ndarray, policy: int) -> np.ndarray:
    """Return the probability of each of the ACTIONS of the seat to move, which plays by `policy`
    and holds each of PAIRS with these probabilities."""
    shares, state = np.zeros(ACTIONS), array.copy()
    _add_moves(state, pairs, policy, make_room(), make_belief(), shares)
    return shares


@compiled
def _add_moves(
    state: np.ndarray,
    pairs: np.ndarray,
    policy: int,
    room: Room,
    belief: Belief,
    shares: np.ndarray,
) -> None:
    actions = legal(state)
    if looks(policy):
        measure_strengths(state, room, belief)
    for at in range(len(PAIRS)):
        if pairs[at] > 0:
            total = weigh(policy, state, actions, belief.strengths[at], room.weights)
            for action in range(ACTIONS):
                shares[action] += pairs[at] * room.weights[action] / total


BOARDS = 400
"""Boards drawn where two cards or more are to come; with one, all are tried."""


@compiled
def fill_shares(
    state: np.ndarray, policy: int, habits: Habits, room: Room, belief: Belief,
    facts: np.ndarray, shares: np.ndarray,
) -> None:  # fmt: skip
    """Fill `shares` (1326, ACTIONS) with the probability that the seat to move takes each action
    with each of PAIRS: by the habits if there are any, else by the policy."""
    actions, learnt = legal(state), len(habits.asked) > 0
    measure_strengths(state, room, belief)
    notice(state, actions, False, room, facts)
    for at in range(len(PAIRS)):
        facts[STRENGTH] = belief.strengths[at]
        facts[LEAD] = facts[STRENGTH] - facts[PRICE]
        if learnt:
            total = weigh_habits(habits, actions, facts, room.weights)
        else:
            total = weigh(policy, state, actions, facts[STRENGTH], room.weights)
        for action in range(ACTIONS):
            shares[at, action] = room.weights[action] / total


def shares(state: np.ndarray, policy: int, habits: Habits) -> np.ndarray:
    """As `fill_shares`, in a new array."""
    found = np.zeros((len(PAIRS), ACTIONS))
    fill_shares(state, policy, habits, make_room(), make_belief(), np.zeros(FACTS), found)
    return found


@allocating
def equities(state: np.ndarray, key: int) -> np.ndarray:
    """The share of the pot that the seat to move wins at showdown against each of PAIRS, ties
    counting half, float64 (1326,); 0 for pairs that share a card with those it sees. Over all ways
    to complete the board that lacks a card or none, else over BOARDS random ones."""
    shown = faceup(state[STREET])
    own, table = hole(state, state[TO_MOVE]), board(state, shown)
    won, met = np.zeros(len(PAIRS)), np.zeros(len(PAIRS))
    trials = 1 if shown == 5 else 52 if shown == 4 else BOARDS
    for trial in range(trials):
        full, used, count = table, own | table, 0
        if shown == 4:
            if used & bit(trial):
                continue
            full |= bit(trial)
        else:
            for _ in range(5 - shown):
                card, count = draw(used, derive(key, 0, trial), count)
                used |= bit(card)
                full |= bit(card)
        mine = worth(own | full, 7)
        for at in range(len(PAIRS)):
            if not HOLES[at] & (own | full):
                other = worth(HOLES[at] | full, 7)
                won[at] += 1.0 if mine > other else 0.5 if mine == other else 0.0
                met[at] += 1.0
    for at in range(len(PAIRS)):
        won[at] /= max(met[at], 1.0)
    return won


def possible(array: np.ndarray) -> np.ndarray:
    """Which of PAIRS share no card with those that the seat to move sees: bool (1326,)."""
    street = array.item(STREET)
    seen = hole(array, array.item(TO_MOVE)) | board(array, faceup(street))
    return np.asarray((HOLES & seen) == 0)


def first_decision(array: np.ndarray) -> np.ndarray:
    """The current hand at its start, with the blinds posted."""
    start = array.copy()
    rewind(start)
    start[LOG:] = 0
    return start


def weighed(array: np.ndarray, able: np.ndarray, past: Sequence[np.ndarray]) -> np.ndarray:
    """The range of the other seat: a weight of each of PAIRS, sum 1. able: the pairs considered.
    past: `shares` at each of its moves of this hand; if it would never have made them with any
    pair, all are alike."""
    weights, trial, moves = able.astype(float), first_decision(array), iter(past)
    for action in array[LOG : LOG + array.item(rules.PLY)].tolist():
        if trial.item(TO_MOVE) != array.item(TO_MOVE):
            weights *= next(moves)[:, action]
        rules.act(trial, action)
    if not weights.any():
        weights = able.astype(float)
    return np.asarray(weights / weights.sum())


def values(
    array: np.ndarray, past: Sequence[np.ndarray], later: Mapping[int, np.ndarray], key: int
) -> np.ndarray:
    """What each legal action of the seat to move wins over folding now, in chips. later: `shares`
    of the other seat after each raise. A row of zeros rules a pair out."""
    able = np.logical_and.reduce(
        [possible(array), *(one.any(1) for one in (*past, *later.values()))]
    )
    range_, shares_won, found = weighed(array, able, past), equities(array, key), []
    for action in range(ACTIONS):
        if legal(array) >> action & 1:
            folds = later[action][:, FOLD] if action in later else np.zeros(len(PAIRS))
            found.append(_value(array, action, range_, folds, shares_won))
    return np.array(found)


def _value(
    array: np.ndarray, action: int, range_: np.ndarray, folds: np.ndarray, equity: np.ndarray
) -> float:
    """An action's value: the pot where the other folds, else the share of what both put in. Chips
    that the other cannot match come back."""
    if action == FOLD:
        return 0.0
    seat = array.item(TO_MOVE)
    own, other = array.item(PAID + seat), array.item(PAID + 1 - seat)
    put = min(own + cost(array, action), other + array.item(STACKS + 1 - seat))
    called = equity * 2 * put - (put - own)
    return float(range_ @ (folds * (own + other) + (1 - folds) * called))
