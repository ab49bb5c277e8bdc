"""Figures of a sweep, as SVG text for the report and PNG files for everything else."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pipeline.log.results import CellResults
from pipeline.tables import many
from pipeline.tables.best import ADJUSTED, DIFFERENCE
from pipeline.tables.many import ACCENT, CONTRAST, MUTED, POINTS
from pipeline.tables.scale import Scale, by_scale
from pipeline.tables.table import short_names
from stats.intervals import running_mean
from stats.means import limits

matplotlib.rcParams["text.parse_math"] = False  # a `$` in a label is a `$`

COLOURS = ("#0b6e99", "#c2410c", "#4d7c0f", "#7e22ce", "#b45309", "#0f766e", "#be123c", "#475569")
MEANS, DIFFERENCES = ("mean", "mean_low", "mean_high"), ("difference", "ci_low", "ci_high")
SETTLED = 30
"""Deals after which a running curve decides how much of the axis is shown."""
BLUE = "blue: p Holm < .05"


def all_figures(
    summary: pd.DataFrame, pairs: pd.DataFrame, results: Sequence[CellResults]
) -> dict[str, Figure]:
    """Every figure that the data can fill, by name: of wins, and of every other measure its own."""
    names, figures = short_names(summary), {}
    by_cell = {result.about.name: name for result, name in zip(results, names, strict=True)}
    for scale, places in by_scale(summary):
        cells = [results[at] for at in places]
        if any(result.outcomes for result in cells):
            rows, named = summary.iloc[places], [names[at] for at in places]
            figures[_called(scale, "win_rates")] = means(rows, named, scale)
            drawn = running_means(rows, cells, named, scale)
            figures[_called(scale, "running_win_rates")] = drawn
    for scale, places in by_scale(pairs):
        own = pairs.iloc[places]
        if len(own) > many.ROWS:
            own = own.dropna(subset=["difference"])
        if len(own):
            figures[_called(scale, "paired_differences")] = paired_differences(own, by_cell, scale)
    return figures


def _called(scale: Scale, figure: str) -> str:
    """A figure's name; one that is not of wins says what it is of."""
    return figure if scale.wins else figure.replace("win_rates", "means") + f"_{scale.slug}"


def means(summary: pd.DataFrame, names: Sequence[str], scale: Scale) -> Figure:
    """A point a cell with its 95% interval, raw and adjusted; of many cells the best estimates."""
    if len(summary) > many.ROWS:
        leading, told = _best(summary, "adjusted", (ADJUSTED, MEANS))
        label = f"{_unit(f'{told}{scale.title}', scale)} (95% interval; dashed: baseline; {BLUE})"
        return many.in_order(summary, (*leading, "baseline_mean"), names, scale, label)
    figure, axes = _canvas(1.4 + 0.4 * len(summary))
    for place, (_, row) in enumerate(summary.iterrows()):
        raw, best = (row[list(names)] for names in (MEANS, ADJUSTED))
        _intervals(axes, place, raw, best, row, scale)
        if not np.isnan(row["baseline_mean"]):
            x = scale.factor * row["baseline_mean"]
            axes.plot([x, x], [place - 0.4, place + 0.4], color=CONTRAST, ls="--", lw=1.5)
    _name_rows(axes, names)
    axes.set_xlabel(
        f"{_unit(scale.title, scale)} (95% interval; {_key(summary['adjusted'])}dashed: baseline; "
        "filled: p Holm < .05)"
    )
    return figure


def _unit(title: str, scale: Scale) -> str:
    return f"{title}, %" if scale.share else title


def _key(adjusted: pd.Series[Any]) -> str:
    """What tells the raw from the adjusted, where both are drawn."""
    return "grey: raw; blue: luck-adjusted; " if adjusted.notna().any() else ""


def _intervals(
    axes: Axes,
    place: int,
    raw: pd.Series[Any],
    best: pd.Series[Any],
    row: pd.Series[Any],
    scale: Scale,
) -> None:
    """The raw estimate with its interval, and below it the adjusted one where there is one. The
    leading one is filled where its declared test is significant within its family."""
    fill = ACCENT if row["p_test_holm"] < 0.05 else "white"
    if best.notna().all():
        _interval(axes, place - 0.14, raw, scale, MUTED, "white")
        _interval(axes, place + 0.14, best, scale, ACCENT, fill)
    else:
        _interval(axes, place, raw, scale, ACCENT, fill)


def _interval(
    axes: Axes, place: float, told: pd.Series[Any], scale: Scale, colour: str, fill: str
) -> None:
    """A line of an interval with a point on it. told: the estimate and its limits."""
    estimate, low, high = scale.factor * told.to_numpy(float)
    axes.plot([low, high], [place, place], color=colour, lw=2)
    axes.plot(estimate, place, "o", ms=8, mfc=fill, mec=colour, mew=2)


