"""Descriptions of runs in MLflow: a Markdown note at the top of a run's page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from gauntlet.common.process import invocation
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.tables.formatting import Scale, heading, p_value, row_scales
from gauntlet.pipeline.tables.registry import Results, short_names, truncation_note
from gauntlet.pipeline.tables.sweep.findings import Answer, answers, cell_sentence
from gauntlet.pipeline.tables.sweep.verdict import verdict

ROWS, SENTENCES = 20, 8
"""Rows of the note's table, and sentences per question; the report has all."""
LONGEST = 8000
"""MLflow's limit on the characters of a tag."""
MARKS = re.compile(r"([\\`*_\[\]<>|#~])")
"""Characters with a meaning in Markdown."""


def of_sweep(results: Results, summary: pd.DataFrame, command: str | None) -> str:
    """The note of a sweep: its verdict, cells, findings, command, and where the report is."""
    folder = results.folder
    line = Folder(folder).note_line
    parts = [
        *([f"*{escape_markdown(line)}*"] if line else []),
        *map(escape_markdown, results.cached(verdict)),
        "\n".join(_table(summary)),
        *("\n".join(_answer(one)) for one in results.cached(answers)),
        *([f"Command:\n\n```\n{command}\n```"] if command else []),
        f"Report: `{folder / 'report.html'}`, or `report.html` under Artifacts. "
        f"`{invocation('pipeline.report', folder)}` makes it again, "
        f"`{invocation('pipeline.replay')} MATCH` shows a match.",
    ]
    return _joined(parts)


def of_a_cell(results: Results, row: pd.Series[Any], helping: bool) -> str:
    """The note of a cell: its result in a sentence, and its warnings."""
    paragraphs = [escape_markdown(cell_sentence(results, row, helping))]
    if row["warning"]:
        paragraphs.append(f"**Warning:** {escape_markdown(row['warning'])}.")
    return _joined(paragraphs)


def escape_markdown(text: str) -> str:
    """The text with Markdown characters escaped."""
    return MARKS.sub(r"\\\1", text)


def _joined(parts: Sequence[str]) -> str:
    """Join the parts, skipping those that exceed MLflow's limit."""
    included: list[str] = []
    for part in parts:
        if len("\n\n".join([*included, part])) <= LONGEST:
            included.append(part)
    return "\n\n".join(included)


def _answer(answer: Answer) -> Iterator[str]:
    yield f"**{escape_markdown(answer.question)}**\n"
    for sentence in answer.sentences[:SENTENCES]:
        yield f"- {escape_markdown(sentence)}"
    if (rest := len(answer.sentences) - SENTENCES) > 0:
        yield f"- and {rest:,} more in the report"


def _table(summary: pd.DataFrame) -> Iterator[str]:
    scales, best = row_scales(summary), bool((summary["estimator"] == "adjusted").any())
    titles = ["cell", "deals", heading(scales), *(["luck-adjusted"] if best else [])]
    yield _line([*titles, "baseline", "p Holm"])
    yield f"|{'---|' * (len(titles) + 2)}"
    rows = zip(short_names(summary), scales, summary.iterrows(), strict=True)
    for name, scale, (_, row) in list(rows)[:ROWS]:
        yield _line(_row(name, scale, row, best))
    yield f"\n95% intervals in brackets. {truncation_note(ROWS, len(summary), 'summary.csv')}"


def _line(columns: Iterable[str]) -> str:
    """A row; MLflow leaves no space between columns."""
    return f"| {' | &emsp;'.join(columns)} |"


def _row(name: str, scale: Scale, row: pd.Series[Any], best: bool) -> Iterator[str]:
    yield escape_markdown(name)
    yield f"{row['deals']:,}"
    yield f"{scale.mean(row['raw'])} ({scale.span(row['raw_low'], row['raw_high'])})"
    if best:
        own = f"{scale.mean(row['estimate'])} ({scale.span(row['ci_low'], row['ci_high'])})"
        yield own if row["estimator"] == "adjusted" else "- (-)"
    yield scale.mean(row["baseline"])
    yield p_value(row["p_holm"])
