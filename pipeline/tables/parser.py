"""The parser's audit: how the replies of every cell were read, and examples of what was not plain.

A parser that guesses, or a limit on a reply's length, may settle a result that is taken for the
model's. So every cell tells how many replies of each of `reply_classification.KINDS` it had, and
what became of the decisions.

DIR/parser.csv            a row a cell that asked a model
DIR/parser_examples.csv   the first few of every kind, with the end of the question
"""

from __future__ import annotations

from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import fill

import pandas as pd

from gauntlet.common.sanitize import visible
from gauntlet.models.exchanges import ScoreExchange
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord
from gauntlet.pipeline.tables.numbers import percent
from gauntlet.pipeline.tables.reply_classification import (
    KINDS,
    Judged,
    asked_again,
    judged,
    truncated,
)
from gauntlet.pipeline.tables.table import Sheet
from gauntlet.pipeline.viewer.match import decision_view

FILE, EXAMPLES_FILE = "parser.csv", "parser_examples.csv"
EXAMPLES = 3
"""Of a cell and a kind: those of its first deals."""
FOOT = 98
"""Characters of a line below the table."""
LINES, CHARACTERS = 12, 4000
"""Of the end of a question, and of a reply, that an example holds."""

DECISIONS = ("reasked", "recovered", "fallbacks")
COLUMNS = ["cell", "decisions", "replies", *KINDS, "unreported", *DECISIONS]
"""parser.csv. decisions: the subjects', for which a model was asked; replies: all that it gave,
scored choices once a request. The kinds are in `reply_classification.KINDS`; a reply may be of
several. unreported: choices that it gave no probability. Of decisions: reasked, those that were
asked for again after a reply that could not be used; recovered, those with such a reply which
another reply of the model settled; fallbacks, those that none did."""
EXAMPLE_COLUMNS = ["cell", "kinds", "match", "deal", "rotation", "question", "reply", "outcome"]


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

    @property
    def row(self) -> dict[str, int]:
        return {name: self.counts[name] for name in COLUMNS[1:]}


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


@dataclass(frozen=True)
class Audited:
    """A folder's audit: a row a cell that asked a model, and the examples of each by name."""

    table: pd.DataFrame
    examples: Mapping[str, Sequence[Example]]

    @classmethod
    def of(cls, audits: Mapping[str, Audit]) -> Audited:
        asked = {name: one for name, one in audits.items() if one.counts["decisions"]}
        rows = [{"cell": name, **one.row} for name, one in asked.items()]
        examples = {name: one.examples for name, one in asked.items()}
        return cls(pd.DataFrame(rows, columns=COLUMNS), examples)

    @property
    def listed(self) -> pd.DataFrame:
        """parser_examples.csv."""
        rows = [
            [
                cell,
                one.told,
                one.match,
                one.deal,
                one.rotation,
                one.question,
                one.reply,
                one.outcome,
            ]
            for cell, some in self.examples.items()
            for one in some
        ]
        return pd.DataFrame(rows, columns=EXAMPLE_COLUMNS)

    @property
    def line(self) -> str:
        """That all was plainly read, where it was and a model was asked at all."""
        if self.table.empty or _odd(self.table):
            return ""
        return f"Replies: all {self.table['replies'].sum():,} were read at once."


def _odd(table: pd.DataFrame) -> list[str]:
    """The kinds that there are."""
    return [name for name in (*KINDS, "unreported", *DECISIONS) if table[name].any()]


def sheets(found: Audited, names: Mapping[str, str]) -> Iterator[Sheet]:
    """The table for a person, of the columns in which there is anything; none where all was plainly
    read. names: by the cell."""
    odd = _odd(found.table)
    if not odd:
        return
    kinds = [kind for kind in KINDS if kind in odd]
    taken = [name for name in DECISIONS if name in odd]
    rows = [
        (
            names[row["cell"]],
            f"{row['replies']:,}",
            *(percent(row[kind] / row["replies"]) for kind in kinds),
            *([f"{row['unreported']:,}"] if "unreported" in odd else []),
            f"{row['decisions']:,}",
            *(percent(row[name] / row["decisions"]) for name in taken),
        )
        for _, row in found.table.iterrows()
    ]
    headings = [SHORT.get(name, name) for name in kinds]
    headings += ["unreported"] * ("unreported" in odd)
    headings = ["cell", "replies", *headings, "decisions", *(SHORT.get(one, one) for one in taken)]
    meant = [f"{SHORT.get(name, name)}: {MEANT[name]}." for name in odd if name in MEANT]
    foot = fill("Of the subject's. " + " ".join(meant), FOOT, break_on_hyphens=False)
    yield Sheet("What was wrong with replies", headings, rows, foot, FILE)


SHORT = {"truncated": "cut", "fallbacks": "fallback", "reasked": "re-asked"}
MEANT = {
    "malformed": "not in the form asked for",
    "illegal": "names no option",
    "ambiguous": "names several options as its answer",
    "truncated": "as long as it was allowed to be",
    "unreported": "choices to which the model gave no probability",
    "reasked": "after an unusable reply",
    "recovered": "settled by a reply although another was unusable",
    "fallbacks": "settled by none",
}


@dataclass(frozen=True)
class Part:
    """What the page shows of a cell: its examples."""

    title: str
    examples: Sequence[Example]


def parts(found: Audited, names: Mapping[str, str], cells: int) -> list[Part]:
    """The first cells with examples, so many."""
    told = [Part(names[cell], some) for cell, some in found.examples.items() if some]
    return told[:cells]


def opening(reply: str, most: int = 60) -> str:
    """How a reply begins, in a line."""
    line = " ".join(visible(reply).split())
    return f"{line[:most]} ..." if len(line) > most else line or "(nothing)"
