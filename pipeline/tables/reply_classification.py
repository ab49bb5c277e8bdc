"""What came of each reply of a decision, read off the record: what a method noted, and what can be
seen of the reply itself, without trust in the parser that read it."""

from __future__ import annotations

import json
import re
from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gauntlet.agents.base import Status
from gauntlet.agents.prompting.answers import option_called
from gauntlet.agents.prompting.reading import AFTER, WRAPPED, folded
from gauntlet.agents.prompting.words import MALFORMED
from gauntlet.models.exchanges import Exchange, ScoreExchange, TextExchange
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord
from gauntlet.pipeline.viewer.match import decision_view

BAD: tuple[Status, ...] = ("malformed", "illegal", "ambiguous")
"""What came of a reply that could not be used."""
ACTION = re.compile(r'"action"\s*:\s*("(?:[^"\\]|\\.)*"|\d+)')


KINDS = ("malformed", "illegal", "ambiguous", "truncated", "empty")
"""malformed: it has not the form that was asked for. illegal: what it names is no option.
ambiguous: it names several options in the place of an answer, whether or not one of them was taken.
truncated: as long as it was allowed to be. empty: without a word."""


@dataclass(frozen=True)
class Judged:
    """A reply. exchange: the number of the one it is of. text: None of scored choices. kinds: those
    of `KINDS` that it is of; () where it was plainly read. unusable: whether nothing came of it,
    where an odd one may well have been taken."""

    exchange: int
    text: str | None
    kinds: tuple[str, ...]
    unusable: bool


def judged(decision: DecisionRecord) -> list[Judged]:
    """Every reply of a decision, in order; choices that were scored are one a request."""
    verdicts, found = iter(_verdicts(decision)), []
    for at, exchange in enumerate(decision.asked):
        if isinstance(exchange, TextExchange):
            cut = truncated(exchange) == exchange.n
            for text in (exchange.text, *exchange.others):
                found.append(_judged(at, text, next(verdicts), decision.options, cut))
        else:
            verdict = decision.status if _settled_by_scores(decision) else "ok"
            unusable = verdict in BAD
            found.append(Judged(at, None, (verdict,) * unusable, unusable))
    return found


def _settled_by_scores(decision: DecisionRecord) -> bool:
    """Whether what is wrong with the decision is so of the choices that were scored."""
    written = any(isinstance(one, TextExchange) for one in decision.asked)
    return decision.fallback and not written


def _judged(exchange: int, text: str, verdict: Any, options: Sequence[str], cut: bool) -> Judged:
    unusable = verdict in BAD
    taken = isinstance(verdict, int) and 0 <= verdict < len(options)
    several = taken and ambiguous(text, options, options[verdict])
    kinds = [str(verdict)] * unusable + ["ambiguous"] * several
    kinds += ["truncated"] * cut + ["empty"] * (not text.strip())
    return Judged(exchange, text, tuple(kinds), unusable)


def truncated(exchange: TextExchange) -> int:
    """How many of its texts are as long as they were allowed to be: of one it is known, of several
    that were counted together the least that there can be."""
    longest, (_, written) = exchange.settings[0], exchange.tokens
    least = written - exchange.n * (longest - 1)
    return min(max(least, 0), exchange.n) if longest > 0 else 0


def asked_again(decision: DecisionRecord, replies: Sequence[Judged]) -> bool:
    """Whether the conversation went on after a reply that could not be used."""
    for at, exchange in enumerate(decision.asked):
        before = {one.text for one in replies if one.unusable and one.exchange < at}
        if exchange.turns and _goes_on(exchange) in before:
            return True
    return False


def _goes_on(exchange: Exchange) -> str | None:
    """The reply that an exchange goes on from."""
    return exchange.turns[-1][0] if exchange.turns else None


def _verdicts(decision: DecisionRecord) -> list[Any]:
    """What came of each text: as the method noted it under "answers"; behind that of words that go
    with an option, by their faults. A method that notes nothing is taken to have gone on from a
    reply because that would not do."""
    texts = [
        (at, text)
        for at, one in enumerate(decision.asked)
        if isinstance(one, TextExchange)
        for text in (one.text, *one.others)
    ]
    noted, told_faults = decision.notes.get("answers"), decision.notes.get("faults")
    faults = told_faults if isinstance(told_faults, list | tuple) else ()
    if noted is not None and len(noted) >= len(texts):
        return list(noted)
    told = list(noted or ())
    rest = texts[len(told) :]
    if noted is not None or len(faults) >= len(rest) - (not decision.fallback):
        wrong: list[Any] = ["malformed" if one == MALFORMED else "illegal" for one in faults]
        return [*told, *wrong, *["ok"] * (len(rest) - len(wrong))][: len(texts)]
    going = {_goes_on(one) for one in decision.asked}
    return ["malformed" if text in going else _last(decision, at) for at, text in texts]


