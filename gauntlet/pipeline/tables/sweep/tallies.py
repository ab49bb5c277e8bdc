"""Counts of a cell's choices and replies, next to what a uniformly random player would do.

Matches end in any order, so nothing here depends on the order in which decisions are added: sums
are exact until they are rounded once, and of equal counts the first value comes first.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy.special import entr

from gauntlet.models.exchanges import Exchange, ScoreExchange
from gauntlet.pipeline.log.schema import DecisionRecord

LEAST = 20
"""Decisions, or different questions, needed to speak of a habit."""
ORDINALS = ("first", "second", "third")


@dataclass
class Tally:
    """How often each value was chosen, and how often it was on offer at each chance of a random
    player."""

    counts: Counter[Any] = field(default_factory=Counter)
    offers: defaultdict[Any, Counter[float]] = field(default_factory=lambda: defaultdict(Counter))
    total: int = 0

    def add(self, value: Any, chances: Mapping[Any, float]) -> None:
        """chances: a random player's, for each value on offer."""
        self.total += 1
        self.counts[value] += 1
        for each, chance in chances.items():
            self.offers[each][chance] += 1

    def share(self, value: Any) -> float:
        return self.counts[value] / self.total

    def expected(self, value: Any) -> float:
        """How often a random player would choose the value."""
        return math.fsum(chance * times for chance, times in self.offers[value].items())

    def random(self, value: Any) -> float:
        return self.expected(value) / self.total

    @property
    def ranking(self) -> list[Any]:
        """The values on offer, the most frequent first."""
        return sorted(self.offers, key=lambda value: (-self.counts[value], str(value)))

    @property
    def bits(self) -> tuple[float, float]:
        """The entropy of the choices, and of a random player's, in bits."""
        return _bits(self.counts.values()), _bits(map(self.expected, self.offers))

    def rows(self, kind: str) -> Iterator[dict[str, Any]]:
        """Rows of choices.csv, the most frequent first."""
        for value in self.ranking:
            row = {"kind": kind, "value": str(value), "count": self.counts[value]}
            yield {**row, "share": self.share(value), "random": self.random(value)}


def _bits(counts: Iterable[float]) -> float:
    """The entropy in bits; as `scipy.stats.entropy`, whose checks are slow."""
    weights = np.array(sorted(counts), float)
    return float(entr(weights / weights.sum()).sum() / np.log(2))


@dataclass
class Choices:
    """A cell's decisions with a choice.

    places: of the chosen option in the game's list, from 1. moves: its text. last: how often it
    was the last option. lengths: how many decisions had that many options.
    """

    places: Tally = field(default_factory=Tally)
    moves: Tally = field(default_factory=Tally)
    last: int = 0
    lengths: Counter[int] = field(default_factory=Counter)

    def add(self, decision: DecisionRecord) -> None:
        options, count = decision.options, len(decision.options)
        self.places.add(decision.chosen + 1, dict.fromkeys(range(1, count + 1), 1 / count))
        times = Counter(options)  # a game may have two options of one name
        self.moves.add(decision.move, {move: n / count for move, n in times.items()})
        self.last += decision.chosen == count - 1
        self.lengths[count] += 1

    @property
    def decisions(self) -> int:
        return self.places.total

    @property
    def habit(self) -> tuple[str, float, int]:
        """The most frequent place: its name, its share of the decisions that had it, and their
        number, at least LEAST; the last option is in all decisions."""
        habits = [("last", self.last / self.decisions, self.decisions)]
        for place, times in sorted(self.places.counts.items()):
            offered = sum(n for length, n in self.lengths.items() if length >= place)
            if offered >= LEAST:
                name = ORDINALS[place - 1] if place <= len(ORDINALS) else f"{place}th"
                habits.append((name, times / offered, offered))
        return max(habits, key=lambda habit: habit[1:])

    def rows(self) -> Iterator[dict[str, Any]]:
        """Rows of choices.csv."""
        yield from sorted(self.places.rows("place"), key=lambda row: int(row["value"]))
        shares = {"share": self.last / self.decisions, "random": self.places.random(1)}
        yield {"kind": "place", "value": "last", "count": self.last, **shares}
        yield from self.moves.rows("option")

    def diagnostics(self) -> dict[str, Any]:
        """Columns of diagnostics.csv."""
        places, moves = self.places, self.moves
        row = {
            "decisions": self.decisions,
            "options": sum(n * times for n, times in self.lengths.items()) / self.decisions,
            "first": places.share(1),
            "last": self.last / self.decisions,
            "end_random": places.random(1),  # the last one is as likely
            "option": (top := moves.ranking[0]),
            "option_share": moves.share(top),
            "option_random": moves.random(top),
        }
        for name, tally in (("place", places), ("option", moves)):
            row[f"{name}_bits"], row[f"{name}_bits_random"] = tally.bits
        return row


