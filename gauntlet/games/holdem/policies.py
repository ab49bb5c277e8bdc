"""Hold'em's scripted players, compiled: the probability of each action.

RANDOM is uniform over the legal actions; NEURON_RANDOM, as in neuron_poker, excludes ALL_IN and
RAISE_3BB. CALLER checks or calls. MANIAC raises by the pot as often as it may, then calls. TIGHT
goes by the strength of its hand (`strength`): it raises with a strong one, bets half the pot with a
good one if nobody has bet, calls if strength and price allow it, and else checks or folds. MIXED is
TIGHT with probability 3/4, else CALLER or MANIAC: a prior for an unknown player.

A player's habits are learnt from hands it has played, as a decision tree over simple facts of a
decision (`notice`). Each leaf counts the actions taken there. The habits play each legal action in
proportion to its count in the leaf; if none of them was ever taken there, they check or call.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gauntlet.games.compiling import below, derive
from gauntlet.games.holdem.ranks import bit, compiled, inlined, worth
from gauntlet.games.holdem.rules import (
    ACTIONS,
    ALL_IN,
    BIG,
    CALL,
    CARDS,
    CHECK,
    DEALER,
    FOLD,
    HAND,
    LONGEST,
    PLY,
    PREFLOP,
    RAISE_3BB,
    RAISE_HALF_POT,
    RAISE_POT,
    RAISES,
    STACKS,
    STREET,
    TO_MOVE,
    board,
    draw,
    faceup,
    legal,
    pot,
    to_call,
)

RANDOM, NEURON_RANDOM, CALLER, MANIAC, TIGHT, MIXED = range(6)

CODES = {
    "random": RANDOM,
    "neuron_random": NEURON_RANDOM,
    "mixed": MIXED,
    "tight": TIGHT,
    "caller": CALLER,
    "maniac": MANIAC,
}
"""Codes of the scripted players by name."""

STRONG = (0.62, 0.85)
"""Strength at which TIGHT raises, before and after the flop."""
GOOD = (0.58, 0.70)
"""Strength at which it bets."""
FAIR = (0.50, 0.55)
"""Minimum strength at which it calls."""
MARGIN = 0.05
"""How far its strength must exceed the share of the pot that a call pays."""

BOARDS = 4_000
"""Random showdowns per preflop strength: the standard error is below .008."""


PAIRS = np.array([(first, second) for first in range(51) for second in range(first + 1, 52)])
"""All hands of two cards: (1326, 2)."""
HOLES = np.bitwise_or.reduce(1 << 16 * (PAIRS & 3) + (PAIRS >> 2), axis=1)
"""The same as bit masks."""
RIVALS = HOLES[::9].copy()
"""Every ninth of them, spread over all ranks and suits: the opponents that define a hand's
strength."""


class Room(NamedTuple):
    """preflop: the strength of every two cards before the flop, by `kind`. weights, facts: buffers
    for the actions and the facts of one decision."""

    preflop: np.ndarray
    weights: np.ndarray
    facts: np.ndarray


@inlined
def kind(first: int, second: int) -> int:
    """Return the index among the 169 starting hands: 13 x higher rank + lower rank if suited, 13 x
    lower + higher if not."""
    high, low = max(first >> 2, second >> 2), min(first >> 2, second >> 2)
    return 13 * high + low if first & 3 == second & 3 else 13 * low + high


@compiled
def showdowns(boards: int, shares: np.ndarray) -> None:
    """Fill `shares`, float64 of shape (169,), with the share of the pot that every starting hand
    wins against a random one in `boards` random showdowns, ties counting half."""
    for row in range(13):
        for column in range(13):
            second = 4 * column if row > column else 4 * column + 1
            shares[13 * row + column] = against_random(4 * row, second, boards)


@compiled
def against_random(first: int, second: int, boards: int) -> float:
    """Return the share of the pot that two cards win against two random ones in `boards`
    showdowns."""
    hole_cards, won = bit(first) | bit(second), 0
    for number in range(boards):
        key, drawn, used, theirs, table = derive(first, second, number), 0, hole_cards, 0, 0
        for place in range(7):
            card, drawn = draw(used, key, drawn)
            used |= bit(card)
            if place < 2:
                theirs |= bit(card)
            else:
                table |= bit(card)
        mine, other = worth(hole_cards | table, 7), worth(theirs | table, 7)
        won += 2 if mine > other else 1 if mine == other else 0
    return won / (2 * boards)


@lru_cache
def preflop() -> np.ndarray:
    """Return `showdowns` of BOARDS, computed once per process."""
    found = np.zeros(169)
    showdowns(BOARDS, found)
    return found


def make_room() -> Room:
    """Return buffers for one decision after another."""
    return Room(preflop(), np.zeros(ACTIONS, np.int64), np.zeros(FACTS))


@inlined
def looks(policy: int) -> bool:
    return policy >= TIGHT


@inlined
def strength(policy: int, state: np.ndarray, room: Room) -> float:
    """Return the strength of the hand of the seat to move, for a policy that looks at it: before
    the flop the share of the pot that it wins against a random hand, afterwards the share of RIVALS
    that it currently beats. 0 for other policies."""
    if not looks(policy):
        return 0.0
    place = CARDS + 2 * state[TO_MOVE]
    first, second = state[place], state[place + 1]
    if state[STREET] == PREFLOP:
        return float(room.preflop[kind(first, second)])
    return share_beaten(
        bit(first) | bit(second), board(state, faceup(state[STREET])), state[STREET] + 4
    )


@compiled
def share_beaten(hand: int, table: int, size: int) -> float:
    """Return the share of the RIVALS possible on the board `table` that `hand` beats, ties counting
    half; size: cards of a hand plus the board."""
    mine, won, hands = worth(hand | table, size), 0, 0
    for at in range(len(RIVALS)):
        if not table & RIVALS[at]:
            other = worth(RIVALS[at] | table, size)
            won += 2 if mine > other else 1 if mine == other else 0
            hands += 2
    return won / hands


@inlined
def weigh(policy: int, state: np.ndarray, actions: int, strong: float, weights: np.ndarray) -> int:
    """Fill `weights` (ACTIONS) with integers proportional to a policy's probability of each legal
    action, 0 elsewhere; return their sum.

    actions: the legal ones, as a mask. strong: the hand's `strength`, for policies that look.
    """
    if policy <= NEURON_RANDOM:
        if policy == NEURON_RANDOM:
            actions &= ~(1 << ALL_IN | 1 << RAISE_3BB)
        total = 0
        for action in range(ACTIONS):
            weights[action] = actions >> action & 1
            total += weights[action]
        return total
    for action in range(ACTIONS):
        weights[action] = 0
    if policy == MIXED:
        weights[passive(actions)] += 1
        weights[wild(actions)] += 1
        weights[tight(state, actions, strong)] += 6
        return 8
    chosen_action = passive(actions)
    if policy == MANIAC:
        chosen_action = wild(actions)
    elif policy == TIGHT:
        chosen_action = tight(state, actions, strong)
    weights[chosen_action] = 1
    return 1


@inlined
def passive(actions: int) -> int:
    return CHECK if actions >> CHECK & 1 else CALL


@inlined
def wild(actions: int) -> int:
    return RAISE_POT if actions >> RAISE_POT & 1 else passive(actions)


@inlined
def tight(state: np.ndarray, actions: int, strong: float) -> int:
    """Return TIGHT's action with a hand of this strength."""
    late = min(state[STREET], 1)
    if strong >= STRONG[late] and actions >> RAISE_POT & 1:
        return RAISE_POT
    lacking = min(to_call(state), state[STACKS + state[TO_MOVE]])
    if lacking <= 0:
        bets = strong >= GOOD[late] and actions >> RAISE_HALF_POT & 1
        return RAISE_HALF_POT if bets else CHECK
    price = lacking / (pot(state) + lacking)
    return CALL if strong >= max(FAIR[late], price + MARGIN) else FOLD


