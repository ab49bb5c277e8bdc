"""Figures of a sweep, as SVG text for the report and PNG files for everything else."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pipeline.log.results import CellResults
from pipeline.tables.table import short_names
from stats.proportions import wilson

ACCENT, CONTRAST, MUTED = "#0b6e99", "#c2410c", "#9aa5b1"
COLOURS = ("#0b6e99", "#c2410c", "#4d7c0f", "#7e22ce", "#b45309", "#0f766e", "#be123c", "#475569")
SETTLED = 30
"""Deals after which a running curve decides how much of the axis is shown."""
POINTS = 400
"""Points drawn of a running curve; more would not be seen."""


def all_figures(
    summary: pd.DataFrame, pairs: pd.DataFrame, results: Sequence[CellResults]
) -> dict[str, Figure]:
    """Every figure that the data can fill, by name."""
    if not any(result.outcomes for result in results):
        return {}
    names = short_names(summary)
    figures = {
        "win_rates": win_rates(summary, names),
        "running_win_rates": running_win_rates(summary, results, names),
    }
    if not pairs.empty:
        by_cell = {result.about.name: name for result, name in zip(results, names, strict=True)}
        figures["paired_differences"] = paired_differences(pairs, by_cell)
    return figures


def win_rates(summary: pd.DataFrame, names: Sequence[str]) -> Figure:
    """A point a cell with its 95% interval; filled where significant after Holm, hollow if not."""
    figure, axes = _canvas(1.4 + 0.4 * len(summary))
    for place, (_, row) in enumerate(summary.iterrows()):
        axes.plot([100 * row["ci_low"], 100 * row["ci_high"]], [place, place], color=ACCENT, lw=2)
        fill = ACCENT if row["p_holm"] < 0.05 else "white"
        axes.plot(100 * row["win_rate"], place, "o", ms=8, mfc=fill, mec=ACCENT, mew=2)
        if not np.isnan(row["baseline"]):
            x = 100 * row["baseline"]
            axes.plot([x, x], [place - 0.4, place + 0.4], color=CONTRAST, ls="--", lw=1.5)
    _name_rows(axes, names)
    axes.set_xlabel(
        "win rate, % (line: 95% interval; dashed: baseline; filled: above it, p Holm < .05)"
    )
    return figure


def running_win_rates(
    summary: pd.DataFrame, results: Sequence[CellResults], names: Sequence[str]
) -> Figure:
    """The win rate after every deal, in deal order, with a band of one 95% interval."""
    figure, axes = _canvas(3.6)
    shown = [summary["baseline"].min(), summary["baseline"].max()]
    for result, name, colour in zip(results, names, COLOURS * len(names), strict=False):
        deals, rates = running(result)
        if not len(deals):
            continue
        band = wilson(np.round(rates * deals), deals)
        axes.plot(deals, 100 * rates, color=colour, lw=1.5, label=name)
        axes.fill_between(deals, 100 * band.low, 100 * band.high, color=colour, alpha=0.12, lw=0)
        settled = deals >= min(SETTLED, deals[-1])
        shown += [band.low[settled].min(), band.high[settled].max()]
    for rate in sorted(set(summary["baseline"].dropna())):
        axes.axhline(100 * rate, color=MUTED, ls="--", lw=1.2)
    axes.set_xlabel("deals")
    axes.set_ylabel("win rate so far, %")
    axes.set_ylim(100 * np.nanmin(shown) - 1, 100 * np.nanmax(shown) + 1)
    axes.legend(frameon=False, fontsize=8)
    return figure


def paired_differences(pairs: pd.DataFrame, names: dict[str, str]) -> Figure:
    """The difference of every two cells on shared deals, with its 95% interval."""
    figure, axes = _canvas(1.4 + 0.4 * len(pairs))
    for place, (_, row) in enumerate(pairs.iterrows()):
        axes.plot([100 * row["ci_low"], 100 * row["ci_high"]], [place, place], color=ACCENT, lw=2)
        fill = ACCENT if row["p_holm"] < 0.05 else "white"
        axes.plot(100 * row["difference"], place, "o", ms=8, mfc=fill, mec=ACCENT, mew=2)
    axes.axvline(0, color=MUTED, ls="--", lw=1.2)
    labels = [f"{names[row['cell_a']]} - {names[row['cell_b']]}" for _, row in pairs.iterrows()]
    _name_rows(axes, labels)
    axes.set_xlabel("difference of win rates on shared deals, points (filled: p Holm < .05)")
    return figure


def running(result: CellResults) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of deals (at most POINTS of them) and the mean win rate over the first so many."""
    _, per_deal = result.win_rates()
    if not len(per_deal):
        return np.array([]), np.array([])
    counts = np.arange(1, len(per_deal) + 1)
    rates = np.cumsum(per_deal) / counts
    kept = np.unique(np.linspace(0, len(per_deal) - 1, min(POINTS, len(per_deal))).astype(int))
    return counts[kept], rates[kept]


def svg(figure: Figure) -> str:
    """The figure as an <svg> element."""
    text = io.StringIO()
    figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]


def save_png(figures: dict[str, Figure], folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=130, bbox_inches="tight")


def _name_rows(axes: Axes, names: Sequence[str]) -> None:
    """One row a name, the first on top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)


def _canvas(height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(8, height))
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9)
    return figure, axes
