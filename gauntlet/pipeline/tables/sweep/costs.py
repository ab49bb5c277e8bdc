"""What the cells cost: requests, tokens, device-seconds; and the cells' results by cost.

In the figure few cells differ by colour and mark; of many, those on the frontier are named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from gauntlet.common.terminal import short
from gauntlet.pipeline.tables.formatting import Scale, by_scale, capitalize
from gauntlet.pipeline.tables.media import plot_style
from gauntlet.pipeline.tables.media.plot_style import ACCENT, COLOURS, CONTRAST, GROUND, INK, MUTED
from gauntlet.pipeline.tables.media.sheets import Column, Row, View, cell_name, count
from gauntlet.pipeline.tables.registry import Results, columns, figure, table
from gauntlet.pipeline.tables.sweep.figures import best_columns, figure_name, unit
from gauntlet.pipeline.tables.sweep.primary_test import ESTIMATE

COLUMNS = {
    **columns("cell", "matches"),
    "decisions": "decisions of the subject with a choice",
    "calls": "requests to the subject's model: prompts that were scored, samples that were written",
    "tokens": "tokens read and written for the subject; what prompts share counts for each",
    "all_tokens": "the same for all seats",
    "device_seconds": "seconds that models worked for all seats, times the devices of a replica",
    "decisions_per_s": "decisions per worker-second",
}
SUMS = ("decisions", "calls", "tokens", "all_tokens")


def ratio(amount: str, unit: str, form: str) -> Callable[[Row], str]:
    """One column divided by another; "-" if either is 0."""

    def text(row: Row) -> str:
        return format(row[amount] / row[unit], form) if row[amount] and row[unit] else "-"

    return text


CELLS = View(
    "What it cost",
    (
        Column("cell", cell_name),
        Column("matches", count("matches")),
        Column("tokens", count("all_tokens")),
        Column("tokens/match", ratio("all_tokens", "matches", ",.0f")),
        Column(
            "device-s",
            lambda row: f"{row['device_seconds']:,.1f}" if row["device_seconds"] else "-",
        ),
        Column("device-s/match", ratio("device_seconds", "matches", ",.3g")),
        Column("tokens/s", ratio("all_tokens", "device_seconds", ",.0f")),
    ),
    "All seats, in the matches that the tables count. Tokens: prompts as sent and replies as "
    "written; what prompts share is computed once. device-s: seconds that models worked, times "
    "the devices of a replica.",
    lambda rows: rows if rows["all_tokens"].sum() else rows.head(0),
    total="all cells",
)
MOVES = View(
    "What a move cost",
    (
        Column("cell", cell_name),
        Column("decisions", count("decisions")),
        Column("calls", count("calls")),
        Column("calls/move", lambda row: f"{row['calls'] / max(1, row['decisions']):,.1f}"),
        Column("tokens/move", lambda row: f"{row['tokens'] / max(1, row['decisions']):,.0f}"),
    ),
    "Decisions of the subject with a choice. Calls: each scored prompt and each generated reply "
    "counts once; tokens as above.",
    lambda rows: rows[rows["calls"] > 0],
)


@table("costs", COLUMNS, [CELLS, MOVES], place=80)
def costs(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each cell."""
    for result in results.cells:
        names = (*SUMS, "seconds", "device_seconds")
        totals = {name: result.outcomes.column(name).sum().item() for name in names}
        seconds = totals.pop("seconds")
        yield {
            "cell": result.about.name,
            "matches": len(result.outcomes),
            **totals,
            "device_seconds": round(totals["device_seconds"], 3),
            "decisions_per_s": totals["decisions"] / seconds if seconds else np.nan,
        }


# --- results by cost

AXES = {"all_tokens": "tokens per match, all seats", "device_seconds": "device-seconds per match"}
MARKS = "osD^vPX*"
NAMES = 8
"""Cells of the frontier that are named."""
LOG_RANGE = 10.0
"""The ratio of largest to least cost from which the axis is logarithmic."""
LOG_MARKS = 4
"""About as many marks of a logarithmic axis do not overlap."""


@figure("costs", place=3)
def cost_figures(results: Results) -> dict[str, Figure]:
    """One figure for each measure."""
    summary, names, plots = results["summary"], [*results.names.values()], {}
    for scale, places in by_scale(summary):
        rows = summary.iloc[places].merge(results["costs"][["cell", *AXES]], on="cell")
        if plot := cost_plot(rows, [names[at] for at in places], scale):
            plots[figure_name(scale, "win_rates") + "_and_cost"] = plot
    return plots


