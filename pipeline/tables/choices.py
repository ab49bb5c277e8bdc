"""What a cell's subjects chose where there was a choice: by place in the list, and by move.

Beside every share stands what it would be for a player that takes each option alike.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import entr

from gauntlet.pipeline.log.schema import DecisionRecord

LEAST = 20
"""Decisions, or different questions, from which on a habit is spoken of."""

ORDINALS = ("first", "second", "third")


@dataclass
class Tally:
    """How often each value was taken, and how often a random player would have in the mean."""

    taken: Counter[Any] = field(default_factory=Counter)
    expected: defaultdict[Any, float] = field(default_factory=lambda: defaultdict(float))
    total: int = 0

    def add(self, value: Any, offered: Mapping[Any, float]) -> None:
        """offered: the values that were there, each with a random player's chance."""
        self.total += 1
        self.taken[value] += 1
        for each, chance in offered.items():
            self.expected[each] += chance

    def share(self, value: Any) -> float:
        return self.taken[value] / self.total

    def random(self, value: Any) -> float:
        return self.expected[value] / self.total

    @property
    def top(self) -> Any:
        """What was taken most often."""
        return max(self.taken, key=lambda value: self.taken[value])

    @property
    def bits(self) -> tuple[float, float]:
        """The entropy of what was taken, and of what a random player takes, in bits."""
        return _bits(self.taken), _bits(self.expected)

    def rows(self, kind: str) -> Iterator[dict[str, Any]]:
        """Rows of choices.csv, the most frequent first."""
        for value in sorted(self.expected, key=lambda value: -self.taken[value]):
            told = {"kind": kind, "value": str(value), "count": self.taken[value]}
            yield {**told, "share": self.share(value), "random": self.random(value)}


def _bits(counts: Mapping[Any, float]) -> float:
    """The entropy of what is counted, in bits; what `scipy.stats.entropy` gives, without its checks
    that take longer than a cell's other figures."""
    weights = np.array(list(counts.values()), float)
    return float(entr(weights / weights.sum()).sum() / np.log(2))


@dataclass
class Choices:
    """A cell's decisions with a choice.

    places: where in the game's list the option stood, from 1. moves: its text. last: how many were
    the last option, whatever its place. offered: how many decisions had so many options.
    """

    places: Tally = field(default_factory=Tally)
    moves: Tally = field(default_factory=Tally)
    last: int = 0
    offered: Counter[int] = field(default_factory=Counter)

    def add(self, decision: DecisionRecord) -> None:
        options, count = decision.options, len(decision.options)
        self.places.add(decision.chosen + 1, dict.fromkeys(range(1, count + 1), 1 / count))
        times = Counter(options)  # a game may name two options alike
        self.moves.add(decision.move, {move: n / count for move, n in times.items()})
        self.last += decision.chosen == count - 1
        self.offered[count] += 1

    @property
    def decisions(self) -> int:
        return self.places.total

    @property
    def options(self) -> float:
        """How many there were in the mean."""
        return sum(count * times for count, times in self.offered.items()) / self.decisions

    @property
    def habit(self) -> tuple[str, float, int]:
        """The place that was taken most often where the list had it: its name, that share, and at
        how many decisions it was there, LEAST or more; all decisions for the last option."""
        found = [("last", self.last / self.decisions, self.decisions)]
        for place, taken in self.places.taken.items():
            there = sum(times for count, times in self.offered.items() if count >= place)
            if there >= LEAST:
                found.append((ordinal(place), taken / there, there))
        return max(found, key=lambda one: (one[1], one[2]))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Rows of choices.csv."""
        yield from sorted(self.places.rows("place"), key=lambda row: int(row["value"]))
        ends = {"share": self.last / self.decisions, "random": self.places.random(1)}
        yield {"kind": "place", "value": "last", "count": self.last, **ends}
        yield from self.moves.rows("option")

    def figures(self) -> dict[str, Any]:
        """Columns of diagnostics.csv."""
        places, moves = self.places, self.moves
        found = {
            "decisions": self.decisions,
            "options": self.options,
            "first": places.share(1),
            "last": self.last / self.decisions,
            "end_random": places.random(1),  # a random player takes the last one as often
            "option": moves.top,
            "option_share": moves.share(moves.top),
            "option_random": moves.random(moves.top),
        }
        for name, tally in (("place", places), ("option", moves)):
            found[f"{name}_bits"], found[f"{name}_bits_random"] = tally.bits
        return found


def ordinal(place: int) -> str:
    return ORDINALS[place - 1] if place <= len(ORDINALS) else f"{place}th"
