"""The parser's audit: how every cell's replies were read, with examples of unclear ones.

A parser that guesses, or a limit on length, may produce a result that looks like the model's. So
each cell's replies are counted by `reply_audit.KINDS`, with what became of the decisions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from gauntlet.common.sanitize import visible
from gauntlet.pipeline.tables.media.sheets import Column, View, cell_name, count, share
from gauntlet.pipeline.tables.registry import Part, Results, columns, table
from gauntlet.pipeline.tables.sweep.diagnostics import record_stats
from gauntlet.pipeline.tables.sweep.reply_audit import KINDS, Audit, Example

DECISIONS = ("reasked", "recovered", "fallbacks")
MEANINGS = {
    "malformed": "not in the form asked for",
    "illegal": "names no option",
    "ambiguous": "names several options as its answer",
    "truncated": "cut off by the token limit",
    "context": "cut off as the model's context was full",
    "loop": "ended as it repeated itself",
    "tool": "a call of a tool",
    "refused": "refused by the model",
    "filtered": "withheld by the server",
    "paused": "to be continued, says the server",
    "failed": "broken off by the server",
    "unknown": "ended for a reason that the protocol does not list",
    "empty": "without a word",
    "unreported": "choices to which the model gave no probability",
    "reasked": "after an unusable reply",
    "recovered": "settled by a reply although another was unusable",
    "fallbacks": "settled by none",
}
SHORT = {"truncated": "cut", "fallbacks": "fallback", "reasked": "re-asked"}
COLUMNS = {
    **columns("cell"),
    "decisions": "decisions of the subjects for which a model was asked",
    "replies": "replies to them; scored choices count once a request",
    **{kind: f"replies: {MEANINGS[kind]}; a reply may be of several kinds" for kind in KINDS},
    "unreported": MEANINGS["unreported"],
    **{name: f"decisions: {MEANINGS[name]}" for name in DECISIONS},
}
EXAMPLE_COLUMNS = {
    **columns("cell"),
    "kinds": "what was wrong or odd with the reply",
    "match": "the match's id",
    "deal": "its deal",
    "rotation": "its rotation",
    "question": "the end of the prompt",
    "reply": "the reply",
    "outcome": "what came of the decision",
}


def audits(results: Results) -> dict[str, Audit]:
    """By cell, of those that asked a model."""
    stats = results.cached(record_stats).items()
    return {name: own.audit for name, own in stats if own.audit.counts["decisions"]}


def oddities(table: pd.DataFrame) -> list[str]:
    """The kinds that occur."""
    return [name for name in MEANINGS if table[name].any()]


def summary_line(results: Results) -> str:
    """That all replies were plainly read, if so; else ""."""
    rows = results["parser"]
    if rows.empty or oddities(rows):
        return ""
    return f"Replies: all {rows['replies'].sum():,} were read at once."


def _columns(part: Part) -> list[Column]:
    """Those with any nonzero value."""
    heads = {name: SHORT.get(name, name) for name in oddities(part.rows)}
    replies = [Column(heads[name], share(name, "replies")) for name in heads if name in KINDS]
    if "unreported" in heads:
        replies.append(Column("unreported", count("unreported")))
    decisions = [Column(heads[n], share(n, "decisions")) for n in heads if n in DECISIONS]
    first = [Column("cell", cell_name), Column("replies", count("replies"))]
    return [*first, *replies, Column("decisions", count("decisions")), *decisions]


def _foot(part: Part) -> str:
    words = [f"{SHORT.get(name, name)}: {MEANINGS[name]}." for name in oddities(part.rows)]
    return " ".join(["Of the subject's.", *words])


READ = View(
    "What was wrong with replies",
    _columns,
    _foot,
    lambda rows: rows if oddities(rows) else rows.head(0),
)


@table("parser", COLUMNS, [READ], place=20)
def parser(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each cell that asked a model."""
    for name, audit in results.cached(audits).items():
        yield {**{column: audit.counts[column] for column in COLUMNS}, "cell": name}


@table("parser_examples", EXAMPLE_COLUMNS)
def parser_examples(results: Results) -> Iterator[dict[str, Any]]:
    """The first few replies of every kind."""
    for name, audit in results.cached(audits).items():
        for one in audit.examples:
            row = {column: getattr(one, column) for column in [*EXAMPLE_COLUMNS][2:]}
            yield {"cell": name, "kinds": one.label, **row}


def page_examples(results: Results, cells: int) -> Sequence[tuple[str, Sequence[Example]]]:
    """The first cells with examples, by the cell's name."""
    audited = results.cached(audits).items()
    examples = [(results.names[name], audit.examples) for name, audit in audited if audit.examples]
    return examples[:cells]


def opening(reply: str, most: int = 60) -> str:
    """A reply's beginning, in a line."""
    line = " ".join(visible(reply).split())
    return f"{line[:most]} ..." if len(line) > most else line or "(nothing)"
