"""What a cell reached beside what it cost: tokens a match, and device-seconds where they are known.

Few cells are told apart by colour and mark; of more, those that no cheaper one equals have numbers
and names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from gauntlet.pipeline.tables import plot_style
from gauntlet.pipeline.tables.figures import best, called, capital, unit
from gauntlet.pipeline.tables.numbers import short
from gauntlet.pipeline.tables.plot_style import ACCENT, COLOURS, CONTRAST, GROUND, INK, MUTED
from gauntlet.pipeline.tables.primary_test import ESTIMATE
from gauntlet.pipeline.tables.registry import Results, figure
from gauntlet.pipeline.tables.scale import Scale, by_scale

COSTS = {"all_tokens": "tokens a match, all seats", "device_seconds": "device-seconds a match"}
MARKS = "osD^vPX*"
NAMED = 8
"""Cells of the frontier that have a name."""
WIDE_RANGE = 10.0
"""The largest cost is so many times the least: the axis is logarithmic."""


@figure("costs", place=3)
def by_measure(results: Results) -> dict[str, Figure]:
    """One figure a measure."""
    summary, names, drawn = results["summary"], [*results.names.values()], {}
    spent = results["costs"][["cell", *COSTS]]
    for scale, places in by_scale(summary):
        rows = summary.iloc[places].merge(spent, on="cell")
        if found := costs(rows, [names[at] for at in places], scale):
            drawn[called(scale, "win_rates") + "_and_cost"] = found
    return drawn


def costs(summary: pd.DataFrame, names: Sequence[str], scale: Scale) -> Figure | None:
    """Rows of summary.csv with the columns COSTS, all of one measure. None where no row cost
    anything."""
    known = {column: title for column, title in COSTS.items() if (_each(summary, column) > 0).any()}
    if not known:
        return None
    columns, told = best(bool((summary["estimator"] == "adjusted").all()), ESTIMATE)
    values = scale.factor * summary[list(columns)].to_numpy(float)
    lines, across = (len(known), 1) if plot_style.narrow() else (1, len(known))
    key = 0.15 * (len(names) if plot_style.narrow() else -(-len(names) // 2))
    few = len(summary) <= len(COLOURS)
    height = 2.5 * lines + (key if few else 0.15 * NAMED / across + 0.3)
    figure, panels = plot_style.panels(lines, across, height, sharey=True)
    numbers: dict[int, int] = {}
    for axes, (column, title) in zip(panels, known.items(), strict=True):
        paid = _each(summary, column)
        if few:
            _apart(axes, paid, values, names)
        else:
            _together(axes, paid, values, names, numbers)
        _across(axes, paid[paid > 0])
        axes.set_xlabel(title)
        for base in sorted(set(summary["baseline"].dropna()))[:NAMED]:
            axes.axhline(scale.factor * base, color=CONTRAST, ls="--", lw=1, label="baseline")
    label = unit(f"{told}{scale.words}", scale)
    for axes in panels[::across]:
        axes.set_ylabel(label)
    plot_style.keyed(figure)
    plot_style.titled(figure, f"{capital(label)}, with its 95% interval, beside the cost")
    return figure


def _each(summary: pd.DataFrame, column: str) -> np.ndarray:
    """Of a match; nan without one."""
    matches = summary["matches"].to_numpy(float)
    return summary[column].to_numpy(float) / np.where(matches > 0, matches, np.nan)


def _apart(axes: Axes, paid: np.ndarray, values: np.ndarray, names: Sequence[str]) -> None:
    """Every cell with its own colour and mark."""
    for at, (x, (y, low, high)) in enumerate(zip(paid, values, strict=True)):
        if x > 0 and np.isfinite(y):
            colour = COLOURS[at]
            axes.plot([x, x], [low, high], color=colour, lw=1.4)
            look: dict[str, Any] = {"ms": 5.5, "mfc": GROUND, "mec": colour, "mew": 1.4, "ls": ""}
            axes.plot(x, y, MARKS[at], label=names[at], **look)


def _together(
    axes: Axes,
    paid: np.ndarray,
    values: np.ndarray,
    names: Sequence[str],
    numbers: dict[int, int],
) -> None:
    """All cells alike, and what no cheaper one equals as a line, the dearest of it with numbers:
    the same in every panel."""
    there = np.flatnonzero((paid > 0) & np.isfinite(values[:, 0]))
    x, (y, low, high) = paid[there], values[there].T
    many = len(x) > 100
    faint = max(0.08, min(0.5, 20 / len(x)))
    axes.vlines(x, low, high, color=MUTED, lw=0.8, alpha=faint, rasterized=many)
    size = max(3.0, min(16.0, 1500 / len(x)))
    label = "a cell, its 95% interval"
    axes.scatter(x, y, size, ACCENT, alpha=0.7, lw=0, rasterized=many, label=label)
    leading = frontier(x, y)
    axes.step(
        x[leading], y[leading], where="post", color=INK, lw=0.9, label="none as cheap is better"
    )
    for at in leading[-NAMED:]:
        number = numbers.setdefault(there[at], len(numbers) + 1)
        label = f"{number} {names[there[at]]}"
        axes.plot(x[at], y[at], "o", ms=5, mfc=GROUND, mec=INK, ls="", label=label)
        axes.annotate(
            *(str(number), (x[at], y[at]), (-3, 3)),
            textcoords="offset points",
            ha="right",
            fontweight="bold",
        )


def frontier(cost: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The places of those that nothing as cheap or cheaper equals, the cheapest first."""
    order = np.lexsort((-value, cost))
    highest = np.maximum.accumulate(value[order])
    return order[np.r_[True, value[order][1:] > highest[:-1]]]


def _across(axes: Axes, paid: np.ndarray) -> None:
    """The axis of the cost: logarithmic where costs lie far apart, else as far as they go."""
    if paid.max() >= WIDE_RANGE * paid.min():
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=12))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(5))
        margin = max(0.1 * (paid.max() - paid.min()), 0.03 * paid.max())
        axes.set_xlim(paid.min() - margin, paid.max() + margin)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: short(x) if x >= 10 else f"{x:.3g}"))
