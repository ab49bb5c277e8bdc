"""Santorini as text: squares, pawns, the board, rules, moves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from gauntlet.games.base import Action, Fact
from gauntlet.games.santorini.rules import (
    BOTH,
    BUILD,
    MOVE,
    PAWNS,
    PLACE,
    SIDE,
    SQUARES,
    STAGE,
    TOP,
    TURN,
    reachable_squares,
    wins,
)

NAMES = "AXBY"
"""The pawns in the order in which they act; A and B belong to seat 0, X and Y to seat 1."""

SUMMARY = (
    "Two players move pawns over a board of five by five squares and build towers on it. You win "
    "when a pawn of yours steps up to level 3, or when the opponent's pawn whose turn it is cannot "
    "move."
)

HEADINGS = {
    "Board": "Squares are called a1 to e5, the letter for the column and the number for the row. "
    "Each has a level from 0, the ground, to 4. Squares touch along rows, columns and diagonals.",
    "Pawns": "Player 0 has pawns A and B, player 1 has X and Y. The pawns act in the order A, X, "
    "B, Y, again and again: you do not choose which pawn acts. First each is placed, in that "
    "order, on any square without a pawn.",
    "Move": "A turn begins with a step of the pawn to a square that touches its own. There must be "
    "no pawn on it, and it may be at most one level higher; any number of levels down is allowed. "
    "No pawn can enter level 4.",
    "Build": "Then the same pawn builds: a square that touches its new one, without a pawn and "
    "below level 4, becomes one level higher. A square of level 4 is complete and stays as it is.",
    "Winning": "A pawn that steps on level 3 wins at once, without building. If the pawn whose "
    "turn it is cannot step anywhere, its player loses, even if the other pawn could move. There "
    "are no draws.",
}

AT_ONCE = "A step and the build after it are chosen together, as one option."
"""For the published code, appended to the heading Build."""

ADVICE = (
    "Step up to level 3 if you can.",
    "Before that, see where the opponent's next pawn can win: build that square up to level 4, and "
    "raise no square to level 3 that it can step to from level 2.",
    "Climb when you can, stay in the middle, and keep squares free that your pawns can step to.",
)


def square(number: int) -> str:
    """Return a square's name, as c3."""
    return f"{'abcde'[number % SIDE]}{number // SIDE + 1}"


def squares(numbers: int, cells: Sequence[int]) -> str:
    """Return a set of squares with their levels, "c3 (1), d4 (0)"."""
    found = (at for at in range(SQUARES) if numbers >> at & 1)
    return ", ".join(f"{square(at)} ({cells[at]})" for at in found) or "nowhere"


def option(cells: Sequence[int], action: Action) -> str:
    if action >= BOTH:
        to, built = divmod(action - BOTH, SQUARES)
        return f"{_step(cells, to)}, build {_build_text(cells, built)}"
    if cells[STAGE] == BUILD:
        return _build_text(cells, action)
    return square(action) if cells[STAGE] == PLACE else _step(cells, action)


def _step(cells: Sequence[int], to: int) -> str:
    return f"{square(to)} (level {cells[to]})"


def _build_text(cells: Sequence[int], at: int) -> str:
    return f"{square(at)} up to level {cells[at] + 1}"


def clauses(cells: Sequence[int], action: Action) -> Iterator[str]:
    """Yield the history clauses of an action, one per stage."""
    pawn = cells[TURN]
    player, name, at = f"player {pawn % 2}", f"pawn {NAMES[pawn]}", cells[PAWNS + pawn]
    if cells[STAGE] == PLACE:
        yield f"{player} placed {name} on {square(action)}"
    elif cells[STAGE] == BUILD:
        yield f"{player} built {_build_text(cells, action)}"
    else:
        to, built_square = divmod(action - BOTH, SQUARES) if action >= BOTH else (action, None)
        yield f"{player} moved {name} from {square(at)} to {_step(cells, to)}"
        if built_square is not None and cells[to] != TOP:
            yield f"{player} built {_build_text(cells, built_square)}"


def facts(array: np.ndarray, seat: int) -> Iterator[Fact]:
    cells = array.tolist()
    pawn, stage = cells[TURN], cells[STAGE]
    yield Fact("Your turn", _task(cells), own=True)
    yield Fact("Your pawns", _pawns(cells, seat))
    yield Fact("Opponent's pawns", _pawns(cells, 1 - seat))
    after = [(pawn + step) % 4 for step in (1, 2, 3)]
    if stage != PLACE:
        yield Fact("Next pawns", ", ".join(f"{NAMES[one]}{_whose(one, seat)}" for one in after))
        yield Fact("Pawns that could step to level 3 now", _winning(array))
        where = squares(reachable_squares(array, after[0]), cells)
        yield Fact(f"{NAMES[after[0]]}, which moves next, can step to", where)
    yield Fact("Board", drawing(cells))


def _task(cells: Sequence[int]) -> str:
    pawn, stage = cells[TURN], cells[STAGE]
    if stage == PLACE:
        return f"place pawn {NAMES[pawn]}"
    where = f"{square(cells[PAWNS + pawn])} (level {cells[cells[PAWNS + pawn]]})"
    if stage == MOVE:
        return f"move pawn {NAMES[pawn]} from {where}"
    return f"build next to pawn {NAMES[pawn]} on {where}"


def _pawns(cells: Sequence[int], seat: int) -> str:
    return ", ".join(
        f"{NAMES[pawn]} on {square(at)} (level {cells[at]})"
        if at >= 0
        else f"{NAMES[pawn]} to place"
        for pawn, at in enumerate(cells[PAWNS : PAWNS + 4])
        if pawn % 2 == seat
    )


def _winning(array: np.ndarray) -> str:
    cells = array.tolist()
    winning = ((pawn, wins(array, pawn)) for pawn in range(4))
    clauses: Iterable[str] = (
        f"{NAMES[pawn]} on {' or '.join(square(at) for at in range(SQUARES) if where >> at & 1)}"
        for pawn, where in winning
        if where and cells[PAWNS + pawn] >= 0
    )
    return "; ".join(clauses) or "none"


def _whose(pawn: int, seat: int) -> str:
    return " (yours)" if pawn % 2 == seat else ""


def drawing(cells: Sequence[int]) -> str:
    """Draw the board, row 5 on top: each square's level, and the pawn on it."""
    on = {at: NAMES[pawn] for pawn, at in enumerate(cells[PAWNS : PAWNS + 4])}
    lines = ["   " + "  ".join("abcde")]
    for row in reversed(range(SIDE)):
        row_of = range(row * SIDE, (row + 1) * SIDE)
        told = " ".join(f"{cells[at]}{on.get(at, ' ')}" for at in row_of)
        lines.append(f"{row + 1}  {told}".rstrip())
    return "\n".join(lines)


def show_state(cells: Sequence[int]) -> str:
    winner = cells[-1]
    ended = f"player {winner} has won" if winner >= 0 else f"to do: {_task(cells)}"
    return f"{drawing(cells)}\n{ended}"