@inlined
def choose(policy: int, state: np.ndarray, actions: int, key: np.uint64, room: Room) -> int:
    """Return the action of a mask that `policy` takes, by this decision's random number under
    `key`."""
    weights = room.weights
    total = weigh(policy, state, actions, strength(policy, state, room), weights)
    return pick(weights, total, state, key)


@inlined
def pick(weights: np.ndarray, total: int, state: np.ndarray, key: np.uint64) -> int:
    """Return the action that this decision's random number under `key` selects by its weight."""
    return at_quantile(
        weights, below(total, key, LONGEST * state[HAND] + state[PLY]) if total > 1 else 0
    )


@inlined
def at_quantile(weights: np.ndarray, remaining: int) -> int:
    """Return the action selected by a number below the sum of `weights`."""
    action = 0
    while remaining >= weights[action]:
        remaining -= weights[action]
        action += 1
    return action


@compiled
def chances(policy: int, state: np.ndarray, room: Room) -> int:
    """Fill `room.weights` as `weigh` does, for the seat to move; return their sum."""
    return weigh(policy, state, legal(state), strength(policy, state, room), room.weights)


STRENGTH, LEAD, PRICE, ROUND, CHOICES, POT_RAISE, POT, DEALS, RAISED, ANSWERED = range(10)
FACTS = 10
"""The facts of a decision: the hand's `strength`; its lead over PRICE; the share of the pot that a
call pays; the street; the number of legal actions; whether a pot raise is legal; the pot in big
blinds; whether the seat deals; its raises and the other's in this betting round."""

