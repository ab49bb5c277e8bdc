"""Draws Hive's table: hexes with the pieces' names, white light and black dark, and both hands."""

from __future__ import annotations

import math
from pathlib import Path

from markupsafe import Markup

from gauntlet.common.markup import join_markup, tag
from gauntlet.games.base import Observation
from gauntlet.games.drawing import picture, seat
from gauntlet.games.hive import Hive, State, words
from gauntlet.games.hive.rules import OWN

STYLE = Path(__file__).with_suffix(".css")

SIDE = 26
"""A hex's side, in SVG units."""
HALF = SIDE * math.sqrt(3) / 2
"""Half the distance between neighbouring hexes in a row."""
KINDS = ("d-hex d-light", "d-hex d-dark")


def draw_state(game: Hive, state: State) -> Markup:
    return _table(game, state, None)


def draw_view(game: Hive, observation: Observation) -> Markup:
    """Nothing is hidden."""
    return _table(game, observation.view, observation.seat)


def _table(game: Hive, state: State, you: int | None) -> Markup:
    moving = game.to_move(state)
    hands = (
        seat(one, you, words.in_hand(state.array, one), note=words.SIDES[one], turn=one in moving)
        for one in range(2)
    )
    return picture("the table of Hive", _hive(state), *hands)


def _hive(state: State) -> Markup:
    pieces = words.pieces_by_cell(state.array)
    lying = words.lying(pieces)
    if not lying:
        return tag("p", "nothing lies on the table yet")
    left, top = (min(place[axis] for place in lying.values()) for axis in range(2))
    wide, high = (max(place[axis] for place in lying.values()) for axis in range(2))
    hexes = (
        _hex((column - left + 1) * HALF, ((row - top) * 1.5 + 1) * SIDE, pieces.get(cell))
        for cell, (column, row) in lying.items()
    )
    size = f"{(wide - left + 2) * HALF:.1f} {((high - top) * 1.5 + 2) * SIDE:.1f}"
    title = tag("title", words.drawing(state.array))
    return tag("svg", title, *hexes, viewBox=f"0 0 {size}", role="img", class_="d-hive")


def _hex(x: float, y: float, piece: int | None) -> Markup:
    turns = ((HALF, SIDE / 2), (0, SIDE), (-HALF, SIDE / 2))
    corners = (*turns, *((-right, -down) for right, down in turns))
    points = " ".join(f"{x + right:.1f},{y + down:.1f}" for right, down in corners)
    kind = "d-hex" if piece is None else KINDS[piece // OWN]
    if piece is None:
        return tag("polygon", points=points, class_=kind)
    queen = " d-queen" * (piece % OWN == 0)
    name = tag("text", words.NAMES[piece], x=f"{x:.1f}", y=f"{y + 5:.1f}", text_anchor="middle")
    return tag("g", join_markup(tag("polygon", points=points), name), class_=kind + queen)