def running_means(
    summary: pd.DataFrame, results: Sequence[CellResults], names: Sequence[str], scale: Scale
) -> Figure:
    """The mean after every deal, in deal order, with a band of one 95% interval; of many cells how
    they spread."""
    if len(summary) > many.ROWS:
        return many.fan(summary, results, scale, _unit(f"{scale.title} so far", scale))
    figure, axes = _canvas(3.6)
    by = scale.factor
    shown = [summary["baseline_mean"].min(), summary["baseline_mean"].max()]
    for result, name, colour in zip(results, names, COLOURS * len(names), strict=False):
        deals, rates = running(result.by_deal()[1])
        if not len(deals):
            continue
        low, high = _band(result, deals, rates)
        axes.plot(deals, by * rates, color=colour, lw=1.5, label=name)
        axes.fill_between(deals, by * low, by * high, color=colour, alpha=0.12, lw=0)
        settled = deals >= min(SETTLED, deals[-1])
        shown += [np.fmin(low, rates)[settled].min(), np.fmax(high, rates)[settled].max()]
    for rate in sorted(set(summary["baseline_mean"].dropna())):
        axes.axhline(by * rate, color=MUTED, ls="--", lw=1.2)
    axes.set_xlabel("deals")
    axes.set_ylabel(_unit(f"{scale.title} so far", scale))
    least, most = by * np.nanmin(shown), by * np.nanmax(shown)
    margin = 1.0 if scale.share else 0.02 * (most - least) or 1.0
    axes.set_ylim(least - margin, most + margin)
    axes.legend(frameon=False, fontsize=8)
    return figure


def _band(
    result: CellResults, deals: np.ndarray, rates: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The limits of the mean over the first so many deals. Of a deal that one player wins in half
    of its rotations, half is won."""
    if result.about.wins and result.about.measured == 1:
        wins = rates * deals
        return limits((0.0, 1.0), (0.0, 1.0), counts=np.stack((deals - wins, wins), -1))
    _, low, high = running_mean(result.by_deal()[1])
    return low[deals - 1], high[deals - 1]


def paired_differences(pairs: pd.DataFrame, names: dict[str, str], scale: Scale) -> Figure:
    """The difference of two cells on shared deals, with its 95% interval; many as a heat map, or in
    order."""
    if len(pairs) > many.ROWS:
        return _many_differences(pairs, names, scale)
    figure, axes = _canvas(1.4 + 0.4 * len(pairs))
    for place, (_, row) in enumerate(pairs.iterrows()):
        raw, best = (row[list(names)] for names in (DIFFERENCES, DIFFERENCE))
        _intervals(axes, place, raw, best, row, scale)
    axes.axvline(0, color=MUTED, ls="--", lw=1.2)
    _name_rows(axes, _two(pairs, names))
    key = _key(pairs["adj_difference"])
    axes.set_xlabel(f"{_difference(scale)} ({key}filled: p Holm < .05)")
    return figure


def _many_differences(pairs: pd.DataFrame, names: dict[str, str], scale: Scale) -> Figure:
    best, told = _best(pairs, "adj_difference", (DIFFERENCE, DIFFERENCES))
    label = f"{told}{_difference(scale)}"
    if many.dense(pairs):
        return many.heat_map(pairs, best[0], names, scale, label)
    rows = pairs.assign(nothing=0.0)
    label = f"{label} (95% interval; {BLUE})"
    return many.in_order(rows, (*best, "nothing"), _two(pairs, names), scale, label)


def _best(
    table: pd.DataFrame, column: str, kinds: tuple[Sequence[str], Sequence[str]]
) -> tuple[Sequence[str], str]:
    """The columns of the adjusted estimate where every row has one, else of the raw; a word."""
    adjusted = bool(table[column].notna().all())
    return (kinds[0], "luck-adjusted ") if adjusted else (kinds[1], "")


def _two(pairs: pd.DataFrame, names: dict[str, str]) -> list[str]:
    both = zip(pairs["cell_a"], pairs["cell_b"], strict=True)
    return [f"{names[a]} - {names[b]}" for a, b in both]


def _difference(scale: Scale) -> str:
    what = "win rates" if scale.wins else f"mean {scale.title}"
    return f"difference of {what} on shared deals{', points' * scale.share}"


def running(per_deal: np.ndarray, points: int = POINTS) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of deals (`points` of them at most) and the mean over the first so many, of one
    figure a deal."""
    if not len(per_deal):
        return np.array([]), np.array([])
    counts = np.arange(1, len(per_deal) + 1)
    rates = np.cumsum(per_deal) / counts
    kept = np.unique(np.linspace(0, len(per_deal) - 1, min(points, len(per_deal))).astype(int))
    return counts[kept], rates[kept]


def svg(figure: Figure) -> str:
    """The figure as an <svg> element."""
    text = io.StringIO()
    figure.savefig(text, format="svg", dpi=150, bbox_inches="tight", metadata={"Date": None})
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