LEAST = 5
"""Minimum number of decisions in a leaf."""

BITS = 10.0
"""Minimum gain of a split in log2 likelihood over all decisions, so that a random player is not
memorized."""

WORD = "habits "
"""Prefix of habits as text, which no policy's name has."""


class Habits(NamedTuple):
    """A decision tree, node by node, the root first.

    asked: the fact that a node tests, int64, -1 at a leaf. limit: go to node `low` if the fact is
    at most this, else to `high`. counts: int64 of shape (nodes, ACTIONS). looks: whether it depends
    on the cards. Without nodes there are no habits.
    """

    asked: np.ndarray
    limit: np.ndarray
    low: np.ndarray
    high: np.ndarray
    counts: np.ndarray
    looks: bool


def make_habits(rows: Sequence[Sequence[float]]) -> Habits:
    """Build a tree from nodes as rows: asked, limit, low, high, and the count of each action."""
    table = np.array(rows, float).reshape(-1, 4 + ACTIONS)
    fact_ids, low, high = (table[:, at].astype(np.int64) for at in (0, 2, 3))
    looks = bool(np.isin(fact_ids, (STRENGTH, LEAD)).any())
    counts = np.ascontiguousarray(table[:, 4:]).astype(np.int64)
    return Habits(fact_ids, table[:, 1].copy(), low, high, counts, looks)


NONE = make_habits([])


class Players(NamedTuple):
    """The seats' policies, int64 of shape (2,), and the habits that replace those of each seat;
    NONE for none."""

    policies: np.ndarray
    first: Habits
    second: Habits


@inlined
def notice(state: np.ndarray, actions: int, looks: bool, room: Room, facts: np.ndarray) -> None:
    """Fill `facts` (FACTS) for the seat to move; without `looks` the strength is 0."""
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
    """As `policies.weigh`: fill `weights` (ACTIONS) and return their sum."""
    at, total = 0, 0
    while habits.asked[at] >= 0:
        at = habits.low[at] if facts[habits.asked[at]] <= habits.limit[at] else habits.high[at]
    for action in range(ACTIONS):
        weights[action] = habits.counts[at, action] * (actions >> action & 1)
        total += weights[action]
    if total == 0:
        weights[passive(actions)] = total = 1
    return total


@inlined
def weigh_player(
    players: Players, state: np.ndarray, actions: int, room: Room, weights: np.ndarray
) -> int:
    """As `weigh`, for the player that is to move."""
    seat = state[TO_MOVE]
    habits = players.second if seat else players.first
    if len(habits.asked):
        notice(state, actions, habits.looks, room, room.facts)
        return weigh_habits(habits, actions, room.facts, weights)
    policy = players.policies[seat]
    return weigh(policy, state, actions, strength(policy, state, room), weights)


def learn(facts: np.ndarray, choices: np.ndarray) -> str:
    """Learn habits from decisions with `facts` (n, FACTS) and actions `taken` (n,), n > 0; return
    them as text.

    The tree is scikit-learn's, by entropy; it is deterministic.
    """
    from sklearn.tree import DecisionTreeClassifier  # a slow import that few runs need

    tree = DecisionTreeClassifier(
        criterion="entropy",
        min_samples_leaf=LEAST,
        min_impurity_decrease=BITS / len(choices),
        random_state=0,
    )
    fitted = tree.fit(facts, choices).tree_
    counts = np.zeros((fitted.node_count, ACTIONS), np.int64)
    counts[:, tree.classes_] = np.rint(fitted.value[:, 0] * fitted.n_node_samples[:, None])
    rows = [
        [*((-1, 0, 0, 0) if low < 0 else (asked, limit, low, high)), *count]
        for asked, limit, low, high, count in zip(
            fitted.feature.tolist(),
            fitted.threshold.tolist(),
            fitted.children_left.tolist(),
            fitted.children_right.tolist(),
            counts.tolist(),
            strict=True,
        )
    ]
    return WORD + json.dumps(rows, separators=(",", ":"))


@lru_cache(maxsize=64)
def habits(text: str) -> Habits:
    """Parse the output of `learn`. Returns NONE for the name of a policy."""
    return make_habits(json.loads(text.removeprefix(WORD))) if text.startswith(WORD) else NONE
