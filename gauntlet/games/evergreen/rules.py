"""What a family of generated games provides: rules small enough to be solved; heaps of stones from
which players take in turn, and sealed bids for prizes with few coins.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from gauntlet.games.base import Action, Fact

Position = Hashable


class Rules(Protocol):
    """The rules of one generated game of two seats, a frozen value. A position is hashable, and has
    no history."""

    def start(self) -> Position: ...

    def movers(self, position: Position) -> tuple[int, ...]:
        """The seats to move: one, both at once, or () at the end."""
        ...

    def moves(self, position: Position, seat: int) -> tuple[Action, ...]:
        """The moves of one of the movers, in a fixed order; at least one."""
        ...

    def after(self, position: Position, moves: Sequence[Action]) -> Position: ...

    def score(self, position: Position) -> float:
        """Seat 0's score of a finished game: 1 a win, 1/2 a draw, 0 a loss."""
        ...

    def name(self, move: Action) -> str: ...

    def text(self) -> str:
        """The rules in plain sentences."""
        ...

    def facts(self, position: Position) -> tuple[Fact, ...]: ...


class Sealed(Rules, Protocol):
    """Rules by which both seats move at once."""

    def at_once(self, position: Position, seat: int) -> tuple[float, ...]:
        """How good each move looks against a random one: more is better."""
        ...


MOST_STONES = 14
"""In all heaps together."""
SPLIT = 50
"""Moves from this number on, of each heap, are splits."""
A_HEAP = 100
"""Numbers of moves for each heap."""


class Heaps(NamedTuple):
    """The stones of each heap, the number that was taken last (0 for none), and who moves."""

    heaps: tuple[int, ...]
    last: int
    seat: int


