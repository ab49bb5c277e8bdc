"""Draws Santorini's board from above: towers as squares within squares, domes, pawns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from gauntlet.common.markup import join_markup, tag
from gauntlet.games.base import Observation
from gauntlet.games.drawing import by_place, marks, picture, place
from gauntlet.games.santorini import Santorini, State
from gauntlet.games.santorini.rules import BOTH, COMPLETE, PAWNS, SIDE, SQUARES, TURN, WINNER
from gauntlet.games.santorini.words import NAMES, square

STYLE = Path(__file__).with_suffix(".css")

CELL, EDGE = 64, 22
"""In SVG units: a square's side, and the margin for the row and column labels."""
Moves = Mapping[int, Sequence[int]]
RIM, SHRINK = 6, 6
"""The gap between a tower and its square, and how much each level shrinks on every side."""


def draw_state(game: Santorini, state: State) -> Markup:
    return _board(state, {}, {})


def draw_view(game: Santorini, observation: Observation) -> Markup:
    """Nothing is hidden. A legal square shows the number of its option, unless a build follows."""
    state: State = observation.view
    actions = game.legal(state, observation.seat)
    if actions[0] < BOTH:
        return _board(state, by_place(actions), {})
    steps, builds = zip(*(divmod(action - BOTH, SQUARES) for action in actions), strict=True)
    return _board(state, by_place(steps), by_place(builds))


def _board(state: State, moves: Moves, builds: Moves) -> Markup:
    """moves: by the square stepped to, or the only one. builds: by the square built on, if the same
    move steps and builds."""
    side = EDGE + SIDE * CELL
    pawns = {at: pawn for pawn, at in enumerate(state.cells[PAWNS : PAWNS + 4]) if at >= 0}
    names = [
        join_markup(
            _word("abcde"[at], EDGE + (at + 0.5) * CELL, 15), _word(str(SIDE - at), 9, _down(at))
        )
        for at in range(SIDE)
    ]
    over = state.cells[WINNER] >= 0
    squares = [
        join_markup(
            *_square(at, state.cells[at], pawns.get(at), None if over else state.cells[TURN]),
            *(_number(at, number) for number in moves.get(at, ()) if not builds),
            _place(at, marks(moves.get(at, ()), builds.get(at, ()))),
        )
        for at in range(SQUARES)
    ]
    drawing = tag(
        "svg",
        tag("title", _in_words(state)),
        *names,
        *squares,
        viewBox=f"0 0 {side} {side}",
        role="img",
        class_="d-board",
    )
    return picture("Santorini, five by five squares", drawing)


def _square(at: int, level: int, pawn: int | None, turn: int | None) -> list[Markup]:
    """Draw a square with its tower, its level and the pawn on it. turn: the pawn to act."""
    left, top = _corner(at)
    x, y = left + CELL / 2, top + CELL / 2
    acts = pawn is not None and pawn == turn
    parts = [_storey(left, top, 0, "d-cell d-last" if acts else "d-cell")]
    parts += [_storey(left, top, storey, "d-storey") for storey in range(1, min(level, 3) + 1)]
    if level == COMPLETE:
        parts.append(tag("circle", cx=x, cy=y, r=CELL * 0.17, class_="d-dome"))
    if pawn is not None:
        parts.append(tag("circle", cx=x, cy=y, r=CELL * 0.23, class_=f"d-pawn d-side-{pawn % 2}"))
        parts.append(_word(NAMES[pawn], x, y + 5, "d-pawn-name"))
    if level:
        parts.append(_word(str(level), left + CELL - 9, top + CELL - 6))
    return parts


def _number(at: int, move: int) -> Markup:
    left, top = _corner(at)
    return _word(str(move + 1), left + 12, top + 17, "d-word d-option")


def _place(at: int, data: Mapping[str, str]) -> Markup:
    left, top = _corner(at)
    frame = {"x": left + 3, "y": top + 3, "width": CELL - 6, "height": CELL - 6}
    return place("rect", square(at), data, **frame)


def _corner(at: int) -> tuple[int, int]:
    return EDGE + at % SIDE * CELL, EDGE + (SIDE - 1 - at // SIDE) * CELL


def _storey(left: int, top: int, storey: int, kind: str) -> Markup:
    gap = RIM + SHRINK * storey if storey else 1
    size = CELL - 2 * gap
    return tag("rect", x=left + gap, y=top + gap, width=size, height=size, class_=kind)


def _in_words(state: State) -> str:
    cells = state.cells
    towers = [f"{square(at)} level {cells[at]}" for at in range(SQUARES) if cells[at]]
    pawns = [
        f"pawn {NAMES[pawn]} of player {pawn % 2} on {square(at)}"
        for pawn, at in enumerate(cells[PAWNS : PAWNS + 4])
        if at >= 0
    ]
    return "; ".join((*pawns, *towers)) or "an empty board"


def _down(row: int) -> float:
    return EDGE + (row + 0.5) * CELL + 5


def _word(word: str, x: float, y: float, kind: str = "d-word") -> Markup:
    return tag("text", word, x=x, y=y, text_anchor="middle", class_=kind)
