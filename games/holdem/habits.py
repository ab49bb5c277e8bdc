"""A player's habits: what it does where, learnt from hands that it has played, as a decision tree.

The tree tells decisions apart by plain facts of them (`notice`), and each of its leaves counts the
actions that were taken there. Whoever has these habits takes an action as often as it was taken
there among the legal ones; where none of these ever was, it checks or calls.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from games.holdem.compiled import inlined
from games.holdem.policies import TIGHT, Room, passive, strength
from games.holdem.rules import (
    ACTIONS,
    BIG,
    DEALER,
    RAISE_POT,
    RAISES,
    STACKS,
    STREET,
    TO_MOVE,
    pot,
    to_call,
)

STRENGTH, LEAD, PRICE, ROUND, CHOICES, POT_RAISE, POT, DEALS, RAISED, ANSWERED = range(10)
FACTS = 10
"""What is noticed of a decision: the hand's `strength`; by how much that is above PRICE; the share
of the pot that a call pays; the street; how many actions are legal; whether a raise by the pot is;
the pot in big blinds; whether the seat deals; its raises and the other's in this betting round."""

LEAST = 5
"""Decisions in a leaf."""

BITS = 10.0
"""By how much a split must make the actions more likely, over all decisions, as a power of 2: so
that a player who acts by chance is not learnt by heart."""

WORD = "habits "
"""What the text of habits begins with, which no policy's name does."""


class Habits(NamedTuple):
    """A tree, node by node, the root first.

    asked: the fact that a node asks for, int64, -1 at a leaf. limit: the way goes to the node `low`
    where the fact is at most this, else to `high`. counts: int64 of shape (nodes, ACTIONS). looks:
    whether it hangs on the cards. No nodes are no habits.
    """

    asked: np.ndarray
    limit: np.ndarray
    low: np.ndarray
    high: np.ndarray
    counts: np.ndarray
    looks: bool


def make_habits(rows: Sequence[Sequence[float]]) -> Habits:
    """Of nodes as rows: asked, limit, low, high, and the count of each action."""
    table = np.array(rows, float).reshape(-1, 4 + ACTIONS)
    asked, low, high = (table[:, at].astype(np.int64) for at in (0, 2, 3))
    looks = bool(np.isin(asked, (STRENGTH, LEAD)).any())
    counts = np.ascontiguousarray(table[:, 4:]).astype(np.int64)
    return Habits(asked, table[:, 1].copy(), low, high, counts, looks)


NONE = make_habits([])


@inlined
def notice(state: np.ndarray, actions: int, looks: bool, room: Room, facts: np.ndarray) -> None:
    """Fills `facts` (FACTS) with those of the seat to move; who does not look has no strength."""
    seat, choices = state[TO_MOVE], 0
    for action in range(ACTIONS):
        choices += actions >> action & 1
    lacking = min(max(to_call(state), 0), state[STACKS + seat])
    facts[STRENGTH] = strength(TIGHT, state, room) if looks else 0.0
    facts[PRICE] = lacking / (pot(state) + lacking)
    facts[LEAD] = facts[STRENGTH] - facts[PRICE]
    facts[ROUND] = state[STREET]
    facts[CHOICES] = choices
    facts[POT_RAISE] = actions >> RAISE_POT & 1
    facts[POT] = pot(state) / state[BIG]
    facts[DEALS] = state[DEALER] == seat
    facts[RAISED] = state[RAISES + seat]
    facts[ANSWERED] = state[RAISES + 1 - seat]


@inlined
def weigh_habits(habits: Habits, actions: int, facts: np.ndarray, weights: np.ndarray) -> int:
    """As `policies.weigh`: fills `weights` (ACTIONS) and returns their sum."""
    at, total = 0, 0
    while habits.asked[at] >= 0:
        at = habits.low[at] if facts[habits.asked[at]] <= habits.limit[at] else habits.high[at]
    for action in range(ACTIONS):
        weights[action] = habits.counts[at, action] * (actions >> action & 1)
        total += weights[action]
    if total == 0:
        weights[passive(actions)] = total = 1
    return total


def learn(facts: np.ndarray, taken: np.ndarray) -> str:
    """The habits behind decisions of `facts` (n, FACTS) and actions `taken` (n,), n > 0, as text.

    The tree is scikit-learn's, by entropy; the same decisions give the same one.
    """
    from sklearn.tree import DecisionTreeClassifier  # takes a second, and few runs need it

    tree = DecisionTreeClassifier(
        criterion="entropy",
        min_samples_leaf=LEAST,
        min_impurity_decrease=BITS / len(taken),
        random_state=0,
    )
    found = tree.fit(facts, taken).tree_
    counts = np.zeros((found.node_count, ACTIONS), np.int64)
    counts[:, tree.classes_] = np.rint(found.value[:, 0] * found.n_node_samples[:, None])
    rows = [
        [*((-1, 0, 0, 0) if low < 0 else (asked, limit, low, high)), *count]
        for asked, limit, low, high, count in zip(
            found.feature.tolist(),
            found.threshold.tolist(),
            found.children_left.tolist(),
            found.children_right.tolist(),
            counts.tolist(),
            strict=True,
        )
    ]
    return WORD + json.dumps(rows, separators=(",", ":"))


@lru_cache(maxsize=64)
def habits(text: str) -> Habits:
    """What `learn` told. NONE of the name of a policy."""
    return make_habits(json.loads(text.removeprefix(WORD))) if text.startswith(WORD) else NONE
