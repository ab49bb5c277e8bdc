"""Lines on a small board: who first has some marks in a line wins, or loses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from gauntlet.games.base import Action, Fact

EMPTY, HOLE = ".", "#"
MARKS = "XO"
LEAST_CELLS, FREE_CELLS, DROP_CELLS = 7, 9, 12
"""The fewest cells of a board, and the most whose positions can be listed: without gravity (one
less if players choose marks) and with it."""

LINES = 4
"""Lines at least: with fewer, games are drawn."""
TWISTS = 2
"""Of the rules that the plain game lacks, at least: that one is well known."""
SIZES = ((2, 4), (3, 5), (3, 4))
"""The least and the most rows, columns and marks in a line."""
WAYS = {
    "any": "in an unbroken line, along a row, a column or a diagonal,",
    "straight": "in an unbroken line, along a row or a column but not a diagonal,",
    "square": "in a square of two rows and two columns",
}
"""How the marks to be completed lie."""
FULL = {
    "nobody": "A full board without them is a draw.",
    "first": "If the board is full without them, player 0 wins.",
    "second": "If the board is full without them, player 1 wins.",
}

Board = str
"""The cells row by row, from the top left."""


@dataclass(frozen=True)
class Mnk:
    """rows: 2 to 4. columns: 3 to 5. length: of a line. misere: who completes one loses. gravity:
    marks fall. torus: lines run over edges. holes: cells that are not there. either: a player may
    place either mark. way: a key of WAYS. full: of FULL. double: two marks a turn after the first.
    barred: where the first mark must not go, cells or columns.
    """

    rows: int
    columns: int
    length: int
    misere: bool = False
    gravity: bool = False
    torus: bool = False
    holes: tuple[int, ...] = ()
    either: bool = False
    way: str = "any"
    full: str = "nobody"
    double: bool = False
    barred: tuple[int, ...] = ()

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> Mnk:
        while True:
            rows, columns, length = (int(rng.integers(low, high + 1)) for low, high in SIZES)
            flags = misere, gravity, torus, either, double = [
                bool(rng.random() < 0.3) for _ in range(5)
            ]
            way, full = (str(rng.choice([*words])) for words in (WAYS, FULL))
            most = DROP_CELLS if gravity else FREE_CELLS - either
            holes = _drawn(
                rng, rows * columns, rows * columns - int(rng.integers(LEAST_CELLS, most + 1))
            )
            places = columns if gravity else rows * columns
            barred = _drawn(rng, places, int(rng.integers(3)))
            length = 4 if way == "square" else length
            game = cls(
                *(rows, columns, length, misere, gravity, torus, holes, either, way, full),
                *(double, tuple(place for place in barred if gravity or place not in holes)),
            )
            twists = sum((*flags, way != "any", full != "nobody", bool(holes), bool(barred)))
            if twists >= TWISTS and len(game.lines) >= LINES and game.moves(game.start(), 0):
                return game

    @cached_property
    def lines(self) -> tuple[tuple[int, ...], ...]:
        """The cells of every line or square, each once."""
        steps = ((0, 1), (1, 0), (1, 1), (1, -1))
        shapes = [[(down * at, right * at) for at in range(self.length)] for down, right in steps][
            : 2 if self.way == "straight" else None
        ]
        if self.way == "square":
            shapes = [[(0, 0), (0, 1), (1, 0), (1, 1)]]
        cells = product(range(self.rows), range(self.columns))
        found = (self._shifted(shape, *cell) for cell, shape in product(cells, shapes))
        return tuple(sorted({line for line in found if line and not {*line} & {*self.holes}}))

    def _shifted(self, shape: Sequence[tuple[int, int]], row: int, column: int) -> tuple[int, ...]:
        """The cells of a shape from here, in order; () if it does not fit."""
        cells = [(row + down, column + right) for down, right in shape]
        if self.torus:
            cells = [(r % self.rows, c % self.columns) for r, c in cells]
        inside = all(0 <= r < self.rows and 0 <= c < self.columns for r, c in cells)
        whole = inside and len({*cells}) == len(cells)
        return tuple(sorted(r * self.columns + c for r, c in cells)) if whole else ()

    def start(self) -> Board:
        cells = [EMPTY] * (self.rows * self.columns)
        for hole in self.holes:
            cells[hole] = HOLE
        return "".join(cells)

    def movers(self, board: Board) -> tuple[int, ...]:
        return () if EMPTY not in board or self._has_line(board) else (self._turn(_marks(board)),)

    def _turn(self, marks: int) -> int:
        """The seat that moves once this many marks are on the board."""
        return ((marks + 1) // 2 if self.double else marks) % 2

    def _has_line(self, board: Board) -> bool:
        for line in self.lines:
            mark = board[line[0]]
            if mark != EMPTY and all(board[cell] == mark for cell in line):
                return True
        return False

    def moves(self, board: Board, seat: int) -> tuple[Action, ...]:
        """Twice the cell, or the column, plus the number of the mark."""
        if self.gravity:
            places = [at for at in range(self.columns) if EMPTY in board[at :: self.columns]]
        else:
            places = [cell for cell, mark in enumerate(board) if mark == EMPTY]
        if not _marks(board):
            places = [place for place in places if place not in self.barred]
        marks = (0, 1) if self.either else (seat,)
        return tuple(2 * place + mark for place in places for mark in marks)

    def after(self, board: Board, moves: Sequence[Action]) -> Board:
        place, mark = divmod(int(moves[0]), 2)
        if self.gravity:
            column = range(place, len(board), self.columns)
            place = max(cell for cell in column if board[cell] == EMPTY)
        return board[:place] + MARKS[mark] + board[place + 1 :]

    def score(self, board: Board) -> float:
        if not self._has_line(board):
            return {"nobody": 0.5, "first": 1.0, "second": 0.0}[self.full]
        completed = self._turn(_marks(board) - 1)
        return float((completed == 0) != self.misere)

    def name(self, move: Action) -> str:
        place, mark = divmod(int(move), 2)
        return f"{MARKS[mark]} in {self._place(place)}"

    def _place(self, place: int) -> str:
        return f"column {place + 1}" if self.gravity else self._cell(place)

    def _cell(self, cell: int) -> str:
        return f"C{cell % self.columns + 1}R{cell // self.columns + 1}"

    def text(self) -> str:
        own = "X or O, as the player likes" if self.either else "X by player 0, O by player 1"
        turn = "drops one mark into a column that is not full, where it lands on the lowest"
        turn = turn if self.gravity else "puts one mark on an"
        ends = "loses" if self.misere else "wins"
        return " ".join(
            [
                "Players 0 and 1 take turns; player 0 begins.",
                f"The board has {self.columns} columns and {self.rows} rows; CxRy is the cell in "
                "column x and row y, counted from 1 at the top left.",
                *self._holes(),
                f"A move {turn} empty cell ({own}).",
                *["The first turn is one move, every later turn two."] * self.double,
                *self._barred(),
                f"The player who completes {self.length} equal marks {WAYS[self.way]} {ends}.",
                *["They may run over an edge and go on at the opposite edge."] * self.torus,
                FULL[self.full],
            ]
        )

    def _holes(self) -> list[str]:
        if not self.holes:
            return []
        names = ", ".join(map(self._cell, self.holes))
        return [
            f"Holes, where no mark can be: {names}.",
            *["Falling marks pass holes."] * self.gravity,
        ]

    def _barred(self) -> list[str]:
        if not self.barred:
            return []
        return [f"The first mark must not go to: {', '.join(map(self._place, self.barred))}."]

    def facts(self, board: Board) -> tuple[Fact, ...]:
        head = " ".join(["  ", *(f"C{column + 1}" for column in range(self.columns))])
        rows = [
            " ".join([f"R{row + 1}", *(f"{mark} " for mark in self._row(board, row))]).rstrip()
            for row in range(self.rows)
        ]
        found = (Fact("Board", "\n".join([head, *rows])),)
        if not (self.double and self.movers(board)):
            return found
        marks = _marks(board)
        return (*found, Fact("Moves left in this turn", "2" if marks % 2 else "1"))

    def _row(self, board: Board, row: int) -> str:
        return board[row * self.columns : (row + 1) * self.columns]


def _marks(board: Board) -> int:
    return len(board) - board.count(EMPTY) - board.count(HOLE)


def _drawn(rng: np.random.Generator, cells: int, count: int) -> tuple[int, ...]:
    """Some of the cells, in order."""
    return tuple(sorted(int(one) for one in rng.permutation(cells)[: max(0, count)]))
