"""What models replied: how often the same to different questions."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from gauntlet.models.exchanges import Exchange, ScoreExchange
from gauntlet.pipeline.log.schema import DecisionRecord
from gauntlet.pipeline.tables.choices import Tally

Kind = Literal["letter", "word", "text"]
"""A letter stands for an option of the prompt's list, as `A) draw`; a word that was scored does
not, such as a verdict on one option; a text was written."""

LOOKED = 20_000
"""Different questions of a kind whose replies are counted: those of a cell's first decisions."""

SHOWN = 20
"""The most frequent replies of a kind that choices.csv has."""


@dataclass
class Replies:
    """What was replied to different questions: one that was asked before is not counted again,
    as its answer is no news.

    letters: by place in the prompts' lists, as they stood before the model, from A.
    """

    asked: defaultdict[Kind, set[int]] = field(default_factory=lambda: defaultdict(set))
    said: defaultdict[Kind, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    letters: Tally = field(default_factory=Tally)

    def add(self, decision: DecisionRecord) -> None:
        for exchange in decision.asked:
            for question, kind, reply in _replies(exchange):
                asked = self.asked[kind]
                if question in asked or len(asked) >= LOOKED:
                    continue
                asked.add(question)
                self.said[kind][reply] += 1
                if isinstance(exchange, ScoreExchange) and kind == "letter":
                    choices = exchange.choices
                    self.letters.add(reply, dict.fromkeys(choices, 1 / len(choices)))

    @property
    def same(self) -> tuple[str, float, int] | None:
        """The reply that was given most often where replies name options: it, its share, and of
        how many different questions; None where nothing of the kind was asked."""
        found = []
        for kind in ("letter", "text"):
            if counts := self.said.get(kind):
                ((reply, times),) = counts.most_common(1)
                found.append((reply, times / counts.total(), counts.total()))
        return max(found, key=lambda one: one[2], default=None)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Rows of choices.csv."""
        if self.letters.total:
            yield from sorted(self.letters.rows("letter"), key=lambda row: str(row["value"]))
        for kind in ("word", "text"):
            counts = self.said.get(kind, Counter())
            for reply, times in counts.most_common(SHOWN):
                told = {"kind": kind, "value": reply, "count": times}
                yield {**told, "share": times / counts.total(), "random": math.nan}

    def figures(self) -> dict[str, Any]:
        """Columns of diagnostics.csv."""
        reply, share, questions = self.same or ("", math.nan, 0)
        random = self.letters.random(reply) if reply in self.letters.expected else math.nan
        return {
            "questions": questions,
            "reply": reply,
            "reply_share": share,
            "reply_random": random,
        }


def _replies(exchange: Exchange) -> Iterator[tuple[int, Kind, str]]:
    """Of every prompt which question it is, of what kind, and the likeliest or written answer."""
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
