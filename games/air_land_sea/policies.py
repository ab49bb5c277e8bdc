"""Scripted players of Air, Land & Sea, by what the seat to move sees."""

from __future__ import annotations

from dataclasses import replace

from games.air_land_sea import actions
from games.air_land_sea.board import destroyer, holders, totals
from games.air_land_sea.cards import DOWN, strength
from games.air_land_sea.state import HIDDEN, Placed, State
from games.playouts import check_known

TOLD = {
    "random": "takes any option",
    "greedy": "takes the option that leaves it most theatres, then the greatest lead in all "
    "strengths, by the strengths on the board alone; it never withdraws",
}
"""What each does, by name."""


def chances(policy: str, seen: State, seat: int, quirks: bool) -> tuple[float, ...]:
    """The chance of each option, in their order. Raises ValueError for an unknown policy."""
    check_known("air, land & sea", policy, TOLD)
    options = actions.options(seen)
    best = list(options)
    if policy == "greedy":
        values = [_value(_after(seen, seat, move), seat, quirks) for move in options]
        best = [move for move, value in zip(options, values, strict=True) if value == max(values)]
    return tuple((move in best) / len(best) for move in options)


def _value(state: State | None, seat: int, quirks: bool) -> tuple[int, int]:
    if state is None:
        return -1, 0
    sums = totals(state, quirks)
    return holders(state, quirks).count(seat), sum(sums[seat]) - sum(sums[1 - seat])


def _after(state: State, seat: int, move: int) -> State | None:
    """The board after an option, without what it calls up; None for what is not to be done."""
    if move == actions.WITHDRAW:
        return None
    if move < actions.WITHDRAW or move >= actions.LAY:
        return _laid(state, seat, move)
    if actions.FLIP <= move < actions.MOVE:
        owner, at = divmod(move - actions.FLIP, 3)
        top = state.columns[owner][at][-1]
        if top.card == HIDDEN:
            return None
        worth = DOWN if top.up else strength(top.card)
        flipped = Placed(top.card, not top.up, True, worth)
        return _put(state, owner, at, (*state.columns[owner][at][:-1], flipped))
    if actions.MOVE <= move < actions.RETURN:
        card, to = divmod(move - actions.MOVE, 3)
        moved = [p for column in state.columns[seat] for p in column if p.card == card]
        left = _without(state, seat, card)
        return _put(left, seat, to, (*left.columns[seat][to], *moved))
    if actions.RETURN <= move < actions.NOTHING:
        return _without(state, seat, move - actions.RETURN)
    return state


def _laid(state: State, seat: int, move: int) -> State:
    up = move < actions.IMPROVISE
    if move >= actions.LAY:
        card, at = HIDDEN, move - actions.LAY
    else:
        card, at = divmod(move % actions.IMPROVISE, 3)
    if destroyer(state, at, up) is not None:
        return state
    placed = Placed(card, up, up, strength(card) if up else DOWN)
    return _put(state, seat, at, (*state.columns[seat][at], placed))


def _without(state: State, seat: int, card: int) -> State:
    for at, column in enumerate(state.columns[seat]):
        state = _put(state, seat, at, tuple(p for p in column if p.card != card))
    return state


def _put(state: State, seat: int, at: int, column: tuple[Placed, ...]) -> State:
    columns = [list(side) for side in state.columns]
    columns[seat][at] = column
    first, second = map(tuple, columns)
    return replace(state, columns=(first, second))
