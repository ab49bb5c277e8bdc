"""What a cell's run in MLflow shows in numbers: the metrics of every registered table, its
differences from other cells, and how its mean settled.

A name up to a "/" is a section of MLflow's charts, called as the table is; figures of summary.csv
have none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables.figures import POINTS, SETTLED, running
from gauntlet.pipeline.tables.primary_test import DIFFERENCE
from gauntlet.pipeline.tables.registry import Results, tables
from gauntlet.pipeline.tracking.params import fit
from gauntlet.pipeline.tracking.store import MANY

RIVALS = 10
"""The most cells that a run is set beside; pairs.csv has all."""
LEAST = 20
"""The fewest points of a running curve; cells that share MANY times POINTS and have fewer for each
have none: MLflow takes longer for them than for all else."""

SETTLING = "by_deal/"
"""The section of curves, which MLflow shows first: sections go by the alphabet."""

Values = Mapping[str, float]
Points = list[tuple[str, int, float]]


def of_cells(results: Results) -> dict[str, dict[str, float]]:
    """By a cell's name the numbers of its rows in every table, and its differences from others."""
    found: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for table in tables().values():
        section = "" if table.name == "summary" else f"{table.name}/"
        for cell, column, value in table.cell_metrics(results):
            found[cell][section + fit(column)] = value
    for cell, name, value in _differences(results):
        found[cell][name] = value
    return found


def _differences(results: Results) -> Iterator[tuple[str, str, float]]:
    """A cell's difference from each that pairs.csv compares it with (of more than RIVALS from the
    first ones), such as `pairs/diff_vs_pocket_cloze`, and Holm's p; of few cells limits too."""
    names = {cell: fit(name) for cell, name in results.names.items()}
    rivals: defaultdict[str, int] = defaultdict(int)
    for pair in results["pairs"].to_dict("records"):
        for own, other, sign in (("cell_a", "cell_b", 1), ("cell_b", "cell_a", -1)):
            cell, rival = pair[own], pair[other]
            if cell != rival and rivals[cell] < RIVALS:
                rivals[cell] += 1
                for name, value in _difference(pair, names[rival], sign, len(names) <= MANY):
                    yield cell, name, value


def _difference(
    pair: Mapping[Any, Any], rival: str, sign: int, limits: bool
) -> Iterator[tuple[str, float]]:
    """Of one cell of the pair from the other, its rival: of A as it stands, of B the other way."""
    estimate, *ends = (sign * pair[column] for column in DIFFERENCE)
    name = f"pairs/diff_vs_{rival}"
    yield name, estimate
    if limits:
        yield from zip((f"{name}_low", f"{name}_high"), sorted(ends), strict=True)
    yield f"pairs/p_holm_vs_{rival}", pair["p_holm"]


def curves(result: CellResults, cells: int) -> Points:
    """How the cell's means settled: a step is a number of deals. Of many cells each has fewer
    points and no section of its own, of very many none."""
    most = POINTS * MANY // max(cells, MANY)
    if most < LEAST:
        return []
    means = result.by_deal()[1]
    told = {"running_mean": means, "running_win_rate": result.win_rates()[1]}
    if cells <= MANY:
        told[f"{SETTLING}mean"] = means
    if cells <= MANY and result.adjusted is not None:
        told[f"{SETTLING}adjusted"] = result.adjusted.values
    return [point for name, by_deal in told.items() for point in _curve(name, by_deal, most)]


def each_cells(results: Sequence[CellResults], names: Sequence[str]) -> Points:
    """The curve of every cell's best estimate under the cell's name, for the sweep's run; none of
    many cells."""
    some = list(zip(results, names, strict=True)) if len(results) <= MANY else []
    return [
        point
        for result, name in some
        for values in [result.by_deal()[1] if result.adjusted is None else result.adjusted.values]
        for point in _curve(f"cells/{fit(name)}", values, POINTS // 4)
    ]


def _curve(name: str, by_deal: np.ndarray, most: int) -> Points:
    """In a section of its own without the first deals, which would settle the axis."""
    first = min(SETTLED, len(by_deal) // 10) if "/" in name else 1
    counts, means = running(by_deal, most)
    told = zip(counts, means, strict=True)
    return [(name, int(step), float(mean)) for step, mean in told if step >= first]


def total(rows: Sequence[Values]) -> dict[str, float]:
    """Of a sweep's cells together; better: cells that the declared test puts above the baseline."""
    added = {name: name for name in ("matches", "decisions", "fallbacks", "failed")}
    added |= {f"costs/{name}": name for name in ("all_tokens", "device_seconds")}
    better = [row["p_holm"] < 0.05 and row["difference"] > 0 for row in rows]
    return {
        **{name: float(sum(row[column] for row in rows)) for column, name in added.items()},
        "deals": float(min(row["deals"] for row in rows)),
        "cells_above_baseline": float(sum(better)),
    }
