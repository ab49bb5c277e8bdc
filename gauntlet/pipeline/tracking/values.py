"""The metrics of a cell's run in MLflow: what its row of the main table says, and running means.

MLflow draws a chart for each, so they are few. The metrics of all other tables are in the table
`metrics.json` of its run, and its differences from other cells in pairs.csv. A prefix up to "/" is
a section of MLflow's charts, named after the table; metrics of summary.csv have none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables.registry import Results, tables
from gauntlet.pipeline.tables.sweep.figures import POINTS, SETTLED, running
from gauntlet.pipeline.tables.sweep.primary_test import results_by_deal
from gauntlet.pipeline.tracking.params import fit
from gauntlet.pipeline.tracking.store import MANY
from gauntlet.stats.multiple import ALPHA

LEAST = 20
"""Minimum points of a running curve: if MANY times POINTS, shared between the cells, leaves
fewer for each, there are no curves, because MLflow takes longer for them than for everything else.
"""

SETTLING = "by_deal/"
"""The section of curves; sections are sorted by name, so MLflow shows it first."""

HEADLINES = (
    *("estimate", "ci_low", "ci_high", "raw"),
    *("difference", "difference_low", "difference_high", "p", "p_holm"),
    *("deals", "matches", "decisions", "fallbacks", "failed"),
    *("costs/all_tokens", "costs/device_seconds"),
)
"""With the curves, at most 20."""

Values = Mapping[str, float]
Points = list[tuple[str, int, float]]


def of_cells(results: Results) -> dict[str, dict[str, float]]:
    """By cell name, the metrics of its rows in every table."""
    values: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for table in tables().values():
        section = "" if table.name == "summary" else f"{table.name}/"
        for cell, column, value in table.cell_metrics(results):
            values[cell][section + fit(column)] = value
    return values


def headlines(figures: Values) -> Points:
    return [(name, 0, figures[name]) for name in HEADLINES if name in figures]


def table_of(figures: Values) -> dict[str, list[Any]]:
    """All metrics of a cell, as MLflow takes a table."""
    return {"metric": [*figures], "value": [*figures.values()]}


def curves(result: CellResults, cells: int) -> Points:
    """The cell's running means; a step is a number of deals. With many cells each has fewer points
    and no separate section, with very many none."""
    most = POINTS * MANY // max(cells, MANY)
    if most < LEAST:
        return []
    means = result.by_deal()[1]
    series = {"running_mean": means, "running_win_rate": result.win_rates()[1]}
    if cells <= MANY:
        series[f"{SETTLING}mean"] = means
    if cells <= MANY and result.adjusted is not None:
        series[f"{SETTLING}adjusted"] = result.adjusted.values
    return [point for name, by_deal in series.items() for point in _curve(name, by_deal, most)]


def each_cells(results: Sequence[CellResults], names: Sequence[str]) -> Points:
    """The curve of every cell's best estimate, for the sweep's run; [] with many cells."""
    pairs = list(zip(results, names, strict=True)) if len(results) <= MANY else []
    return [
        point
        for result, name in pairs
        for point in _curve(f"cells/{fit(name)}", results_by_deal(result), POINTS // 4)
    ]


def _curve(name: str, by_deal: np.ndarray, most: int) -> Points:
    """A running mean; in a section, without the first deals, which would dominate the axis."""
    first = min(SETTLED, len(by_deal) // 10) if "/" in name else 1
    counts, means = running(by_deal, most)
    told = zip(counts, means, strict=True)
    return [(name, int(step), float(mean)) for step, mean in told if step >= first]


def total(rows: Sequence[Values]) -> dict[str, float]:
    """Totals over a sweep's cells; cells_above_baseline: those that the declared test puts
    above it."""
    added = {name: name for name in ("matches", "decisions", "fallbacks", "failed")}
    added |= {f"costs/{name}": name for name in ("all_tokens", "device_seconds")}
    better = [row["p_holm"] < ALPHA and row["difference"] > 0 for row in rows]
    return {
        **{name: float(sum(row[column] for row in rows)) for column, name in added.items()},
        "deals": float(min(row["deals"] for row in rows)),
        "cells_above_baseline": float(sum(better)),
    }
