"""Draws tic-tac-toe's grid: crosses, rings, the last mark and the winning line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from gauntlet.common.markup import join_markup, tag
from gauntlet.games.base import Observation
from gauntlet.games.drawing import by_place, marks, picture, place
from gauntlet.games.tic_tac_toe import State, TicTacToe

STYLE = Path(__file__).with_suffix(".css")

CELL, EDGE = 60, 22
"""In SVG units: a cell's side, and the margin for the row and column labels."""
NAMES = ("cross", "ring")


def draw_state(game: TicTacToe, state: State) -> Markup:
    return _grid(game, state, {})


def draw_view(game: TicTacToe, observation: Observation) -> Markup:
    """Nothing is hidden. A free cell shows the number of the option that marks it."""
    state: State = observation.view
    return _grid(game, state, by_place(game.legal(state, observation.seat)))


def _grid(game: TicTacToe, state: State, moves: Mapping[int, Sequence[int]]) -> Markup:
    size, side = game.size, EDGE + game.size * CELL
    names = [
        join_markup(_word(f"C{at + 1}", _middle(at), 15), _word(f"R{at + 1}", 9, _middle(at) + 5))
        for at in range(size)
    ]
    last = state.moves[-1] if state.moves else None
    cells = [
        _cell(cell, size, _owner(state, cell), cell == last, moves.get(cell, ()))
        for cell in range(size**2)
    ]
    drawing = tag(
        "svg",
        tag("title", _in_words(game, state)),
        *names,
        *cells,
        _line(game, state),
        viewBox=f"0 0 {side} {side}",
        role="img",
        class_="d-board",
    )
    return picture(f"tic-tac-toe on {size} by {size} cells", drawing)


def _cell(cell: int, size: int, owner: int | None, last: bool, moves: Sequence[int]) -> Markup:
    row, column = divmod(cell, size)
    left, top = EDGE + column * CELL, EDGE + row * CELL
    x, y, radius = _middle(column), _middle(row), CELL * 0.28
    square = tag(
        "rect",
        x=left + 1,
        y=top + 1,
        width=CELL - 2,
        height=CELL - 2,
        class_="d-cell d-last" if last else "d-cell",
    )
    if owner is None:
        frame = {"x": left + 3, "y": top + 3, "width": CELL - 6, "height": CELL - 6}
        numbers = (_word(str(at + 1), x, y + 5) for at in moves)
        return join_markup(square, *numbers, place("rect", "", marks(moves), **frame))
    if owner:
        mark = tag("circle", cx=x, cy=y, r=radius, class_="d-ring")
    else:
        strokes = f"M{x - radius} {y - radius}l{2 * radius} {2 * radius}m0 {-2 * radius}"
        mark = tag("path", d=f"{strokes}l{-2 * radius} {2 * radius}", class_="d-cross")
    return join_markup(square, mark)


def _line(game: TicTacToe, state: State) -> Markup:
    """Draw a stroke through the winning line, which contains the last mark."""
    for step in ((0, 1), (1, 0), (1, 1), (1, -1)):
        ends = [
            _line_end(game, state, (down, right)) for down, right in (step, (-step[0], -step[1]))
        ]
        (y1, x1), (y2, x2) = ends
        if state.moves and max(abs(y1 - y2), abs(x1 - x2)) + 1 >= game.win_length:
            drawn = {"x1": _middle(x1), "y1": _middle(y1), "x2": _middle(x2), "y2": _middle(y2)}
            return tag("line", class_="d-won", **drawn)
    return Markup()


def _line_end(game: TicTacToe, state: State, step: tuple[int, int]) -> tuple[int, int]:
    """Return the row and column of the last cell in a direction from the last mark with the same
    mark."""
    if not state.moves:
        return 0, 0
    row, column = divmod(state.moves[-1], game.size)
    marks = state.marks[(len(state.moves) - 1) % 2]
    while True:
        y, x = row + step[0], column + step[1]
        within = 0 <= y < game.size and 0 <= x < game.size
        if not within or not marks >> (y * game.size + x) & 1:
            return row, column
        row, column = y, x


def _owner(state: State, cell: int) -> int | None:
    return next((seat for seat in range(2) if state.marks[seat] >> cell & 1), None)


def _in_words(game: TicTacToe, state: State) -> str:
    def named(cells: Sequence[int]) -> str:
        return ", ".join(f"C{c % game.size + 1}R{c // game.size + 1}" for c in cells) or "nowhere"

    return "; ".join(
        f"player {seat}, {name}: {named(state.moves[seat::2])}" for seat, name in enumerate(NAMES)
    )


def _word(word: str, x: float, y: float) -> Markup:
    return tag("text", word, x=x, y=y, text_anchor="middle", class_="d-word")


def _middle(at: int) -> float:
    return EDGE + (at + 0.5) * CELL
