"""Plays generated games from the sentences of their rules alone, written apart from the games."""

from __future__ import annotations

import re
from itertools import product

Cells = dict[tuple[int, int], str]


def number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    assert found, (pattern, text)
    return int(found[1])


class Marks:
    """A board of columns and rows, from 1, the first row on top."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.columns, self.rows = (
            number(r"has (\d+) columns", text),
            number(r"and (\d+) rows", text),
        )
        self.length = number(r"completes (\d+) equal marks", text)
        holes = re.search(r"no line runs: ([^.]*)\.", text)
        self.holes = set(holes[1].split(", ")) if holes else set[str]()
        self.board: dict[str, str] = {}
        self.seat = 0
        self.winner: int | None = None

    def place(self, column: int, row: int) -> str:
        return f"C{column}R{row}"

    def free(self) -> list[str]:
        every = [
            self.place(c, r)
            for r, c in product(range(1, self.rows + 1), range(1, self.columns + 1))
        ]
        return [one for one in every if one not in self.board and one not in self.holes]

    def landing(self, column: int) -> str | None:
        for row in range(self.rows, 0, -1):
            if self.place(column, row) in self.free():
                return self.place(column, row)
        return None

    def options(self) -> set[str]:
        if self.winner is not None or not self.free():
            return set()
        marks = "XO" if "as the player likes" in self.text else "XO"[self.seat]
        places = self.free()
        if "drops" in self.text:
            places = [f"column {c}" for c in range(1, self.columns + 1) if self.landing(c)]
        return {f"{mark} in {place}" for mark, place in product(marks, places)}

    def play(self, option: str) -> None:
        mark, where = option.split(" in ")
        column = re.fullmatch(r"column (\d+)", where)
        cell = self.landing(int(column[1])) if column else where
        assert cell is not None
        self.board[cell] = mark
        if any(self.completed(mark, c, r, step) for c, r, step in self.lines()):
            self.winner = 1 - self.seat if "diagonal, loses" in self.text else self.seat
        self.seat = 1 - self.seat

    def lines(self) -> list[tuple[int, int, tuple[int, int]]]:
        columns, rows = range(1, self.columns + 1), range(1, self.rows + 1)
        return [*product(columns, rows, ((1, 0), (0, 1), (1, 1), (-1, 1)))]

    def completed(self, mark: str, column: int, row: int, step: tuple[int, int]) -> bool:
        cells = []
        for at in range(self.length):
            c, r = column + at * step[0], row + at * step[1]
            if "over an edge" in self.text:
                c, r = (c - 1) % self.columns + 1, (r - 1) % self.rows + 1
            cells.append(self.place(c, r))
        return len({*cells}) == self.length and all(self.board.get(one) == mark for one in cells)

    def result(self) -> float:
        return 0.0 if self.winner is None else 1.0 if self.winner == 0 else -1.0


class Heaps:
    def __init__(self, text: str) -> None:
        self.text, self.before, self.seat = text, 0, 0
        heaps = re.search(r"stones at first: ([\d, ]+)\.", text)
        steps = re.search(r"must be one of: ([\d, ]+)\.", text)
        assert heaps
        assert steps
        self.heaps = [int(one) for one in heaps[1].split(", ")]
        self.steps = [int(one) for one in steps[1].split(", ")]
        assert len(self.heaps) == number(r"are (\d+) heaps", text)

    def options(self) -> set[str]:
        taking = {
            f"take {n} from heap {at}"
            for (at, stones), n in product(enumerate(self.heaps, 1), self.steps)
            if n <= stones and not ("must not be the number" in self.text and n == self.before)
        }
        if "may split" not in self.text:
            return taking
        every = enumerate(self.heaps, 1)
        parts = ((at, n) for at, stones in every for n in range(1, stones // 2 + 1))
        return taking | {f"split {n} off heap {at}" for at, n in parts}

    def play(self, option: str) -> None:
        n, at = (int(one) for one in re.findall(r"\d+", option))
        if option.startswith("take"):
            self.heaps[at - 1] -= n
            self.before = n
        else:
            self.heaps[at - 1 : at] = [n, self.heaps[at - 1] - n]
            self.before = 0
        self.seat = 1 - self.seat

    def result(self) -> float:
        stuck = -1.0 if self.seat == 0 else 1.0
        return -stuck if "cannot move wins" in self.text else stuck


class Prizes:
    def __init__(self, text: str) -> None:
        self.text = text
        prizes = re.search(r"in this order: ([\d, ]+)\.", text)
        assert prizes
        self.prizes = [float(one) for one in prizes[1].split(", ")]
        assert len(self.prizes) == number(r"are (\d+) rounds", text)
        self.coins = [number(r"has (\d+) coins", text)] * 2
        self.points = [0.0, 0.0]

    def options(self, seat: int) -> set[str]:
        return {f"bid {n}" for n in range(self.coins[seat] + 1)} if self.prizes else set()

    def play(self, bids: list[int]) -> None:
        prize = self.prizes.pop(0)
        high = max(bids)
        winners = [seat for seat in (0, 1) if bids[seat] == high]
        if len(winners) == 1:
            self.points[winners[0]] += prize
        elif "each gets half" in self.text:
            self.points = [own + prize / 2 for own in self.points]
        elif "added to the next one" in self.text and self.prizes:
            self.prizes[0] += prize
        if "Both pay their bids" in self.text:
            self.coins = [own - bid for own, bid in zip(self.coins, bids, strict=True)]
        elif len(winners) == 1:
            self.coins[winners[0]] -= min(bids) if "pays the other's bid" in self.text else high

    def result(self) -> float:
        ahead = self.points[0] - self.points[1]
        return float((ahead > 0) - (ahead < 0))
