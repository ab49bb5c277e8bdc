"""Draws Hive's table: hexes with the pieces' names, white light and black dark, and both hands."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from gauntlet.common.markup import join_markup, tag
from gauntlet.games.base import Observation
from gauntlet.games.drawing import by_place, marks, picture, place, seat, sign
from gauntlet.games.hive import Hive, State, words
from gauntlet.games.hive.hexes import CELLS
from gauntlet.games.hive.rules import HAND, OWN, PASS

STYLE = Path(__file__).with_suffix(".css")

SIDE = 26
"""A hex's side, in SVG units."""
HALF = SIDE * math.sqrt(3) / 2
"""Half the distance between neighbouring hexes in a row."""
KINDS = ("d-hex d-light", "d-hex d-dark")
Moves = Mapping[int, Sequence[int]]


def draw_state(game: Hive, state: State) -> Markup:
    return _table(game, state, None, {}, {})


def draw_view(game: Hive, observation: Observation) -> Markup:
    """Nothing is hidden."""
    state: State = observation.view
    moves = game.legal(state, observation.seat)
    pieces, cells = by_place(m // CELLS for m in moves), by_place(m % CELLS for m in moves)
    if moves == (PASS,):
        pieces, cells = {}, {}
    return _table(game, state, observation.seat, pieces, cells)


def _table(game: Hive, state: State, you: int | None, pieces: Moves, cells: Moves) -> Markup:
    """pieces, cells: the viewer's moves, by the piece and by the cell where it goes."""
    moving = game.to_move(state)
    hands = (
        seat(one, you, _hand(state, one, pieces), note=words.SIDES[one], turn=one in moving)
        for one in range(2)
    )
    return picture("the table of Hive", _hive(state, pieces, cells), *hands)


def _hand(state: State, side: int, moves: Moves) -> Markup:
    held = [p for p in range(OWN * side, OWN * side + OWN) if state.array.item(p) == HAND]
    kind = f"d-piece d-{('light', 'dark')[side]}-piece"
    signs = (
        sign(words.NAMES[piece], words.NAMES[piece], kind=kind, **marks(moves.get(piece, ())))
        for piece in held
    )
    return tag("div", *signs, class_="d-hand") if held else tag("p", "no piece in hand")


def _hive(state: State, moves: Moves, targets: Moves) -> Markup:
    pieces = words.pieces_by_cell(state.array)
    lying = words.lying(pieces)
    if not lying:
        return tag("p", "nothing lies on the table yet")
    left, top = (min(place[axis] for place in lying.values()) for axis in range(2))
    wide, high = (max(place[axis] for place in lying.values()) for axis in range(2))
    hexes = (
        _hex((column - left + 1) * HALF, ((row - top) * 1.5 + 1) * SIDE, pieces.get(cell), own)
        for cell, (column, row) in lying.items()
        for own in [marks(moves.get(pieces.get(cell, -1), ()), targets.get(cell, ()))]
    )
    size = f"{(wide - left + 2) * HALF:.1f} {((high - top) * 1.5 + 2) * SIDE:.1f}"
    title = tag("title", words.drawing(state.array))
    return tag("svg", title, *hexes, viewBox=f"0 0 {size}", role="img", class_="d-hive")


def _hex(x: float, y: float, piece: int | None, data: Mapping[str, str]) -> Markup:
    """data: the marks of its moves."""
    turns = ((HALF, SIDE / 2), (0, SIDE), (-HALF, SIDE / 2))
    corners = (*turns, *((-right, -down) for right, down in turns))
    points = " ".join(f"{x + right:.1f},{y + down:.1f}" for right, down in corners)
    kind = "d-hex" if piece is None else KINDS[piece // OWN]
    if piece is None:
        return join_markup(
            tag("polygon", points=points, class_=kind), place("polygon", "", data, points=points)
        )
    queen = " d-queen" * (piece % OWN == 0)
    name = tag("text", words.NAMES[piece], x=f"{x:.1f}", y=f"{y + 5:.1f}", text_anchor="middle")
    shown = tag("g", tag("polygon", points=points), name, class_=kind + queen)
    return join_markup(shown, place("polygon", words.NAMES[piece], data, points=points))