def cost_plot(summary: pd.DataFrame, names: Sequence[str], scale: Scale) -> Figure | None:
    """Rows of summary.csv with the columns AXES, of one measure; None if nothing cost anything."""
    titles = {name: title for name, title in AXES.items() if (_per_match(summary, name) > 0).any()}
    if not titles:
        return None
    best, prefix = best_columns(bool((summary["estimator"] == "adjusted").all()), ESTIMATE)
    values = scale.factor * summary[list(best)].to_numpy(float)
    lines, across = (len(titles), 1) if plot_style.narrow() else (1, len(titles))
    key = 0.15 * (len(names) if plot_style.narrow() else -(-len(names) // 2))
    few = len(summary) <= len(COLOURS)
    height = 2.5 * lines + (key if few else 0.15 * NAMES / across + 0.3)
    figure, panels = plot_style.panels(lines, across, height, sharey=True)
    numbers: dict[int, int] = {}
    for axes, (column, title) in zip(panels, titles.items(), strict=True):
        cost = _per_match(summary, column)
        if few:
            _few_cells(axes, cost, values, names)
        else:
            _many_cells(axes, cost, values, names, numbers)
        cost_axis(axes, cost[cost > 0])
        axes.set_xlabel(title)
        for base in sorted(set(summary["baseline"].dropna()))[:NAMES]:
            axes.axhline(scale.factor * base, color=CONTRAST, ls="--", lw=1, label="baseline")
    label = unit(f"{prefix}{scale.words}", scale)
    for axes in panels[::across]:
        axes.set_ylabel(label)
    plot_style.add_legend(figure)
    return plot_style.set_title(
        figure, f"{capitalize(label)}, with its 95% interval, beside the cost"
    )


def _per_match(summary: pd.DataFrame, column: str) -> np.ndarray:
    matches = summary["matches"].to_numpy(float)
    return summary[column].to_numpy(float) / np.where(matches > 0, matches, np.nan)


def _few_cells(axes: Axes, cost: np.ndarray, values: np.ndarray, names: Sequence[str]) -> None:
    """Every cell with its own colour and mark."""
    for at, (x, (y, low, high)) in enumerate(zip(cost, values, strict=True)):
        if x > 0 and np.isfinite(y):
            colour = COLOURS[at]
            axes.plot([x, x], [low, high], color=colour, lw=1.4)
            look: dict[str, Any] = {"ms": 5.5, "mfc": GROUND, "mec": colour, "mew": 1.4, "ls": ""}
            axes.plot(x, y, MARKS[at], label=names[at], **look)


def _many_cells(
    axes: Axes, cost: np.ndarray, values: np.ndarray, names: Sequence[str], numbers: dict[int, int]
) -> None:
    """All cells alike, and the frontier as a line. Its most expensive cells have numbers, the same
    in every panel."""
    places = np.flatnonzero((cost > 0) & np.isfinite(values[:, 0]))
    x, (y, low, high) = cost[places], values[places].T
    rasterized = len(x) > 100
    faint = max(0.08, min(0.5, 20 / len(x)))
    axes.vlines(x, low, high, color=MUTED, lw=0.8, alpha=faint, rasterized=rasterized)
    size = max(3.0, min(16.0, 1500 / len(x)))
    label = "a cell, its 95% interval"
    axes.scatter(x, y, size, ACCENT, alpha=0.7, lw=0, rasterized=rasterized, label=label)
    leading = frontier(x, y)
    label = "none as cheap is better"
    axes.step(x[leading], y[leading], where="post", color=INK, lw=0.9, label=label)
    for at in leading[-NAMES:]:
        number = numbers.setdefault(places[at], len(numbers) + 1)
        label = f"{number} {names[places[at]]}"
        axes.plot(x[at], y[at], "o", ms=5, mfc=GROUND, mec=INK, ls="", label=label)
        bold: dict[str, Any] = {"ha": "right", "fontweight": "bold"}
        axes.annotate(str(number), (x[at], y[at]), (-3, 3), textcoords="offset points", **bold)


def frontier(cost: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The positions of those better than all that cost as much or less, the cheapest first."""
    order = np.lexsort((-value, cost))
    highest = np.maximum.accumulate(value[order])
    return order[np.r_[True, value[order][1:] > highest[:-1]]]


def cost_axis(axes: Axes, cost: np.ndarray) -> None:
    """Logarithmic if the costs differ much."""
    if cost.max() >= LOG_RANGE * cost.min():
        axes.set_xscale("log")
        decades = math.log10(cost.max() / cost.min())
        marks = next((m for m in ((1, 2, 5), (1, 3)) if len(m) * decades <= LOG_MARKS), (1,))
        axes.xaxis.set_major_locator(LogLocator(subs=marks, numticks=LOG_MARKS + 2))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(5))
        margin = max(0.1 * (cost.max() - cost.min()), 0.03 * cost.max())
        axes.set_xlim(cost.min() - margin, cost.max() + margin)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: short(x) if x >= 10 else f"{x:.3g}"))
