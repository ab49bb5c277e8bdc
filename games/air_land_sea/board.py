"""How strong each side of each theatre is, who holds it, and where cards may go."""

from __future__ import annotations

from games.air_land_sea.cards import (
    AERODROME,
    BLOCKADE,
    CONTAINMENT,
    COVER_FIRE,
    DOWN,
    ESCALATION,
    RAISED,
    SUPPORT,
    strength,
    theatre,
)
from games.air_land_sea.state import Placed, State

Totals = tuple[tuple[int, ...], tuple[int, ...]]


def adjacent(order: tuple[int, int, int], at: int) -> tuple[int, ...]:
    """The theatres next to `at`, from left to right."""
    return (order[1],) if at != order[1] else (order[0], order[2])


def face_up(state: State, seat: int, card: int) -> int | None:
    """The theatre in which the card lies face up on the seat's side."""
    for at, column in enumerate(state.columns[seat]):
        for placed in column:
            if placed.up and placed.card == card:
                return at
    return None


def strengths(state: State, seat: int, at: int) -> tuple[int, ...]:
    """The strength of each card of a column, in their order, by the rules."""
    down = RAISED if face_up(state, seat, ESCALATION) is not None else DOWN
    found = [strength(p.card) if p.up else down for p in state.columns[seat][at]]
    for place, placed in enumerate(state.columns[seat][at]):
        if placed.up and placed.card == COVER_FIRE:
            found[:place] = [RAISED] * place
    return tuple(found)


def totals(state: State, quirks: bool) -> Totals:
    """The strength of each seat in each theatre."""
    return _side(state, 0, quirks), _side(state, 1, quirks)


def _side(state: State, seat: int, quirks: bool) -> tuple[int, ...]:
    support = face_up(state, seat, SUPPORT)
    helped = () if support is None else adjacent(state.order, support)
    return tuple(
        sum((p.worth for p in column) if quirks else strengths(state, seat, at))
        + 3 * (at in helped)
        for at, column in enumerate(state.columns[seat])
    )


def holders(state: State, quirks: bool) -> tuple[int, ...]:
    """The seat that holds each theatre; the first player where it is a tie."""
    own, other = totals(state, quirks)
    return tuple(
        state.first if mine == theirs else int(theirs > mine)
        for mine, theirs in zip(own, other, strict=True)
    )


def deployable(state: State, seat: int, card: int) -> tuple[int, ...]:
    """The theatres to which the seat may play the card face up."""
    if state.drop[seat]:
        return (0, 1, 2)
    if strength(card) <= 3 and face_up(state, seat, AERODROME) is not None:
        return (0, 1, 2)
    return (theatre(card),)


def destroyer(state: State, at: int, up: bool) -> int | None:
    """The card that destroys one played to a theatre, face up or down; None where none does."""
    if not up and any(face_up(state, seat, CONTAINMENT) is not None for seat in (0, 1)):
        return CONTAINMENT
    for seat in (0, 1):
        blockade = face_up(state, seat, BLOCKADE)
        if blockade is not None and at in adjacent(state.order, blockade):
            full = sum(len(state.columns[side][at]) for side in (0, 1)) >= 3
            return BLOCKADE if full else None
    return None


def uncovered(state: State, seat: int, at: int) -> Placed | None:
    """The seat's card on top in a theatre."""
    column = state.columns[seat][at]
    return column[-1] if column else None