def _last(decision: DecisionRecord, at: int) -> str:
    """What came of a reply that nothing followed."""
    ended = decision.fallback and at == len(decision.asked) - 1
    return decision.status if ended else "ok"


def ambiguous(text: str, options: Sequence[str], taken: str) -> bool:
    """Whether a reply of which this option was taken names others in the same way: as the action of
    a JSON object, between < and >, behind "Move:"; or, where it does not stand in such a place, in
    the midst of words."""
    for named in (_marked(text, options), _mentioned(text, options)):
        if folded(taken) in named:
            return len(named) > 1
    return False


def _marked(text: str, options: Sequence[str]) -> set[str]:
    said = [*re.findall(WRAPPED, text)]
    said += [part.split("\n")[0].strip(" .*\t<>") for part in re.split(AFTER, text)[1:]]
    names = {folded(option) for option in options}
    found = {folded(one) for one in said} & names
    for written in ACTION.findall(text):
        option = option_called(_string(written), options)
        found |= {folded(options[option])} if isinstance(option, int) else set()
    return found


def _string(written: str) -> str:
    """A JSON string or number as text."""
    try:
        return str(json.loads(written, strict=False)).strip()
    except ValueError:
        return ""


def _mentioned(text: str, options: Sequence[str]) -> set[str]:
    """The options whose names stand in the text as words of their own; of one within another the
    longer."""
    left, found = text.casefold(), set()
    for option in sorted(dict.fromkeys(options), key=len, reverse=True):
        words = re.compile(rf"(?<!\w){re.escape(option.casefold())}(?!\w)")
        left, times = words.subn("\n", left)
        found |= {folded(option)} if times else set()
    return found


# --- the replies of a cell

EXAMPLES = 3
"""Of a cell and a kind: those of its first deals."""
LINES, CHARACTERS = 12, 4000
"""Of the end of a question, and of a reply, that an example holds."""


@dataclass(frozen=True, order=True)
class Found:
    """Where an example stands in a cell's records; in this order examples are chosen."""

    deal: int
    rotation: int
    decision: int
    reply: int


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
    def told(self) -> str:
        """What was wrong or odd with it."""
        return ", ".join(self.kinds)


@dataclass
class Audit:
    """What one cell's records tell of how its replies were read."""

    counts: Counter[str] = field(default_factory=Counter)
    first: defaultdict[str, list[Found]] = field(default_factory=lambda: defaultdict(list))
    kept: dict[Found, Example] = field(default_factory=dict)

    def add(self, record: MatchRecord) -> None:
        for at, decision in enumerate(record.decisions):
            if decision.seat in record.subjects and decision.asked:
                self._decision(record, at, decision)

    def _decision(self, record: MatchRecord, at: int, decision: DecisionRecord) -> None:
        counts, replies = self.counts, judged(decision)
        wrong = any(one.unusable for one in replies)
        counts["decisions"] += 1
        counts["replies"] += len(replies)
        counts["fallbacks"] += decision.fallback
        counts["recovered"] += wrong and not decision.fallback
        counts["reasked"] += wrong and asked_again(decision, replies)
        for exchange in decision.asked:
            if isinstance(exchange, ScoreExchange):
                counts["unreported"] += exchange.unreported
            else:
                counts["truncated"] += truncated(exchange)
        for number, one in enumerate(replies):
            counts.update(kind for kind in one.kinds if kind != "truncated")
            for kind in one.kinds:
                self._keep(kind, Found(record.deal, record.rotation, at, number), record, one)

    def _keep(self, kind: str, place: Found, record: MatchRecord, reply: Judged) -> None:
        first = self.first[kind]
        if len(first) == EXAMPLES and place > first[-1]:
            return
        insort(first, place)
        self.kept[place] = _example(record, record.decisions[place.decision], reply)
        if len(first) > EXAMPLES:
            out = first.pop()
            if all(out not in some for some in self.first.values()):
                del self.kept[out]

    @property
    def examples(self) -> list[Example]:
        return [self.kept[place] for place in sorted(self.kept)]


def _example(record: MatchRecord, decision: DecisionRecord, reply: Judged) -> Example:
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
