"""An independent Pit, from the rule text alone: hands are bags of words, turns sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations

GOODS = {"barley": 85, "corn": 75, "soybeans": 55, "wheat": 100}
ANIMALS = ("bull", "bear")
TRADERS = "ABCD"
TEAM = {"A": 0, "C": 0, "B": 1, "D": 1}


class Referee:
    """A match. corner, goal, turns, deal_turns as in the rules."""

    def __init__(self, corner: int, goal: int, turns: int, deal_turns: int) -> None:
        self.corner, self.goal, self.turns, self.deal_turns = corner, goal, turns, deal_turns
        self.points, self.taken, self.closed, self.deals = [0, 0], 0, True, 0
        self.turn, self.spent = "A", 0
        self.hands: dict[str, Counter[str]] = {}
        self.offers: dict[str, Counter[str]] = {}

    def deal(self, hands: Sequence[Iterable[str]], opener: str) -> None:
        """Start another deal; the opener has ten cards, and so has the next."""
        assert self.closed
        self.hands = {who: Counter(hand) for who, hand in zip(TRADERS, hands, strict=True)}
        every = sum(self.hands.values(), Counter[str]())
        assert every == Counter({**dict.fromkeys(GOODS, 9), **dict.fromkeys(ANIMALS, 1)})
        for behind in range(4):
            who = TRADERS[(TRADERS.index(opener) + behind) % 4]
            assert self.hands[who].total() == (10 if behind < 2 else 9)
        assert not any(self.cornered(who) for who in TRADERS)
        self.offers, self.turn, self.spent, self.closed = {}, opener, 0, False
        self.deals += 1

    def over(self) -> bool:
        return max(self.points) >= self.goal or self.taken >= self.turns

    def lots(self, who: str) -> list[Counter[str]]:
        """Return what a hand can offer: any set of up to four cards with at most one commodity and
        not both animals."""
        cards = sorted(self.hands[who].elements())
        found = {
            tuple(some)
            for size in range(1, 5)
            for some in combinations(cards, size)
            if len(set(some) & GOODS.keys()) <= 1 and len(set(some) & set(ANIMALS)) <= 1
        }
        return [Counter(some) for some in found]

    def options(self) -> list[str]:
        who = self.turn
        names = ["wait"]
        for lot in self.lots(who):
            if lot != self.offers.get(who):
                names.append(f"offer {spelt(lot)}")
            for other, offered in self.offers.items():
                if other != who and offered.total() == lot.total():
                    names.append(f"trade {spelt(lot)} with trader {other}")
        return names

    def take(self, name: str) -> None:
        who = self.turn
        self.turn = TRADERS[(TRADERS.index(who) + 1) % 4]
        self.taken += 1
        self.spent += 1
        if name.startswith("offer "):
            self.offers[who] = read(name)
        if name.startswith("trade "):
            self.trade(who, name[-1], read(name.partition(" with ")[0]))
        self.closed = self.closed or self.spent >= self.deal_turns

    def trade(self, who: str, other: str, lot: Counter[str]) -> None:
        got = self.offers.pop(other)
        self.offers.pop(who, None)
        self.hands[who] = self.hands[who] - lot + got
        self.hands[other] = self.hands[other] - got + lot
        winner = next((one for one in (who, other) if self.cornered(one)), None)
        if winner is not None:
            self.score(winner)

    def cornered(self, who: str) -> str:
        """Return the most valuable commodity that the trader has cornered, or nothing."""
        hand = self.hands[who]
        full = [good for good in GOODS if hand[good] + hand["bull"] >= self.corner]
        return max(full, key=GOODS.__getitem__) if full and not hand["bear"] else ""

    def score(self, winner: str) -> None:
        good, hand = self.cornered(winner), self.hands[winner]
        twice = hand["bull"] == 1 and hand[good] >= self.corner
        self.points[TEAM[winner]] += GOODS[good] * 2 if twice else GOODS[good]
        for who in TRADERS:
            animals = self.hands[who]["bear"] + (self.hands[who]["bull"] if who != winner else 0)
            self.points[TEAM[who]] -= 20 * animals
        self.closed = True

    def share(self) -> float:
        """The first team's share of the points."""
        own, other = (max(points, 0) for points in self.points)
        return own / (own + other) if own + other else 0.5


def spelt(lot: Counter[str]) -> str:
    goods = [f"{count} {name}" for name, count in lot.items() if name in GOODS]
    return " and ".join(goods + [f"the {name}" for name in lot if name in ANIMALS])


def read(words: str) -> Counter[str]:
    lot = Counter({name: int(count) for count, name in re.findall(r"(\d+) (\w+)", words)})
    lot.update(re.findall(r"the (bull|bear)", words))
    return lot
