"""Draws Sea Battle's sea: rocks, ships pointing in their heading, the ship that has to choose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from markupsafe import Markup

from gauntlet.common.markup import join_markup, tag
from gauntlet.games.base import Observation
from gauntlet.games.drawing import by_place, marks, picture, place
from gauntlet.games.sea_battle import SeaBattle, State, View
from gauntlet.games.sea_battle.game import HEADINGS, NAMES
from gauntlet.games.sea_battle.players import course
from gauntlet.games.sea_battle.rules import (
    ACTIONS,
    AT,
    DAMAGE,
    HEADING,
    ROCKS,
    SHIPS,
    SIDE,
    SIZE,
    STEPS,
    SUNK,
)

STYLE = Path(__file__).with_suffix(".css")

CELL = 16
"""A square's side, in SVG units."""


def draw_state(game: SeaBattle, state: State) -> Markup:
    return _sea(state.cells, None)


def draw_view(game: SeaBattle, observation: Observation) -> Markup:
    """Everything is visible except what other ships have chosen, which is not drawn."""
    view: View = observation.view
    return _sea(view.cells, view.ship)


def _sea(cells: Sequence[int], own_ship: int | None) -> Markup:
    """own_ship: the ship that has to choose, None for a spectator."""
    side = SIDE * CELL
    inner = side - 2 * CELL
    water = tag("rect", x=CELL, y=CELL, width=inner, height=inner, class_="d-cell")
    border = tag("rect", x=0, y=0, width=side, height=side, class_="d-rock")
    rocks = [_rock(square) for square in cells[ROCKS:SIZE]]
    afloat = [ship for ship in range(SHIPS) if cells[DAMAGE + ship] < SUNK]
    drawing = tag(
        "svg",
        tag("title", "; ".join(_in_words(cells, ship) for ship in range(SHIPS))),
        border,
        water,
        *rocks,
        *(_ship(cells, ship, ship == own_ship) for ship in afloat),
        *([] if own_ship is None else _choices(cells, own_ship)),
        viewBox=f"0 0 {side} {side}",
        role="img",
        class_="d-board d-sea",
    )
    lines = [
        tag("p", f"{_in_words(cells, ship)}{', to choose now' * (ship == own_ship)}")
        for ship in range(SHIPS)
    ]
    return picture("the sea, the north on top", drawing, *lines)


def _corner(square: int) -> tuple[int, int]:
    """Return the upper left corner of a square."""
    return square % SIDE * CELL, (SIDE - 1 - square // SIDE) * CELL


def _rock(square: int) -> Markup:
    left, top = _corner(square)
    return tag("rect", x=left, y=top, width=CELL, height=CELL, class_="d-rock")


def _choices(cells: Sequence[int], ship: int) -> Iterator[Markup]:
    """Draw the squares of the moves: where the ship would end, then where its shot begins."""
    ends = [course(np.array(cells), ship, action // 2)[:2] for action in range(ACTIONS)]
    aims = [
        end + STEPS[heading + (3, 1)[action % 2] & 3] for action, (end, heading) in enumerate(ends)
    ]
    moves, then = by_place(int(end) for end, _ in ends), by_place(map(int, aims))
    for square in sorted({*moves, *then}):
        left, top = _corner(square)
        own = marks(moves.get(square, ()), then.get(square, ()))
        frame = {"x": left, "y": top, "width": CELL, "height": CELL}
        yield place("rect", f"{square % SIDE},{square // SIDE}", own, **frame)


def _ship(cells: Sequence[int], ship: int, is_own: bool) -> Markup:
    """Draw a hull whose bow points in the ship's heading, with its name."""
    left, top = _corner(cells[AT + ship])
    x, y, half = left + CELL / 2, top + CELL / 2, CELL / 2
    hull = tag(
        "path",
        d=f"M{x} {y - half - 3}l{half} {half}v{half + 1}h{-CELL}v{-half - 1}z",
        transform=f"rotate({90 * cells[HEADING + ship]} {x} {y})",
        class_=f"d-pawn d-side-{ship // 3}{' d-own' * is_own}",
    )
    return join_markup(
        hull, tag("text", NAMES[ship], x=x, y=y + 4, text_anchor="middle", class_="d-pawn-name")
    )


def _in_words(cells: Sequence[int], ship: int) -> str:
    if cells[DAMAGE + ship] >= SUNK:
        return f"{NAMES[ship]} sunk"
    y, x = divmod(cells[AT + ship], SIDE)
    heading = HEADINGS[cells[HEADING + ship]]
    return f"{NAMES[ship]} at {x},{y}, heading {heading}, damage {cells[DAMAGE + ship]} of {SUNK}"
