"""Strengths as the published code of GameBench keeps them (games/air_land_sea/game.py there).

Every card has a strength of its own, set when it is played or flipped and brought up to date before
each choice, but not when a battle is judged. Escalation and Cover Fire raise nothing while they lie
in the leftmost theatre, and what they raised falls back only once they are gone.
"""

from __future__ import annotations

from dataclasses import replace

from games.air_land_sea.board import face_up
from games.air_land_sea.cards import COVER_FIRE, DOWN, ESCALATION, RAISED, strength
from games.air_land_sea.state import Column, State


def reckoned(state: State) -> State:
    """The state with its strengths brought up to date."""
    first, second = (tuple(_column(state, seat, at) for at in range(3)) for seat in range(2))
    return replace(state, columns=(first, second))


def _column(state: State, seat: int, at: int) -> Column:
    column, leftmost = state.columns[seat][at], state.order[0]
    own, other = (face_up(state, side, ESCALATION) for side in (seat, 1 - seat))
    found = []
    for placed in column:
        worth = placed.worth
        if not placed.up and own is None and other is None:
            worth = DOWN
        elif not placed.up and own is not None and own != leftmost:
            worth = RAISED
        found.append(placed._replace(worth=worth))
    if all(face_up(state, side, COVER_FIRE) is None for side in range(2)):
        return tuple(p._replace(worth=strength(p.card)) if p.up else p for p in found)
    if face_up(state, seat, COVER_FIRE) == at != leftmost:
        covers = next(n for n, p in enumerate(column) if p.up and p.card == COVER_FIRE)
        found[:covers] = [p._replace(worth=RAISED) for p in found[:covers]]
    return tuple(found)
