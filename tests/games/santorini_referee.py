"""A slow referee of Santorini, written from the rule text alone.

It shares no code with the engine: squares are names such as "c3", levels and pawns are dicts.
"""

from __future__ import annotations

ORDER = "AXBY"
OWNER = {"A": 0, "B": 0, "X": 1, "Y": 1}
SQUARES = [column + row for row in "12345" for column in "abcde"]


def touching(square: str) -> set[str]:
    """The squares that share a side or a corner with one."""
    column, row = square
    columns = [chr(ord(column) + by) for by in (-1, 0, 1)]
    rows = [chr(ord(row) + by) for by in (-1, 0, 1)]
    return {c + r for c in columns for r in rows} & set(SQUARES) - {square}


class Referee:
    """One game. stage: "place", "move" or "build". winner: None while the game goes on."""

    def __init__(self) -> None:
        self.levels = dict.fromkeys(SQUARES, 0)
        self.pawns: dict[str, str] = {}
        self.turns = 0
        self.stage = "place"
        self.winner: int | None = None

    @property
    def pawn(self) -> str:
        """The pawn to move."""
        return ORDER[self.turns % 4]

    def options(self) -> set[str]:
        """Return the squares that the pawn to move may take."""
        if self.winner is not None:
            return set()
        empty = {square for square in SQUARES if square not in self.pawns.values()}
        if self.stage == "place":
            return empty
        here = self.pawns[self.pawn]
        near = empty & touching(here)
        if self.stage == "build":
            return {square for square in near if self.levels[square] != 4}
        highest = min(3, self.levels[here] + 1)
        return {square for square in near if self.levels[square] <= highest}

    def take(self, square: str) -> None:
        """Place the pawn to move on a square, move it there or build there."""
        assert square in self.options()
        if self.stage == "move":
            self.pawns[self.pawn] = square
            if self.levels[square] == 3:
                self.winner = OWNER[self.pawn]
            self.stage = "build"
            return
        if self.stage == "place":
            self.pawns[self.pawn] = square
        else:
            self.levels[square] += 1
        self.turns += 1
        self.stage = "place" if self.turns < 4 else "move"
        if not self.options():
            self.winner = 1 - OWNER[self.pawn]