Kind = Literal["letter", "word", "text"]
"""A letter stands for an option of the prompt's list, as `A) draw`; other scored words do not, such
as a verdict on one option; a text was generated."""
NAMING: tuple[Kind, ...] = ("letter", "text")
WRITTEN: tuple[Kind, ...] = ("word", "text")
MOST_QUESTIONS = 20_000
"""Different questions of a kind whose replies are counted: those of a cell's first decisions."""
MOST_REPLIES = 20
"""The most frequent replies of a kind that choices.csv has."""


Position = tuple[int, int, int, int]
"""Deal, rotation, decision and prompt of a reply."""


@dataclass
class Replies:
    """The replies to different questions; of a repeated question the first one counts.

    first: by kind and question, where it was first asked, the reply, and the letters of its list.
    """

    first: defaultdict[Kind, dict[int, tuple[Position, str, tuple[str, ...]]]] = field(
        default_factory=lambda: defaultdict(dict)
    )

    def add(self, decision: DecisionRecord, deal: int, rotation: int, at: int) -> None:
        """at: the decision's number in its match."""
        prompt = 0
        for exchange in decision.asked:
            letters = exchange.choices if isinstance(exchange, ScoreExchange) else ()
            for question, kind, reply in _replies(exchange):
                position, questions = (deal, rotation, at, prompt), self.first[kind]
                prompt += 1
                if question in questions and questions[question][0] <= position:
                    continue
                questions[question] = position, reply, letters
                if len(questions) >= 2 * MOST_QUESTIONS:
                    self.first[kind] = dict(_earliest(questions))

    def replies(self, kind: Kind) -> list[tuple[str, tuple[str, ...]]]:
        """The replies that count, in the order of their questions, each with its letters."""
        return [(reply, letters) for _, (_, reply, letters) in _earliest(self.first.get(kind, {}))]

    def counts(self, kind: Kind) -> Counter[str]:
        """How often each reply came."""
        return Counter(reply for reply, _ in self.replies(kind))

    @property
    def letters(self) -> Tally:
        """The letters by position in the prompt's list, from A."""
        tally = Tally()
        for reply, letters in self.replies("letter"):
            tally.add(reply, dict.fromkeys(letters, 1 / len(letters)))
        return tally

    @property
    def top(self) -> tuple[str, float, int] | None:
        """The most frequent reply that names an option: it, its share, and the number of different
        questions; None if there were none."""
        tops = []
        for kind in NAMING:
            if counts := self.counts(kind):
                ((reply, times),) = counts.most_common(1)
                tops.append((reply, times / counts.total(), counts.total()))
        return max(tops, key=lambda top: top[2], default=None)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Rows of choices.csv."""
        yield from sorted(self.letters.rows("letter"), key=lambda row: str(row["value"]))
        for kind in WRITTEN:
            counts = self.counts(kind)
            for reply, times in counts.most_common(MOST_REPLIES):
                row = {"kind": kind, "value": reply, "count": times}
                yield {**row, "share": times / counts.total(), "random": math.nan}

    def diagnostics(self) -> dict[str, Any]:
        """Columns of diagnostics.csv."""
        reply, share, questions = self.top or ("", math.nan, 0)
        letters = self.letters
        random = letters.random(reply) if reply in letters.offers else math.nan
        row = {"questions": questions, "reply": reply}
        return {**row, "reply_share": share, "reply_random": random}


def _earliest(questions: Mapping[int, Any]) -> list[tuple[int, Any]]:
    """The first questions, at most MOST_QUESTIONS, in their order."""
    return heapq.nsmallest(MOST_QUESTIONS, questions.items(), key=lambda item: item[1])


def _replies(exchange: Exchange) -> Iterator[tuple[int, Kind, str]]:
    """For every prompt the question's hash, its kind, and the likeliest or generated answer."""
    prompt = exchange.static, exchange.shared, exchange.turns
    if not isinstance(exchange, ScoreExchange):
        yield hash(prompt), "text", exchange.text.strip()
        return
    first = "\n" + exchange.shared + exchange.branches[0]
    listed = all(f"\n{choice}) " in first for choice in exchange.choices)
    for branch, row in zip(exchange.branches, exchange.logprobs, strict=True):
        known = [-math.inf if value is None else value for value in row]
        likeliest = exchange.choices[known.index(max(known))]
        yield hash((*prompt, branch)), "letter" if listed else "word", likeliest
