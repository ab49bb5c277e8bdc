"""How each reply was read, from the record alone: from the method's notes, and from the reply
itself, independently of the parser that read it."""

from __future__ import annotations

import json
import re
from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gauntlet.agents.base import NO_ANSWERS, WRONG_ANSWERS, Status, finish_status
from gauntlet.agents.prompting.answers import AFTER, WRAPPED, folded, option_called
from gauntlet.models.exchanges import ScoreExchange, TextExchange
from gauntlet.pipeline.log.replies import continued_text, verdicts
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord
from gauntlet.pipeline.viewer.match import decision_view

BAD: tuple[Status, ...] = (*WRONG_ANSWERS, *NO_ANSWERS)
"""Verdicts on an unusable reply."""
KINDS = (*WRONG_ANSWERS, *NO_ANSWERS, "empty")
"""Of `agents.base.Status`; a reply may be of several. ambiguous and those of NO_ANSWERS count
whether or not the reply was used. empty: no words."""
ACTION = re.compile(r'"action"\s*:\s*("(?:[^"\\]|\\.)*"|\d+)')


@dataclass(frozen=True)
class Verdict:
    """A judged reply. exchange: its number. text: None for scored choices. kinds: of `KINDS`.
    unusable: nothing came of it; an odd reply may still have been used."""

    exchange: int
    text: str | None
    kinds: tuple[str, ...]
    unusable: bool


def classify(decision: DecisionRecord) -> list[Verdict]:
    """Every reply of a decision, in order; scored choices are one per request."""
    read, replies = iter(verdicts(decision)), []
    written = any(isinstance(one, TextExchange) for one in decision.asked)
    scored = decision.status if decision.fallback and not written else "ok"
    for at, exchange in enumerate(decision.asked):
        if not isinstance(exchange, TextExchange):
            unusable = scored in BAD
            replies.append(Verdict(at, None, (scored,) if unusable else (), unusable))
            continue
        for sample, text in enumerate(exchange.texts):
            verdict: Any = next(read)
            kinds = [str(verdict)] if verdict in BAD else []
            options = decision.options
            used = isinstance(verdict, int) and 0 <= verdict < len(options)
            if used and ambiguous(text, options, options[verdict]):
                kinds.append("ambiguous")
            if (status := finish_status(exchange.detail(sample).finish)) != "ok":
                kinds.append(status)
            if not text.strip():
                kinds.append("empty")
            replies.append(Verdict(at, text, tuple(dict.fromkeys(kinds)), verdict in BAD))
    return replies


def reprompted(decision: DecisionRecord, replies: Sequence[Verdict]) -> bool:
    """Whether the model was asked again after an unusable reply."""
    if decision.notes.get("again"):
        return True
    for at, exchange in enumerate(decision.asked):
        unusable = {one.text for one in replies if one.unusable and one.exchange < at}
        if exchange.turns and continued_text(exchange) in unusable:
            return True
    return False


def ambiguous(text: str, options: Sequence[str], used: str) -> bool:
    """Whether a reply names further options in the same way as the used one: as the action of a
    JSON object, between < and >, after "Move:"; or, if it is in no such place, among its words."""
    for names in (_marked(text, options), _mentioned(text, options)):
        if folded(used) in names:
            return len(names) > 1
    return False


def _marked(text: str, options: Sequence[str]) -> set[str]:
    parts = [*re.findall(WRAPPED, text)]
    parts += [part.split("\n")[0].strip(" .*\t<>") for part in re.split(AFTER, text)[1:]]
    names = {folded(part) for part in parts} & {folded(option) for option in options}
    for action in ACTION.findall(text):
        option = option_called(_json_string(action), options)
        names |= {folded(options[option])} if isinstance(option, int) else set()
    return names


def _json_string(value: str) -> str:
    """A JSON string or number as text."""
    try:
        return str(json.loads(value, strict=False)).strip()
    except ValueError:
        return ""


def _mentioned(text: str, options: Sequence[str]) -> set[str]:
    """The options whose names occur in the text as separate words, the longest match first."""
    rest, names = text.casefold(), set()
    for option in sorted(dict.fromkeys(options), key=len, reverse=True):
        words = re.compile(rf"(?<!\w){re.escape(option.casefold())}(?!\w)")
        rest, times = words.subn("\n", rest)
        names |= {folded(option)} if times else set()
    return names


# --- the replies of a cell

EXAMPLES = 3
"""Examples of each kind, from a cell's first deals."""
LINES, CHARACTERS = 12, 4000
"""The end of a question, and the part of a reply, that an example holds."""

Position = tuple[int, int, int, int]
"""Deal, rotation, decision and reply of an example; examples are chosen in this order."""


@dataclass(frozen=True)
class Example:
    """A reply that was not plainly read, and what came of the decision."""

    kinds: tuple[str, ...]
    match: str
    deal: int
    rotation: int
    question: str
    reply: str
    outcome: str

    @property
    def label(self) -> str:
        return ", ".join(self.kinds)


@dataclass
class Audit:
    """How one cell's replies were read."""

    counts: Counter[str] = field(default_factory=Counter)
    first: defaultdict[str, list[Position]] = field(default_factory=lambda: defaultdict(list))
    stored: dict[Position, Example] = field(default_factory=dict)

    def add(self, record: MatchRecord) -> None:
        for at, decision in enumerate(record.decisions):
            if decision.seat in record.subjects and decision.asked:
                self._add_decision(record, at, decision)

    def _add_decision(self, record: MatchRecord, at: int, decision: DecisionRecord) -> None:
        counts, replies = self.counts, classify(decision)
        unusable = any(one.unusable for one in replies)
        counts["decisions"] += 1
        counts["replies"] += len(replies)
        counts["fallbacks"] += decision.fallback
        counts["recovered"] += unusable and not decision.fallback
        counts["reasked"] += unusable and reprompted(decision, replies)
        for exchange in decision.asked:
            if isinstance(exchange, ScoreExchange):
                counts["unreported"] += exchange.unreported
        for number, one in enumerate(replies):
            counts.update(one.kinds)
            for kind in one.kinds:
                self._store(kind, (record.deal, record.rotation, at, number), record, one)

    def _store(self, kind: str, place: Position, record: MatchRecord, reply: Verdict) -> None:
        first = self.first[kind]
        if len(first) == EXAMPLES and place > first[-1]:
            return
        insort(first, place)
        self.stored[place] = _example(record, record.decisions[place[2]], reply)
        if len(first) > EXAMPLES:
            dropped = first.pop()
            if all(dropped not in places for places in self.first.values()):
                del self.stored[dropped]

    @property
    def matches(self) -> list[str]:
        """Those of the examples."""
        return [example.match for example in self.examples]

    @property
    def examples(self) -> list[Example]:
        return [self.stored[place] for place in sorted(self.stored)]


def _example(record: MatchRecord, decision: DecisionRecord, reply: Verdict) -> Example:
    prompt = decision_view(decision, record.statics).firsts[reply.exchange]
    return Example(
        kinds=reply.kinds,
        match=record.match,
        deal=record.deal,
        rotation=record.rotation,
        question=prompt.tail(LINES),
        reply=prompt.answer if reply.text is None else reply.text[:CHARACTERS],
        outcome=f"{'a fallback took' if decision.fallback else 'it took'} {decision.move}",
    )
