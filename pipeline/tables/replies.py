"""What models replied: how often the same to different questions, and a few samples to look at."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from gauntlet.common.sanitize import visible
from gauntlet.models.exchanges import Exchange, ScoreExchange
from gauntlet.pipeline.log.outcomes import Outcomes
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord
from gauntlet.pipeline.tables.choices import Tally

Kind = Literal["letter", "word", "text"]
"""A letter stands for an option of the prompt's list, as `A) draw`; a word that was scored does
not, such as a verdict on one option; a text was written."""

LOOKED = 20_000
"""Different questions of a kind whose replies are counted: those of a cell's first decisions."""

SAMPLES, LINES, CHARACTERS, LIKELIEST = 5, 12, 600, 5
"""Samples of a cell; lines of a question and characters of a reply that one shows; and how many
scored answers."""

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


@dataclass(frozen=True)
class Sample:
    """A decision to look at: the end of what was asked last, and what came of it.

    prompt: what was asked last, as it was sent; the first of several such.
    """

    match: str
    deal: int
    question: str
    reply: str
    chosen: str
    status: str
    prompt: str

    @property
    def text(self) -> str:
        return visible(
            f"match {self.match}, deal {self.deal}\n{self.question}\n"
            f"-> {self.reply}\n=> {self.chosen} ({self.status})\n"
        )


def picked(outcomes: Outcomes) -> dict[str, float]:
    """SAMPLES matches evenly over the deals, each with a share of its decisions to go to: one from
    each stretch of those that have decisions, always the same ones of the same matches."""
    rng = np.random.default_rng(0)
    own = outcomes.column("match")[outcomes.column("decisions") > 0]
    stretches = np.array_split(own, min(SAMPLES, len(own)) or 1)
    return {rng.choice(some).decode(): float(rng.random()) for some in stretches if len(some)}


def asked_at(decisions: Sequence[DecisionRecord], at: float) -> DecisionRecord | None:
    """The decision that lies `at` this share of those that a model was asked for; None where it was
    asked for none."""
    asked = [decision for decision in decisions if decision.asked]
    return asked[int(at * len(asked))] if asked else None


def sample(record: MatchRecord, decision: DecisionRecord) -> Sample:
    """A decision of the record that a model was asked for."""
    exchange = decision.asked[-1]
    branch = exchange.branches[0] if isinstance(exchange, ScoreExchange) else ""
    prompt = exchange.prompt(known_statics(decision, record.statics), branch).text
    status = "a fallback took it" if decision.fallback else "its choice"
    return Sample(
        match=record.match,
        deal=record.deal,
        question="\n".join(prompt.splitlines()[-LINES:]),
        reply=told(exchange),
        chosen=decision.move,
        status=status if decision.status == "ok" else f"{decision.status}: {status}",
        prompt=prompt,
    )


def known_statics(decision: DecisionRecord, statics: Mapping[str, str]) -> Mapping[str, str]:
    """The texts that the decision's prompts share; one that stood in a damaged line is left out."""
    return {name: statics.get(name, "") for one in decision.asked for name in one.named}


def told(exchange: Exchange) -> str:
    """What was written, or the likeliest answers to the first prompt with their chances."""
    if not isinstance(exchange, ScoreExchange):
        return repr(exchange.text[:CHARACTERS])
    row = zip(exchange.choices, exchange.logprobs[0], strict=True)
    chances = {choice: 0.0 if value is None else math.exp(value) for choice, value in row}
    best = sorted(chances, key=lambda choice: -chances[choice])[:LIKELIEST]
    listed = ", ".join(f"{choice} {chances[choice]:.3f}" for choice in best)
    prompts = len(exchange.branches)
    return f"{listed} (to the first of {prompts} prompts)" if prompts > 1 else listed
