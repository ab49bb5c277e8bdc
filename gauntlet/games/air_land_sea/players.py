"""Air, Land & Sea's scripted players and state evaluation.

A seat's value combines its chance to win the battle with what that win is worth in the match. The
chance is computed theatre by theatre: a lead is weighed against what may still come, modelled as a
normal distribution; cards in hand count a fraction of their strength in their own theatre.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import erf, sqrt

from gauntlet.games.air_land_sea.rules import BARE, WON, act
from gauntlet.games.air_land_sea.state import (
    DOWN,
    FLIP,
    HIDDEN,
    IMPROVISE,
    LAY,
    MOVE,
    NOTHING,
    REDEPLOY,
    RETURN,
    WITHDRAW,
    PlacedCard,
    State,
    decider,
    destroyer,
    holders,
    options,
    strength,
    theatre,
    totals,
)
from gauntlet.games.playouts import check_known_policy

TOLD = {
    "random": "takes any option",
    "greedy": "takes the option that leaves it most theatres, then the greatest lead in all "
    "strengths, by the strengths on the board alone; it never withdraws",
}
"""What each policy does, by name."""


def chances(policy: str, state: State, seat: int, paper_bugs: bool) -> tuple[float, ...]:
    """Return the probability of each option, in order. Raises ValueError for an unknown policy."""
    check_known_policy("air, land & sea", policy, TOLD)
    legal = options(state)
    best = list(legal)
    if policy == "greedy":
        values = [_value(_after(state, seat, move), seat, paper_bugs) for move in legal]
        best = [move for move, value in zip(legal, values, strict=True) if value == max(values)]
    return tuple((move in best) / len(best) for move in legal)


def _value(state: State | None, seat: int, paper_bugs: bool) -> tuple[int, int]:
    if state is None:
        return -1, 0
    sums = totals(state, paper_bugs)
    return holders(state, paper_bugs).count(seat), sum(sums[seat]) - sum(sums[1 - seat])


def _after(state: State, seat: int, move: int) -> State | None:
    """Return the board after an option, before any ability it triggers; None for options that
    greedy avoids."""
    if move == WITHDRAW:
        return None
    if move < WITHDRAW or move >= LAY:
        return _lay(state, seat, move)
    if FLIP <= move < MOVE:
        owner, at = divmod(move - FLIP, 3)
        top = state.columns[owner][at][-1]
        if top.card == HIDDEN:
            return None
        worth = DOWN if top.up else strength(top.card)
        flipped = PlacedCard(top.card, not top.up, True, worth)
        return _put(state, owner, at, (*state.columns[owner][at][:-1], flipped))
    if MOVE <= move < RETURN:
        card, theatre = divmod(move - MOVE, 3)
        moved = [p for column in state.columns[seat] for p in column if p.card == card]
        left = _remove(state, seat, card)
        return _put(left, seat, theatre, (*left.columns[seat][theatre], *moved))
    if RETURN <= move < NOTHING:
        return _remove(state, seat, move - RETURN)
    return state


def _lay(state: State, seat: int, move: int) -> State:
    up = move < IMPROVISE
    if move >= LAY:
        card, at = HIDDEN, move - LAY
    else:
        card, at = divmod(move % IMPROVISE, 3)
    if destroyer(state, at, up) is not None:
        return state
    placed = PlacedCard(card, up, up, strength(card) if up else DOWN)
    return _put(state, seat, at, (*state.columns[seat][at], placed))


def _remove(state: State, seat: int, card: int) -> State:
    for at, column in enumerate(state.columns[seat]):
        state = _put(state, seat, at, tuple(p for p in column if p.card != card))
    return state


def _put(state: State, seat: int, at: int, column: tuple[PlacedCard, ...]) -> State:
    columns = [list(side) for side in state.columns]
    columns[seat][at] = column
    first, second = map(tuple, columns)
    return replace(state, columns=(first, second))


HELD = 0.3
"""Fraction of its strength that a card in hand counts in its theatre."""
TEMPO = 1.0
"""Lead in every theatre per extra card in hand."""
SPREAD, SETTLED = 1.6, 0.2
"""Variance of a lead: per card in hand, and with none."""


def share(state: State) -> tuple[float, float]:
    """Return each seat's share of the points; half each while there are none."""
    both = sum(state.points)
    own = state.points[0] / both if both else 0.5
    return own, 1 - own


def worth(state: State, seat: int, goal: int, paper_bugs: bool) -> float:
    """Return the share of all points that the seat can expect at the end, 0 to 1."""
    if max(state.points) >= goal:
        return share(state)[seat]
    if state.tasks and not (state.tasks[0].card == REDEPLOY and state.tasks[0].step):
        after = [
            worth(act(state, move, goal, paper_bugs), seat, goal, paper_bugs)
            for move in options(state)
        ]
        return max(after) if decider(state, paper_bugs) == seat else min(after)
    mine, other = state.points[seat], state.points[1 - seat]
    chance = win_probability(state, seat, paper_bugs)
    return chance * expected_share(mine + WON, other, goal) + (1 - chance) * expected_share(
        mine, other + WON, goal
    )


@cache
def expected_share(mine: int, other: int, goal: int) -> float:
    """Return the expected final share from these points if every battle to come is even and fought
    out."""
    if max(mine, other) >= goal:
        return mine / (mine + other)
    return (expected_share(mine + WON, other, goal) + expected_share(mine, other + WON, goal)) / 2


def win_probability(state: State, seat: int, paper_bugs: bool) -> float:
    """Return the probability that the seat wins the battle; a battle just dealt is even."""
    if state.columns == BARE and not state.lost:
        return 0.5
    sums = totals(state, paper_bugs)
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
    return (
        lead + tie + _hand_value(own, at) - _hand_value(other, at) + TEMPO * (len(own) - len(other))
    )


def _hand_value(hand: tuple[int, ...], at: int) -> float:
    return HELD * sum(strength(card) for card in hand if theatre(card) == at)


def _normal(value: float) -> float:
    return (1 + erf(value / sqrt(2))) / 2