@dataclass(frozen=True)
class TakeAway:
    """heaps: the stones of each at the start. steps: how many may be taken. no_repeat: not as many
    as in the turn before. split: a turn may split a heap instead. misere: who cannot move wins."""

    heaps: tuple[int, ...]
    steps: tuple[int, ...]
    no_repeat: bool = False
    split: bool = False
    misere: bool = False

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> TakeAway:
        while True:
            heaps = tuple(int(one) for one in rng.integers(2, 9, size=int(rng.integers(2, 4))))
            steps = tuple(step for step in range(1, 6) if rng.random() < 0.55)
            rest = (bool(rng.random() < 0.5) for _ in range(3))
            if steps and sum(heaps) <= MOST_STONES:
                return cls(heaps, steps, *rest)

    def start(self) -> Heaps:
        return Heaps(self.heaps, 0, 0)

    def movers(self, position: Heaps) -> tuple[int, ...]:
        return (position.seat,) if self.moves(position, position.seat) else ()

    def moves(self, position: Heaps, seat: int) -> tuple[Action, ...]:
        found = []
        for at, stones in enumerate(position.heaps):
            found += [
                A_HEAP * at + step
                for step in self.steps
                if step <= stones and not (self.no_repeat and step == position.last)
            ]
            if self.split:
                found += [A_HEAP * at + SPLIT + part for part in range(1, stones // 2 + 1)]
        return tuple(found)

    def after(self, position: Heaps, moves: Sequence[Action]) -> Heaps:
        at, number = divmod(int(moves[0]), A_HEAP)
        heaps, step = list(position.heaps), 0
        if number > SPLIT:
            heaps[at : at + 1] = [number - SPLIT, heaps[at] - (number - SPLIT)]
        else:
            heaps[at], step = heaps[at] - number, number
        last = step if self.no_repeat else 0
        return Heaps(tuple(heaps), last, 1 - position.seat)

    def score(self, position: Heaps) -> float:
        return float((position.seat == 1) != self.misere)

    def name(self, move: Action) -> str:
        at, number = divmod(int(move), A_HEAP)
        if number > SPLIT:
            return f"split {number - SPLIT} off heap {at + 1}"
        return f"take {number} from heap {at + 1}"

    def text(self) -> str:
        steps = ", ".join(map(str, self.steps))
        parts = [
            "Players 0 and 1 take turns; player 0 begins.",
            f"There are {len(self.heaps)} heaps of stones, numbered from 1. Their stones at first: "
            f"{', '.join(map(str, self.heaps))}.",
            f"A turn takes stones from one heap; the number must be one of: {steps}.",
        ]
        if self.no_repeat:
            parts.append("It must not be the number that the other player took in the turn before.")
        if self.split:
            parts.append(
                "Instead, a turn may split a heap into two. The part split off, at most half of "
                "the heap, stays in its place; the rest is the next heap, and later heaps move up "
                "by one number."
            )
        parts.append(f"A player who cannot move {'wins' if self.misere else 'loses'}.")
        return " ".join(parts)

    def facts(self, position: Heaps) -> tuple[Fact, ...]:
        heaps = ", ".join(f"heap {at}: {stones}" for at, stones in enumerate(position.heaps, 1))
        found = (Fact("Heaps", heaps),)
        if not self.no_repeat:
            return found
        return (*found, Fact("Taken in the turn before", str(position.last or "none")))


TIES = {
    "nobody": "If both bid the same, nobody gets the prize.",
    "carry": "If both bid the same, the prize is added to the next one; after the last round it "
    "is lost.",
    "split": "If both bid the same, each gets half of the prize.",
}
PAYS = {
    "winner": "The higher bidder pays its bid, the other pays nothing.",
    "both": "Both pay their bids.",
    "second": "The higher bidder pays the other's bid, the other pays nothing.",
}


class Table(NamedTuple):
    """The round from 0, the coins of both seats, by how many half points seat 0 leads, and what is
    carried over."""

    round: int
    coins: tuple[int, int]
    lead: int
    carried: int


@dataclass(frozen=True)
class Bidding:
    """prizes: points of each round. coins: of each player. tie: a key of TIES. pay: of PAYS."""

    prizes: tuple[int, ...]
    coins: int
    tie: str = "nobody"
    pay: str = "winner"

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> Bidding:
        rounds = int(rng.integers(3, 5))
        prizes = tuple(int(one) for one in rng.integers(1, 6, size=rounds))
        tie, pay = (str(rng.choice([*words])) for words in (TIES, PAYS))
        return cls(prizes, int(rng.integers(3, 7)), tie, pay)

    def start(self) -> Table:
        return Table(0, (self.coins, self.coins), 0, 0)

    def movers(self, table: Table) -> tuple[int, ...]:
        return () if table.round == len(self.prizes) else (0, 1)

    def moves(self, table: Table, seat: int) -> tuple[Action, ...]:
        return tuple(range(table.coins[seat] + 1))

    def after(self, table: Table, moves: Sequence[Action]) -> Table:
        first, second = (int(move) for move in moves)
        prize, carried = self.prizes[table.round] + table.carried, 0
        lead = table.lead + 2 * prize * ((first > second) - (first < second))
        if first == second and self.tie == "carry":
            carried = prize
        paid = self._paid(first, second)
        coins = (table.coins[0] - paid[0], table.coins[1] - paid[1])
        return Table(table.round + 1, coins, lead, carried)

    def _paid(self, first: int, second: int) -> tuple[int, int]:
        if self.pay == "both":
            return first, second
        cost = min(first, second) if self.pay == "second" else max(first, second)
        return cost * (first > second), cost * (first < second)

    def score(self, table: Table) -> float:
        return 0.5 * ((table.lead > 0) + (table.lead >= 0))

    def at_once(self, table: Table, seat: int) -> tuple[float, ...]:
        """How often a bid beats a random one, less how often it is beaten: the prize of this round
        is all that counts."""
        others = self.moves(table, 1 - seat)
        return tuple(
            float(np.mean([np.sign(own - other) for other in others]))
            for own in self.moves(table, seat)
        )

    def name(self, move: Action) -> str:
        return f"bid {int(move)}"

    def text(self) -> str:
        prizes = ", ".join(map(str, self.prizes))
        return " ".join(
            [
                f"There are {len(self.prizes)} rounds.",
                f"Their prizes, in points and in this order: {prizes}.",
                f"Each player has {self.coins} coins at the start.",
                "In each round both players bid at the same time, from 0 to all of their coins.",
                "The higher bidder gets the prize.",
                TIES[self.tie],
                PAYS[self.pay],
                *["If both bid the same, nobody pays."] * (self.pay != "both"),
                "After the last round the player with more points wins; equal points are a draw.",
            ]
        )

    def facts(self, table: Table) -> tuple[Fact, ...]:
        left = len(self.prizes) - table.round
        prizes = ", ".join(map(str, self.prizes[table.round :])) or "none"
        ahead = f"player {int(table.lead < 0)}, by {abs(table.lead) / 2:g}"
        ahead = ahead if table.lead else "nobody"
        found = [
            Fact("Rounds left", str(left)),
            Fact("Prizes to come", prizes),
            Fact("Coins", f"player 0 has {table.coins[0]}, player 1 has {table.coins[1]}"),
            Fact("Ahead in points", ahead),
        ]
        if self.tie == "carry":
            found.append(Fact("Added to this prize", str(table.carried)))
        return tuple(found)
