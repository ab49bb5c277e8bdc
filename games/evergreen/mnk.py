"""Lines on a small board: who first has some marks in a line wins, or loses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gauntlet.games.base import Action, Fact

EMPTY, HOLE = ".", "#"
MARKS = "XO"
FREE_CELLS, DROP_CELLS = 9, 12
"""The most cells of a board whose positions can be listed, without gravity (one less if players
choose marks) and with it."""

HOLES, LINES = 4, 4
"""Holes at most, and lines at least: with fewer lines, games are drawn."""
TWISTS = 1
"""Of misere, gravity, torus, holes and either mark, at least: the plain game is well known."""
SIZES = ((2, 4), (3, 5), (3, 4))
"""The least and the most rows, columns and marks in a line."""

Board = str
"""The cells row by row, from the top left."""


@dataclass(frozen=True)
class Mnk:
    """rows: 2 to 4. columns: 3 to 5. length: of a line. misere: who completes a line loses.
    gravity: marks fall. torus: lines run over edges. holes: cells that are not there. either: a
    player may place either mark."""

    rows: int
    columns: int
    length: int
    misere: bool = False
    gravity: bool = False
    torus: bool = False
    holes: tuple[int, ...] = ()
    either: bool = False

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> Mnk:
        while True:
            rows, columns, length = (int(rng.integers(low, high + 1)) for low, high in SIZES)
            misere, gravity, torus, either = (bool(rng.random() < 0.35) for _ in range(4))
            cells, most = rows * columns, FREE_CELLS - either
            count = 0 if gravity else max(cells - most, int(rng.integers(2)))
            holes = tuple(sorted(int(one) for one in rng.permutation(cells)[:count]))
            game = cls(rows, columns, length, misere, gravity, torus, holes, either)
            fits = cells <= (DROP_CELLS if gravity else most + HOLES)
            twists = sum((misere, gravity, torus, either, count > 0))
            if fits and twists >= TWISTS and len(game.lines) >= LINES:
                return game

    @cached_property
    def lines(self) -> tuple[tuple[int, ...], ...]:
        """The cells of every line, each once."""
        found = set()
        for cell in range(self.rows * self.columns):
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                line = self._line(cell, down, right)
                if line and not {*line} & {*self.holes}:
                    found.add(tuple(sorted(line)))
        return tuple(sorted(found))

    def _line(self, cell: int, down: int, right: int) -> tuple[int, ...]:
        """The cells of a line from here; () if there is none."""
        row, column = divmod(cell, self.columns)
        steps = [(row + down * at, column + right * at) for at in range(self.length)]
        if self.torus:
            steps = [(r % self.rows, c % self.columns) for r, c in steps]
        inside = all(0 <= r < self.rows and 0 <= c < self.columns for r, c in steps)
        whole = inside and len({*steps}) == len(steps)
        return tuple(r * self.columns + c for r, c in steps) if whole else ()

    def start(self) -> Board:
        cells = [EMPTY] * (self.rows * self.columns)
        for hole in self.holes:
            cells[hole] = HOLE
        return "".join(cells)

    def movers(self, board: Board) -> tuple[int, ...]:
        return () if EMPTY not in board or self._has_line(board) else (self._turn(board),)

    @staticmethod
    def _turn(board: Board) -> int:
        return (board.count("X") + board.count("O")) % 2

    def _has_line(self, board: Board) -> bool:
        for line in self.lines:
            mark = board[line[0]]
            if mark != EMPTY and all(board[cell] == mark for cell in line):
                return True
        return False

    def moves(self, board: Board, seat: int) -> tuple[Action, ...]:
        """Twice the cell, or the column, plus the number of the mark."""
        if self.gravity:
            places = [column for column in range(self.columns) if board[column] == EMPTY]
        else:
            places = [cell for cell, mark in enumerate(board) if mark == EMPTY]
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
            return 0.5
        completed = 1 - self._turn(board)
        return float((completed == 0) != self.misere)

    def name(self, move: Action) -> str:
        place, mark = divmod(int(move), 2)
        where = f"column {place + 1}" if self.gravity else self._cell(place)
        return f"{MARKS[mark]} in {where}"

    def _cell(self, cell: int) -> str:
        return f"C{cell % self.columns + 1}R{cell // self.columns + 1}"

    def text(self) -> str:
        own = "X or O, as the player likes" if self.either else "X by player 0, O by player 1"
        turn = "A turn drops one mark into a column that is not full, where it lands on the lowest"
        turn = turn if self.gravity else "A turn puts one mark on an"
        ends = "loses" if self.misere else "wins"
        return " ".join(
            [
                "Players 0 and 1 take turns; player 0 begins.",
                f"The board has {self.columns} columns and {self.rows} rows; CxRy is the cell in "
                "column x and row y, counted from 1 at the top left.",
                *self._holes(),
                f"{turn} empty cell ({own}).",
                f"The player whose turn completes {self.length} equal marks in an unbroken line, "
                f"along a row, a column or a diagonal, {ends}.",
                *["Lines may run over an edge and go on at the opposite edge."] * self.torus,
                "A full board without such a line is a draw.",
            ]
        )

    def _holes(self) -> list[str]:
        if not self.holes:
            return []
        names = ", ".join(map(self._cell, self.holes))
        return [f"Holes, where nothing can be put and no line runs: {names}."]

    def facts(self, board: Board) -> tuple[Fact, ...]:
        head = " ".join(["  ", *(f"C{column + 1}" for column in range(self.columns))])
        rows = [
            " ".join([f"R{row + 1}", *(f"{mark} " for mark in self._row(board, row))]).rstrip()
            for row in range(self.rows)
        ]
        return (Fact("Board", "\n".join([head, *rows])),)

    def _row(self, board: Board, row: int) -> str:
        return board[row * self.columns : (row + 1) * self.columns]
