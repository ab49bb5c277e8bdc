"""Sealed bids for prizes: both players bid at once, coins are few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gauntlet.games.base import Action, Fact

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
