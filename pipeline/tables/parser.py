"""The parser's audit: how the replies of every cell were read, and examples of what was not plain.

A parser that guesses, or a limit on a reply's length, may settle a result that is taken for the
model's. So every cell tells how many replies of each of `reply_classification.KINDS` it had, and
what became of the decisions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import pandas as pd

from gauntlet.common.sanitize import visible
from gauntlet.pipeline.tables.diagnostics import seen
from gauntlet.pipeline.tables.registry import Part, Results, table
from gauntlet.pipeline.tables.reply_classification import KINDS, Audit, Example
from gauntlet.pipeline.tables.sheets import Column, View, cell_name, count, share

FOOT = 98
"""Characters of a line below the table."""

DECISIONS = ("reasked", "recovered", "fallbacks")
MEANT = {
    "malformed": "not in the form asked for",
    "illegal": "names no option",
    "ambiguous": "names several options as its answer",
    "truncated": "as long as it was allowed to be",
    "empty": "without a word",
    "unreported": "choices to which the model gave no probability",
    "reasked": "after an unusable reply",
    "recovered": "settled by a reply although another was unusable",
    "fallbacks": "settled by none",
}
COLUMNS = {
    "cell": "the cell's name",
    "decisions": "decisions of the subjects for which a model was asked",
    "replies": "replies to them; scored choices count once a request",
    **{kind: f"replies: {MEANT[kind]}; a reply may be of several kinds" for kind in KINDS},
    "unreported": MEANT["unreported"],
    **{name: f"decisions: {MEANT[name]}" for name in DECISIONS},
}
EXAMPLE_COLUMNS = {
    "cell": "the cell's name",
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
    found = {name: own.audit for name, own in results.once(seen).items()}
    return {name: own for name, own in found.items() if own.counts["decisions"]}


def odd(table: pd.DataFrame) -> list[str]:
    """The kinds that there are."""
    return [name for name in MEANT if table[name].any()]


def line(results: Results) -> str:
    """That all was plainly read, where it was and a model was asked at all."""
    found = results["parser"]
    if found.empty or odd(found):
        return ""
    return f"Replies: all {found['replies'].sum():,} were read at once."


SHORT = {"truncated": "cut", "fallbacks": "fallback", "reasked": "re-asked"}


def _columns(part: Part) -> list[Column]:
    """Those in which there is anything."""
    known = [name for name in MEANT if name in odd(part.rows)]
    titled = {name: SHORT.get(name, name) for name in known}
    kinds = [Column(titled[name], share(name, "replies")) for name in known if name in KINDS]
    taken = [Column(titled[name], share(name, "decisions")) for name in known if name in DECISIONS]
    unreported = [Column("unreported", count("unreported"))] * ("unreported" in known)
    first = [Column("cell", cell_name), Column("replies", count("replies"))]
    return [*first, *kinds, *unreported, Column("decisions", count("decisions")), *taken]


def _foot(part: Part) -> str:
    meant = [f"{SHORT.get(name, name)}: {MEANT[name]}." for name in odd(part.rows)]
    return fill("Of the subject's. " + " ".join(meant), FOOT, break_on_hyphens=False)


READ = View(
    "What was wrong with replies",
    _columns,
    _foot,
    lambda rows: rows if odd(rows) else rows.head(0),
)


@table("parser", COLUMNS, [READ], place=20)
def parser(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each cell that asked a model."""
    for name, own in results.once(audits).items():
        yield {"cell": name, **{column: own.counts[column] for column in [*COLUMNS][1:]}}


@table("parser_examples", EXAMPLE_COLUMNS)
def parser_examples(results: Results) -> Iterator[dict[str, Any]]:
    """The first few replies of every kind."""
    for name, own in results.once(audits).items():
        for one in own.examples:
            shown = {key: getattr(one, key) for key in [*EXAMPLE_COLUMNS][2:]}
            yield {"cell": name, "kinds": one.told, **shown}


@dataclass(frozen=True)
class Misread:
    """What the page shows of a cell: its examples."""

    title: str
    examples: Sequence[Example]


def misread(results: Results, cells: int) -> list[Misread]:
    """The first cells with examples."""
    found = results.once(audits).items()
    told = [Misread(results.names[name], own.examples) for name, own in found if own.examples]
    return told[:cells]


def opening(reply: str, most: int = 60) -> str:
    """How a reply begins, in a line."""
    line = " ".join(visible(reply).split())
    return f"{line[:most]} ..." if len(line) > most else line or "(nothing)"
