"""What a cell's run in MLflow shows in numbers: its row of summary.csv, the cells that it is paired
with, how it chose, and how its mean settled.

A name up to a "/" is a section of MLflow's charts; figures of summary.csv are called as there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables.figures import SETTLED, running
from gauntlet.pipeline.tables.large_sweep_plots import POINTS
from gauntlet.pipeline.tables.primary_test import DIFFERENCE, RAW_DIFFERENCE
from gauntlet.pipeline.tables.table import short_names
from gauntlet.pipeline.tracking.params import fit
from gauntlet.pipeline.tracking.store import MANY

LEADING = ("adjusted", "mean", "change")
"""Logged first: MLflow compares runs by the first metric that they share."""
COLUMNS = (
    *LEADING,
    *("win_rate", "ci_low", "ci_high", "baseline"),
    *("matches", "wins", "decisions", "forced", "fallbacks", "decisions_per_s"),
    *("complete_deals", "set_aside", "draws", "tokens", "all_tokens", "device_seconds"),
    *("replies", "malformed_rate", "illegal_rate", "unreported"),
    *("mean_low", "mean_high", "baseline_mean", "adj_low", "adj_high"),
    *("change_low", "change_high", "null_value", "p_test", "p_test_holm"),
    *("score", "score_low", "score_high", "losses", "shared_wins"),
)
"""Of summary.csv."""
CHOSEN = (
    *("first", "last", "end_random", "place_bits", "place_bits_random", "option_share"),
    *("reply_share", "without_fallbacks", "close_decisions"),
)
"""Of diagnostics.csv."""
PARSED, SETTLED_BY = ("ambiguous", "truncated", "empty"), ("reasked", "recovered")
"""Of parser.csv, as shares of replies and of decisions; `malformed_rate` and others stand above."""
NOISE = ("difference", "floor", "changed")
"""Of noise.csv."""
RIVALS = 10
"""The most cells that a run is set beside; pairs.csv has all."""
LEAST = 20
"""The fewest points of a running curve; cells that share MANY times POINTS and have fewer for each
have none: MLflow takes longer for them than for all else."""

SETTLING = "by_deal/"
"""The section of curves, which MLflow shows first: sections go by the alphabet."""

Values = Mapping[str, float]
Points = list[tuple[str, int, float]]


def of_row(row: pd.Series[Any]) -> dict[str, float]:
    """A cell's row of summary.csv, and what its decisions come to."""
    told = {name: float(row[name]) for name in COLUMNS}
    for name, part, whole in (
        ("fallback_rate", "fallbacks", "decisions"),
        ("tokens_per_match", "all_tokens", "matches"),
    ):
        told[name] = told[part] / told[whole] if told[whole] else np.nan
    return told


def comparisons(folder: Path, summary: pd.DataFrame) -> dict[str, dict[str, float]]:
    """By a cell's name: its difference from each cell that pairs.csv pairs it with, such as
    `pairs/diff_vs_pocket_cloze`, raw and `adj_`, and Holm's p; of few cells limits too. Then that
    from the controls, what noise does, how its replies were read, and how it chose. Of more than
    RIVALS the first ones of the sweep."""
    found: defaultdict[str, dict[str, float]] = defaultdict(dict)
    names = dict(zip(summary["cell"], map(fit, short_names(summary)), strict=True))
    rivals: defaultdict[str, int] = defaultdict(int)
    for pair in _rows(folder / "pairs.csv"):
        for own, other, sign in (("cell_a", "cell_b", 1), ("cell_b", "cell_a", -1)):
            cell, rival = pair[own], pair[other]
            if cell != rival and {cell, rival} <= names.keys() and rivals[cell] < RIVALS:
                rivals[cell] += 1
                told = _difference(pair, names[rival], sign, limits=len(names) <= MANY)
                found[cell] |= dict(told)
    for row in _rows(folder / "controls.csv"):
        name = f"controls/diff_vs_always_{fit(str(row['control']))}"
        found[row["cell"]][name] = row["difference"]
    for row in _rows(folder / "parser.csv"):
        for kinds, whole in ((PARSED, "replies"), (SETTLED_BY, "decisions")):
            shares = {f"parser/{kind}": row[kind] / row[whole] for kind in kinds}
            found[row["cell"]] |= shares
    for row in _rows(folder / "noise.csv"):
        found[row["cell"]] |= {f"noise/{name}": row[name] for name in NOISE}
    for row in _rows(folder / "diagnostics.csv"):
        found[row["cell"]] |= {f"choices/{name}": row[name] for name in CHOSEN}
    return found


def _difference(
    pair: Mapping[str, Any], rival: str, sign: int, limits: bool
) -> Iterator[tuple[str, float]]:
    """Of one cell of the pair from the other, its rival: of A as it stands, of B the other way."""
    for start, columns in (("diff", RAW_DIFFERENCE), ("adj_diff", DIFFERENCE)):
        estimate, *ends = (sign * pair[column] for column in columns)
        name = f"pairs/{start}_vs_{rival}"
        yield name, estimate
        if limits:
            yield from zip((f"{name}_low", f"{name}_high"), sorted(ends), strict=True)
    yield f"pairs/p_holm_vs_{rival}", pair["p_test_holm"]


def _rows(file: Path) -> list[dict[str, Any]]:
    """Of a table that was written beside summary.csv."""
    if not file.exists():
        return []
    told = pd.read_csv(file).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in told]


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
    added = ("matches", "decisions", "fallbacks", "set_aside", "all_tokens", "device_seconds")
    better = [row["p_test_holm"] < 0.05 and row["change"] > 0 for row in rows]
    return {
        **{name: float(sum(row[name] for row in rows)) for name in added},
        "complete_deals": float(min(row["complete_deals"] for row in rows)),
        "cells_above_baseline": float(sum(better)),
    }
