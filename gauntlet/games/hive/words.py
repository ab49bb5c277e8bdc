"""Hive as text: pieces, moves, the drawn table, and the rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from gauntlet.games.hive.hexes import CELLS, DIRECTIONS, STEPS, unrolled_positions
from gauntlet.games.hive.rules import (
    BOTH_LOSE,
    DRAW,
    GOING_ON,
    HAND,
    OWN,
    PASS,
    PIECES,
    PLY,
    RESULT,
)

SIDES = ("white", "black")
BUGS = ("Q", "S1", "S2", "G1", "G2", "G3", "A1", "A2", "A3")
NAMES = tuple(side[0] + bug for side in SIDES for bug in BUGS)
"""The name of every piece: its side, kind and number ("wA1")."""

AHEAD = tuple(STEPS.tolist())

POLICIES = {
    "random": "takes any of the legal moves",
    "greedy": "takes any of the moves after which the other queen has the most filled neighbours "
    "beyond those of its own queen",
}
"""What each policy does, by name."""

SUMMARY = (
    "Hive is a game for two, white (player 0, who begins) and black (player 1), without a board. "
    "Each has nine pieces: a queen Q, two spiders S1 S2, three grasshoppers G1 G2 G3 and three "
    "ants A1 A2 A3. In turn each places a piece from the hand or moves one of its own. Surround "
    "the other queen: when all six cells around her are filled, by pieces of either side, she is "
    "lost, and her side loses the game."
)


def headings(max_turns: int, paper_bugs: bool) -> Mapping[str, str]:
    draw_rule = "both sides lose" if paper_bugs else "nobody wins"
    end = (
        f"once white has had {max_turns} turns"
        if paper_bugs
        else f"after {max_turns} turns of each side"
    )
    return {
        "Cells": "Every cell has six neighbours: E, NE, NW, W, SW and SE. A place is told by a "
        "piece beside it: 'E of wQ' is the cell on the east side of white's queen. In the drawing "
        "dots are empty cells.",
        "Placing": "The first piece may lie anywhere, the second beside it. Afterwards a new piece "
        "has to touch a piece of its own side and none of the other side.",
        "Queen": "The queen has to be placed in one of her side's first four turns; if she "
        "is still in hand in the fourth, nothing else may be done. Until she is placed none of her "
        "side's pieces may move. She moves one step.",
        "Spider": "A spider moves exactly three steps, and never through a cell twice.",
        "Ant": "An ant moves any number of steps.",
        "Grasshopper": "A grasshopper jumps in a straight line over one or more pieces in a row "
        "and lands in the first empty cell behind them.",
        "One hive": "All pieces hang together at all times. A piece may not leave its cell, not "
        "even to jump, if the others would fall apart in two groups without it.",
        "Steps": LOOSE if paper_bugs else STRICT,
        "Passing": "Whoever can neither place nor move passes; else a turn may not be passed.",
        "End": f"A lost queen ends the game; if one move surrounds both queens, {draw_rule}. The "
        f"game ends without a winner {end}.",
    }


STRICT = (
    "Queens, spiders and ants step into an empty neighbour cell by sliding: of the two cells that "
    "touch both the old and the new one exactly one is filled. With both filled the gap is too "
    "narrow, with none the piece would lose touch."
)
LOOSE = (
    "Queens, spiders and ants step into an empty neighbour cell that touches the hive. They cannot "
    "leave a cell with five or six filled neighbours, nor enter one where five or six would be "
    "filled, the cell that they come from among them. A spider's old and new cell have to touch "
    "one piece in common."
)


def describe_moves(state: np.ndarray, moves: Sequence[int]) -> tuple[str, ...]:
    """Return moves as text, each placed relative to an adjacent piece, the other queen first, then
    the own one, then the rest: "place wA1 NE of bQ"."""
    pieces = pieces_by_cell(state)
    beside = {cell: neighbours(pieces, cell) for cell in {move % CELLS for move in moves}}
    return tuple(_describe(state, move, beside[move % CELLS]) for move in moves)


def _describe(state: np.ndarray, move: int, neighbours: Mapping[int, int]) -> str:
    if move == PASS:
        return "pass"
    piece = move // CELLS
    verb = "place" if state.item(piece) == HAND else "move"
    queens = (OWN, 0) if piece < OWN else (0, OWN)
    others = (*(queen for queen in queens if queen in neighbours), *sorted(neighbours))
    other = next((one for one in others if one != piece), None)
    if other is None:
        return f"{verb} {NAMES[piece]}"
    return f"{verb} {NAMES[piece]} {DIRECTIONS[(neighbours[other] + 3) % 6]} of {NAMES[other]}"


def pieces_by_cell(state: np.ndarray) -> dict[int, int]:
    """Return the piece in every filled cell."""
    return {cell: piece for piece, cell in enumerate(state[:PIECES].tolist()) if cell != HAND}


def neighbours(pieces: Mapping[int, int], cell: int) -> dict[int, int]:
    """Return the pieces adjacent to a cell, each with its direction."""
    around = ((cell + ahead) % CELLS for ahead in AHEAD)
    return {pieces[one]: d for d, one in enumerate(around) if one in pieces}


def introduced(seat: int) -> str:
    """Return which side a seat has, and how to recognize its pieces."""
    return f"{SIDES[seat]}, your pieces' names begin with {SIDES[seat][0]}"


def status(state: np.ndarray) -> str:
    """Return whose turn it is, or how the game ended."""
    result = state.item(RESULT)
    if result == GOING_ON:
        return f"{SIDES[state.item(PLY) % 2]} to move"
    if result == BOTH_LOSE:
        return "over: both queens are surrounded, and both sides lose"
    return "over: nobody wins" if result == DRAW else f"over: {SIDES[result]} wins"


def drawing(state: np.ndarray) -> str:
    """Draw the hive with the empty cells around it as dots. A cell is four characters wide, and
    lines are offset by half a cell."""
    pieces = pieces_by_cell(state)
    if not pieces:
        return "nothing yet"
    places = lying(pieces)
    left = min(column for column, _ in places.values())
    rows: dict[int, dict[int, str]] = {}
    for cell, (column, row) in places.items():
        rows.setdefault(row, {})[column - left] = NAMES[pieces[cell]] if cell in pieces else "."
    return "\n".join(_line(rows[row]) for row in sorted(rows))


def lying(pieces: Iterable[int]) -> dict[int, tuple[int, int]]:
    """Return where filled cells and the empty ones around them lie, as in `spread`."""
    filled = tuple(pieces)
    rim = ((cell + ahead) % CELLS for cell in filled for ahead in AHEAD)
    return unrolled_positions((*filled, *rim)) if filled else {}


def _line(cells: Mapping[int, str]) -> str:
    line = ""
    for column in sorted(cells):
        line = line.ljust(2 * column) + cells[column]
    return line


def queen(state: np.ndarray, seat: int) -> str:
    """Return the situation of a seat's queen; in hand, by when she must be placed."""
    cell = state.item(OWN * seat)
    if cell == HAND:
        return "in hand, to be placed in turn 4 at the latest"
    beside = neighbours(pieces_by_cell(state), cell)
    free = [name for direction, name in enumerate(DIRECTIONS) if direction not in beside.values()]
    return f"{len(beside)} of 6 neighbours filled, empty: {', '.join(free) or 'none'}"


def in_hand(state: np.ndarray, seat: int) -> str:
    """Return the pieces that a seat has not placed."""
    return piece_list(p for p in range(OWN * seat, OWN * seat + OWN) if state.item(p) == HAND)


def stuck(state: np.ndarray, seat: int, options: Sequence[int]) -> str:
    """Return the pieces of a seat that lie on the table and have none of the options."""
    able = {move // CELLS for move in options}
    own = range(OWN * seat, OWN * seat + OWN)
    return piece_list(p for p in own if state.item(p) != HAND and p not in able)


def piece_list(pieces: Iterable[int]) -> str:
    return ", ".join(NAMES[piece] for piece in pieces) or "none"
