"""What the cells cost: requests, tokens, device-seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables.registry import Results, table
from gauntlet.pipeline.tables.sheets import Column, Row, View, cell_name, count

COLUMNS = {
    "cell": "the cell's name",
    "matches": "matches that count",
    "decisions": "decisions of the subject, with a choice",
    "calls": "requests to the subject's model: prompts that were scored, samples that were written",
    "tokens": "read and written for the subject; what prompts share counts for each",
    "all_tokens": "the same for all seats",
    "device_seconds": "models at work for all seats, times the devices of a replica",
    "decisions_per_s": "decisions per worker-second",
}
SUMMED = ("decisions", "calls", "tokens", "all_tokens")


def each(amount: str, unit: str, form: str) -> Callable[[Row], str]:
    """So much of the one for each of the other; "-" where either is nothing."""

    def told(row: Row) -> str:
        return format(row[amount] / row[unit], form) if row[amount] and row[unit] else "-"

    return told


WHOLE = View(
    "What it cost",
    (
        Column("cell", cell_name),
        Column("matches", count("matches")),
        Column("tokens", count("all_tokens")),
        Column("a match", each("all_tokens", "matches", ",.0f")),
        Column(
            "device-seconds",
            lambda row: f"{row['device_seconds']:,.1f}" if row["device_seconds"] else "-",
        ),
        Column("a match", each("device_seconds", "matches", ",.3g")),
        Column("tokens/s", each("all_tokens", "device_seconds", ",.0f")),
    ),
    "Of the matches in the tables, all seats. Tokens: prompts as sent and texts as written; a "
    "model\ncomputes what they share once. Device-seconds: models at work, times the devices "
    "of a replica.",
    lambda rows: rows if rows["all_tokens"].sum() else rows.head(0),
    total="all cells",
)
MOVES = View(
    "What a move cost",
    (
        Column("cell", cell_name),
        Column("decisions", count("decisions")),
        Column("calls", count("calls")),
        Column("calls a move", lambda row: f"{row['calls'] / max(1, row['decisions']):,.1f}"),
        Column("tokens a move", lambda row: f"{row['tokens'] / max(1, row['decisions']):,.0f}"),
    ),
    "Of the subject's decisions with a choice. Calls: each prompt that was scored and each "
    "sample\nthat was written counts once; tokens as above.",
    lambda rows: rows[rows["calls"] > 0],
)


@table("costs", COLUMNS, [WHOLE, MOVES], place=80)
def costs(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each cell."""
    yield from map(_row, results.cells)


def _row(result: CellResults) -> dict[str, Any]:
    totals = {name: result.outcomes.column(name).sum().item() for name in SUMMED}
    seconds = result.outcomes.column("seconds").sum().item()
    return {
        "cell": result.about.name,
        "matches": len(result.outcomes),
        **totals,
        "device_seconds": round(result.outcomes.column("device_seconds").sum().item(), 3),
        "decisions_per_s": totals["decisions"] / seconds if seconds else np.nan,
    }
