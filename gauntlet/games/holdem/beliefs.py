"""What a seat can know of the other's cards and of its next move, exactly.

The other's cards follow Bayes' rule over all pairs that the seat does not see, by how likely its
policy would have made its moves of this hand with each (`playouts.recall`).
"""

from __future__ import annotations

import numpy as np

from gauntlet.games.holdem.playouts import (
    Belief,
    forget,
    make_belief,
    measure_strengths,
    recall,
)
from gauntlet.games.holdem.policies import HOLES, PAIRS, Room, looks, make_room, weigh
from gauntlet.games.holdem.ranks import compiled
from gauntlet.games.holdem.rules import (
    ACTIONS,
    PLY,
    STREET,
    TO_MOVE,
    board,
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
