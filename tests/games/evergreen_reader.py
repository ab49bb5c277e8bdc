"""Plays generated games from what a seat is told alone, written apart from the games.

text: the rules. facts: those of the position after the deal, by name; none at the start of a game,
which the text tells. seat: who moves first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product

Facts = Mapping[str, str]


def number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    assert found, (pattern, text)
    return int(found[1])


class Marks:
    """A board of columns and rows, from 1, the first row on top."""

    def __init__(self, text: str, facts: Facts, seat: int) -> None:
        self.text, self.seat = text, seat
        self.columns = number(r"has (\d+) columns", text)
        self.rows = number(r"and (\d+) rows", text)
        self.length = number(r"completes (\d+) equal marks", text)
        holes = re.search(r"no mark can be: ([^.]*)\.", text)
        self.holes = set(holes[1].split(", ")) if holes else set[str]()
        barred = re.search(r"must not go to: ([^.]*)\.", text)
        self.barred = set(barred[1].split(", ")) if barred else set[str]()
        self.left = int(facts.get("Moves left in this turn", "1"))
        self.board: dict[str, str] = {}
        for row, line in enumerate(facts.get("Board", "").splitlines()[1:], 1):
            for column, mark in enumerate(line.split()[1:], 1):
                assert (mark == "#") == (self.place(column, row) in self.holes)
                if mark in "XO":
                    self.board[self.place(column, row)] = mark
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
        barred = set[str]() if self.board else self.barred
        return {f"{mark} in {place}" for mark, place in product(marks, {*places} - barred)}

    def play(self, option: str) -> None:
        mark, where = option.split(" in ")
        column = re.fullmatch(r"column (\d+)", where)
        cell = self.landing(int(column[1])) if column else where
        assert cell is not None
        self.board[cell] = mark
        if any(self.completed(mark, c, r) for c, r in self.corners()):
            self.winner = 1 - self.seat if " loses." in self.text else self.seat
        elif not self.free() and (full := re.search(r"full without them, player (\d)", self.text)):
            self.winner = int(full[1])
        self.left -= 1
        if self.left == 0:
            self.seat = 1 - self.seat
            self.left = 2 if "every later turn two" in self.text else 1

    def corners(self) -> list[tuple[int, int]]:
        return [*product(range(1, self.columns + 1), range(1, self.rows + 1))]

    def completed(self, mark: str, column: int, row: int) -> bool:
        if "in a square" in self.text:
            assert self.length == 4
            return self.marked(mark, [(column + c, row + r) for c in (0, 1) for r in (0, 1)])
        steps = [(1, 0), (0, 1)]
        if "not a diagonal" not in self.text:
            steps += [(1, 1), (-1, 1)]
        every = range(self.length)
        return any(
            self.marked(mark, [(column + at * c, row + at * r) for at in every]) for c, r in steps
        )

    def marked(self, mark: str, cells: list[tuple[int, int]]) -> bool:
        if "over an edge" in self.text:
            cells = [((c - 1) % self.columns + 1, (r - 1) % self.rows + 1) for c, r in cells]
        names = {self.place(c, r) for c, r in cells}
        return len(names) == self.length and all(self.board.get(one) == mark for one in names)

    def result(self) -> float:
        return 0.0 if self.winner is None else 1.0 if self.winner == 0 else -1.0


class Heaps:
    def __init__(self, text: str, facts: Facts, seat: int) -> None:
        self.text, self.seat = text, seat
        before = facts.get("Taken in the turn before", "none")
        self.before = 0 if before == "none" else int(before)
        first = re.search(r"stones at first: ([\d, ]+)\.", text)
        steps = re.search(r"must be one of: ([\d, ]+)\.", text)
        assert first
        assert steps
        assert first[1].count(",") + 1 == number(r"are (\d+) heaps", text)
        heaps = first[1] if not facts else ", ".join(re.findall(r": (\d+)", facts["Heaps"]))
        self.heaps = [int(one) for one in heaps.split(", ")]
        self.steps = [int(one) for one in steps[1].split(", ")]

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
    def __init__(self, text: str, facts: Facts, _: int) -> None:
        self.text = text
        every = re.search(r"in this order: ([\d, ]+)\.", text)
        assert every
        prizes = [float(one) for one in every[1].split(", ")]
        assert len(prizes) == number(r"are (\d+) rounds", text)
        self.prizes, self.points = prizes, [0.0, 0.0]
        self.coins = [number(r"has (\d+) coins", text)] * 2
        if facts:
            self.begin_at(facts)

    def begin_at(self, facts: Facts) -> None:
        self.prizes = self.prizes[len(self.prizes) - int(facts["Rounds left"]) :]
        assert facts["Prizes to come"] == ", ".join(f"{one:g}" for one in self.prizes)
        self.prizes[0] += float(facts.get("Added to this prize", "0"))
        self.coins = [int(one) for one in re.findall(r"has (\d+)", facts["Coins"])]
        if ahead := re.fullmatch(r"player (\d), by ([\d.]+)", facts["Ahead in points"]):
            self.points[int(ahead[1])] = float(ahead[2])

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
