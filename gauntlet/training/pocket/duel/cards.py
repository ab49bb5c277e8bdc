"""The tutor's knowledge of hold'em: the strength of its hand and the price of a call.

It plays like the scripted player TIGHT (`games.holdem.policies`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from gauntlet.games.holdem import words
from gauntlet.games.holdem.policies import FAIR, GOOD, MARGIN, STRONG, kind, preflop, share_beaten
from gauntlet.games.holdem.ranks import CATEGORY, bit, worth
from gauntlet.training.pocket.duel.prompt_parsing import PromptFacts

SEATS = re.compile(r"player \d(?: \(you\))? (\d+)")
UNSEEN = 0.57
"""Strength assumed for a hand whose cards are not in the prompt."""
FOLDED = {True: 10, False: 90}
"""Value after a fold: True for one's own, False for the other player's."""


@dataclass(frozen=True)
class Cards:
    """A hand as described by a prompt."""

    facts: PromptFacts

    @cached_property
    def hand(self) -> list[int]:
        return numbers(self.facts.facts.get("Your cards", ""))

    @cached_property
    def board(self) -> list[int]:
        return numbers(self.facts.facts["Board"].replace("none yet", ""))

    @cached_property
    def strength(self) -> float:
        """Share of other hands that it beats; before the flop, of showdowns that it wins."""
        if not self.hand:
            return UNSEEN
        if not self.board:
            return float(preflop()[kind(*self.hand)])
        table = sum(map(bit, self.board))
        return float(share_beaten(sum(map(bit, self.hand)), table, 2 + len(self.board)))

    @cached_property
    def lacking(self) -> int:
        """Chips needed to call."""
        own, other = self._by_seat("Bets this round")
        return min(max(other - own, 0), self._by_seat("Stacks")[0])

    @property
    def price(self) -> float:
        """The call as a share of the pot after it."""
        pot = int(self.facts.facts["Pot"].split()[0])
        return self.lacking / (pot + self.lacking)

    @property
    def form(self) -> str:
        return words.FORMAT

    def best(self) -> str:
        late, strong, legal = bool(self.board), self.strength, self.facts.legal
        if strong >= STRONG[late] and "RAISE_POT" in legal:
            return "RAISE_POT"
        if "CHECK" in legal:
            bets = strong >= GOOD[late] and "RAISE_HALF_POT" in legal
            return "RAISE_HALF_POT" if bets else "CHECK"
        return "CALL" if strong >= max(FAIR[late], self.price + MARGIN) else "FOLD"

    def worth(self, move: str) -> tuple[bool, int]:
        """Sort key: the best move first, then the cheapest."""
        return move == self.best(), -words.NAMES.index(move)

    def thought(self, move: str) -> str:
        """Return a line with the hand, the price, and the move."""
        call = f"A call pays {rounded(self.price)} of 100." if self.lacking else "A check is free."
        return f"{self.analysis()} {call} I choose {move}.\n"

    def intent(self, move: str) -> str:
        return move

    def analysis(self) -> str:
        return f" My hand is {self._name()} and beats {rounded(self.strength)} of 100."

    def rate(self) -> int:
        folded = [
            FOLDED[seat == self.facts.seat] for seat, move in self.facts.line if move == "FOLD"
        ]
        return (*folded, rounded(self.strength))[0]

    def advantage(self) -> int:
        """Rate a move: a fold is worth little, a raise as much as the hand is strong, others 50."""
        seat, move = self.facts.next
        if move == "FOLD":
            return 10
        strong = rounded(self.strength if seat == self.facts.seat else UNSEEN)
        return 50 if move in ("CHECK", "CALL") else strong

    def _name(self) -> str:
        """Return the hand's category; before the flop a pair or a high card."""
        if not self.board:
            pair = len({card >> 2 for card in self.hand}) == 1
            return words.CATEGORIES[pair]
        hand = sum(map(bit, self.hand + self.board))
        return words.CATEGORIES[worth(hand, len(self.hand) + len(self.board)) >> CATEGORY]

    def _by_seat(self, fact: str) -> tuple[int, int]:
        """Return the player's own chips and the other's."""
        found = [int(chips) for chips in SEATS.findall(self.facts.facts[fact])]
        return found[self.facts.seat], found[1 - self.facts.seat]


def numbers(names: str) -> list[int]:
    """Convert cards to numbers."""
    return [4 * words.RANKS.index(name[0]) + words.SUITS.index(name[1]) for name in names.split()]


def rounded(share: float) -> int:
    """Convert a share of 1 to one of 100, in steps of five."""
    return round(share * 20) * 5
