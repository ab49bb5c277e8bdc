"""The number of deals that a sweep needs, from the spread of a pilot's results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from gauntlet.common.errors import UserError
from gauntlet.common.terminal import WrappedTable
from gauntlet.pipeline.config.read import Expect
from gauntlet.pipeline.tables.registry import Results
from gauntlet.pipeline.tables.sweep.primary_test import results_by_deal
from gauntlet.stats.multiple import ALPHA
from gauntlet.stats.power import deals_from_pilot

LEAST = 10
"""Deals of a pilot from which on its spread says something."""


def show_pilot(out: Console, folder: Path, expect: Expect) -> None:
    """Print how many deals would show `expect.gain` in each comparison of the pilot's tables.
    Raises UserError for a folder without such comparisons."""
    results = Results.load(folder)
    rows = [row for row in _comparisons(results) if row["deals"] >= LEAST and row["spread"] > 0]
    if not rows:
        raise UserError(f"{folder} compares nothing over {LEAST} deals or more, so it is no pilot")
    table = WrappedTable()
    table.add_column("comparison", overflow="fold")
    for heading in ("pilot's deals", "SD of a deal", "deals needed", "to be safe"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*_line(row, expect, len(rows)))
    out.print(table)
    tests = "one test" if len(rows) == 1 else f"{len(rows)} tests, Holm's strictest step"
    gain = rows[0]["scale"].difference(_gain(rows[0], expect), sign=False)
    out.print(
        f"To show {gain} with {expect.power:.0%} power, two-sided, alpha {ALPHA:g} over "
        f"{tests}. To be safe: with the spread at its upper 80% confidence limit (Browne 1995)."
    )


def _comparisons(results: Results) -> Iterator[dict[str, Any]]:
    """Every cell against its baseline, and every pair, with the standard deviation of a deal."""
    summary, pairs = (results[name].to_dict("records") for name in ("summary", "pairs"))
    compared = [(row, row["cell"], "") for row in summary if np.isfinite(row["difference"])]
    compared += [(row, row["cell_a"], row["cell_b"]) for row in pairs]
    cells = {cell.about.name: cell for cell in results.cells}
    for row, cell, other in compared:
        values = results_by_deal(cells[cell], cells.get(other))
        yield {
            "name": f"{results.names[cell]} - {results.names.get(other, 'baseline')}",
            "deals": len(values),
            "scale": results.scale(row),
            "span": cells[cell].about.span,
            "spread": float(values.std(ddof=1)) if len(values) > 1 else 0.0,
        }


def _gain(row: dict[str, Any], expect: Expect) -> float:
    """The gain in the measure's unit: `expect.gain` is a share of its range, if it has one."""
    return float(expect.gain * row["span"])


def _line(row: dict[str, Any], expect: Expect, tests: int) -> Iterator[str]:
    deals, spread = row["deals"], row["spread"]
    likely, safe = deals_from_pilot(deals, spread, _gain(row, expect), expect.power, ALPHA, tests)
    yield row["name"]
    yield f"{deals:,}"
    yield row["scale"].difference(spread, sign=False)
    yield f"{likely:,}"
    yield f"{safe:,}"
