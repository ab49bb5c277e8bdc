"""What each part of a method contributes: a cell, less the same cell without the part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.tables.media import sheets
from gauntlet.pipeline.tables.media.sheets import Column, View
from gauntlet.pipeline.tables.registry import Results, columns, table
from gauntlet.pipeline.tables.sweep.claims import comparison_group, factors
from gauntlet.pipeline.tables.sweep.primary_test import read_difference

COLUMNS = {
    "cell": "the cell with all parts",
    "without": "the setting that leaves a part out; empty for the cell itself",
    "measure": "what both are judged by",
    **columns("deals"),
    "estimate": "the mean of the row's cell, luck-adjusted where possible",
    "difference": "what the part contributes: with it less without it, paired by deal",
    **columns("ci_low", "ci_high"),
    "p": "its two-sided p-value, as in pairs.csv",
    "p_holm": "after Holm's correction, as in pairs.csv",
}
VIEW = View(
    "Ablation: what each part contributes",
    (
        Column("cell", sheets.cell_name),
        Column("without", lambda row: sheets.text("without")(row) or "(whole)"),
        Column("deals", sheets.count("deals")),
        Column("mean", sheets.mean("estimate")),
        Column("part adds", sheets.change("difference")),
        Column("95% interval", sheets.change_span("ci_low", "ci_high")),
        Column("p Holm", sheets.p("p_holm")),
    ),
    "Part adds: the whole less the row, on deals that both played, luck removed where possible.",
)


@table("ablation", COLUMNS, [VIEW], place=3)
def ablation(results: Results) -> Iterator[dict[str, Any]]:
    """Each cell that parts were left out of, then a row for each part."""
    cells = [cell.about for cell in results.cells]
    summary = results["summary"].set_index("cell")
    for whole in cells:
        parts = [part for part in cells if part.without and _whole_of(part, whole)]
        for part in [whole, *parts] if parts else ():
            yield _row(summary, results["pairs"], whole, part)


def _whole_of(part: CellInfo, full: CellInfo) -> bool:
    """Whether they differ in nothing but what the part leaves out."""
    key = part.without.partition("=")[0]
    kept = [
        {name: value for name, value in factors(one.labels).items() if not _within(name, key)}
        for one in (part, full)
    ]
    return (
        not full.without and kept[0] == kept[1] and comparison_group(part) == comparison_group(full)
    )


def _within(name: str, key: str) -> bool:
    """Whether a factor is this key or one of its settings."""
    return name == key or name.startswith(f"{key}.")


def _row(
    summary: pd.DataFrame, pairs: pd.DataFrame, full: CellInfo, part: CellInfo
) -> dict[str, Any]:
    row = {
        "cell": full.name,
        "without": part.without,
        "measure": full.measure.name,
        "deals": summary["deals"][part.name],
        "estimate": summary["estimate"][part.name],
    }
    for first, second, sign in ((full, part, 1), (part, full, -1)):
        both = pairs[(pairs["cell_a"] == first.name) & (pairs["cell_b"] == second.name)]
        for pair in both.to_dict("records") if part is not full else ():
            difference, *ends = (sign * value for value in read_difference(pair))
            low, high = sorted(ends)
            row |= {"deals": pair["deals"], "difference": difference, "ci_low": low}
            row |= {"ci_high": high, "p": pair["p"], "p_holm": pair["p_holm"]}
    return row
