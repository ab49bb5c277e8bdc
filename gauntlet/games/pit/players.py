"""Pit's scripted players, and the value of a state for a team: its points, and the prospects of the
deal.

A trader's prospects of a commodity fall by a constant factor for every missing card. An offer is
evaluated as if it might already have been taken, for a lot that another trader does not collect.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import exp

from gauntlet.games.pit.rules import (
    BEAR,
    BULL,
    LOTS,
    OFFER,
    PENALTY,
    TEAMS,
    TRADE,
    TRADERS,
    VALUES,
    WAIT,
    Hand,
    State,
    Terms,
    View,
    minus,
    options,
    plus,
)
from gauntlet.games.playouts import check_known_policy

TOLD = {
    "random": "takes any option",
    "greedy": "collects the commodity that it holds most of, the dearest of several; takes any "
    "offer for other cards, else offers some of them; the bull it keeps",
}
"""What each policy does, by name."""


def chances(policy: str, view: View) -> tuple[float, ...]:
    """Return the probability of each option, in order. Raises ValueError for an unknown policy."""
    moves = options(view.state)
    return best(policy, moves, [_rank(move, view.state.hands[view.trader]) for move in moves])


def best(policy: str, moves: Sequence[int], ranks: Sequence[int]) -> tuple[float, ...]:
    """Return the probability of each move: "greedy" is uniform over the highest rank."""
    check_known_policy("pit", policy, TOLD)
    found = [rank == max(ranks) or policy == "random" for rank in ranks]
    return tuple(one / sum(found) for one in found)


def _rank(move: int, hand: Hand) -> int:
    """Trades before offers before waiting; moves that break the collection last."""
    if move == WAIT:
        return 0
    trade = move >= TRADE
    lot = LOTS[(move - TRADE) % len(LOTS) if trade else move - OFFER]
    if lot[BULL] or lot[target_commodity(hand)]:
        return -1
    return 2 if trade else 1


def target_commodity(hand: Hand) -> int:
    """Return the commodity that a trader with this hand collects."""
    return max(range(4), key=lambda kind: (hand[kind], VALUES[kind]))


STEP = 1.1
"""One card more multiplies the prospects by e to this."""
BURDEN = 0.5
"""What the bear costs, in cards."""
NOBODY = 0.02
"""Prospects that the deal ends without a corner."""
TAKEN = 0.35
"""Probability per fitting lot that an offer is taken before its owner's next turn."""
AHEAD = 250.0
"""Points that each team may still expect at the start."""


def share(points: tuple[int, int]) -> tuple[float, float]:
    """Return each team's share of the points, negative ones counting as 0; half each without
    any."""
    own, other = (max(0, score) for score in points)
    first = own / (own + other) if own + other else 0.5
    return first, 1 - first


def worth(state: State, team: int, terms: Terms) -> float:
    """Return the share of all points that the team can expect at the end, 0 to 1; the match is not
    over."""
    prospects = [_prospects(state, who, terms.corner) for who in TRADERS]
    every = sum(map(sum, prospects)) + NOBODY
    points = [float(score) for score in state.points]
    for trader, found in enumerate(prospects):
        chances = [one / every for one in found]
        held = state.hands[trader]
        points[TEAMS[trader]] += sum(p * value for p, value in zip(chances, VALUES, strict=True))
        points[TEAMS[trader]] -= PENALTY * (held[BEAR] + held[BULL] * (1 - sum(chances)))
    left = min(1 - state.turns / terms.turns, 1 - max(points) / terms.goal)
    ahead = AHEAD * max(0.02, left)
    own, other = (max(0.0, points[side]) + ahead for side in (team, 1 - team))
    return own / (own + other)


def _prospects(state: State, trader: int, corner: int) -> tuple[float, ...]:
    """Return the prospects of each commodity, including what an offer may bring."""
    hand, lot = state.hands[trader], state.offers[trader]
    now = prospects(hand, corner)
    if lot is None:
        return now
    fits = [
        fit
        for other in TRADERS
        if other != trader
        for fit in _spare(state.hands[other], sum(LOTS[lot]))
    ]
    if not fits:
        return now
    later = [prospects(plus(minus(hand, lot), fit), corner) for fit in fits]
    sure = 1 - (1 - TAKEN) ** len(fits)
    return tuple(
        (1 - sure) * one + sure * sum(then[kind] for then in later) / len(later)
        for kind, one in enumerate(now)
    )


@cache
def prospects(hand: Hand, corner: int) -> tuple[float, ...]:
    burden = BURDEN * hand[BEAR]
    return tuple(
        exp(-STEP * (max(0, corner - hand[kind] - hand[BULL]) + burden)) for kind in range(4)
    )


@cache
def _spare(hand: Hand, size: int) -> tuple[int, ...]:
    """Return the plain lots of this size that a trader gives away if it collects what it has most
    of."""
    most = max(hand[:4])
    return tuple(4 * kind + size - 1 for kind in range(4) if size <= hand[kind] < most)
