"""How well a seat stands: its chance to win the battle, and what that is worth in the match.

The chance is reckoned theatre by theatre. A lead counts against how much may still come, told as
the spread of a normal distribution; cards in hand count a part of their strength where they belong.
"""

from __future__ import annotations

from functools import cache
from math import erf, sqrt

from games.air_land_sea.actions import decider, options
from games.air_land_sea.board import totals
from games.air_land_sea.cards import REDEPLOY, strength, theatre
from games.air_land_sea.rules import BARE, WON, act
from games.air_land_sea.state import State

HELD = 0.3
"""Part of its strength that a card in hand counts in its theatre."""
TEMPO = 1.0
"""Lead in every theatre for a card more in hand."""
SPREAD, SETTLED = 1.6, 0.2
"""Variance of a lead for every card in hand, and with none."""


def share(state: State) -> tuple[float, float]:
    """Each seat's share of the points; half while there are none."""
    both = sum(state.points)
    own = state.points[0] / both if both else 0.5
    return own, 1 - own


def worth(state: State, seat: int, goal: int, quirks: bool) -> float:
    """What the seat may hope to have of all points at the end, 0 to 1."""
    if max(state.points) >= goal:
        return share(state)[seat]
    if state.tasks and not (state.tasks[0].card == REDEPLOY and state.tasks[0].step):
        after = [
            worth(act(state, move, goal, quirks), seat, goal, quirks) for move in options(state)
        ]
        return max(after) if decider(state, quirks) == seat else min(after)
    own, other = state.points[seat], state.points[1 - seat]
    chance = won(state, seat, quirks)
    return chance * hope(own + WON, other, goal) + (1 - chance) * hope(own, other + WON, goal)


@cache
def hope(own: int, other: int, goal: int) -> float:
    """The share to expect with so many points if every battle to come is even and is fought out."""
    if max(own, other) >= goal:
        return own / (own + other)
    return (hope(own + WON, other, goal) + hope(own, other + WON, goal)) / 2


def won(state: State, seat: int, quirks: bool) -> float:
    """The chance that the seat wins the battle; a battle that has just been dealt is even."""
    if state.columns == BARE and not state.lost:
        return 0.5
    sums = totals(state, quirks)
    spread = sqrt(SPREAD * sum(map(len, state.hands)) + SETTLED)
    first, second, third = (
        _normal(_lead(state, seat, sums[seat][at] - sums[1 - seat][at], at) / spread)
        for at in range(3)
    )
    two = first * second + first * third + second * third
    return two - 2 * first * second * third


def _lead(state: State, seat: int, lead: int, at: int) -> float:
    own, other = state.hands[seat], state.hands[1 - seat]
    tie = 0.5 if state.first == seat else -0.5
    return lead + tie + _held(own, at) - _held(other, at) + TEMPO * (len(own) - len(other))


def _held(hand: tuple[int, ...], at: int) -> float:
    return HELD * sum(strength(card) for card in hand if theatre(card) == at)


def _normal(value: float) -> float:
    return (1 + erf(value / sqrt(2))) / 2
