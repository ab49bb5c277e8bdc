"""Figures of what a sweep found: the cells' means, how they came about, and their differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from gauntlet.games.capabilities import MATCH_SCORE
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables import large_sweep_plots, plot_style
from gauntlet.pipeline.tables.large_sweep_plots import POINTS
from gauntlet.pipeline.tables.plot_style import ACCENT, COLOURS, CONTRAST, DASHES, GROUND, MUTED
from gauntlet.pipeline.tables.primary_test import DIFFERENCE, ESTIMATE, RAW
from gauntlet.pipeline.tables.registry import Results, figure
from gauntlet.pipeline.tables.scale import Scale, by_scale
from gauntlet.pipeline.tables.summary import deals_of
from gauntlet.stats.intervals import running_mean
from gauntlet.stats.means import limits

SETTLED = 30
"""Deals after which a running curve decides how much of the axis is shown."""
FILLED = "filled: p Holm < .05"
BLUE = "blue: p Holm < .05"


@figure("win_rates", place=0)
def win_rates(results: Results) -> dict[str, Figure]:
    """The mean of every cell, one figure a measure."""
    return {
        called(scale, "win_rates"): means(rows, named, scale)
        for scale, rows, named, cells in _by_measure(results)
        if any(cell.outcomes for cell in cells)
    }


@figure("running_win_rates", place=1)
def running_win_rates(results: Results) -> dict[str, Figure]:
    """How the means settled."""
    return {
        called(scale, "running_win_rates"): running_means(rows, cells, named, scale)
        for scale, rows, named, cells in _by_measure(results)
        if any(cell.outcomes for cell in cells)
    }


def _by_measure(
    results: Results,
) -> Iterator[tuple[Scale, pd.DataFrame, list[str], list[CellResults]]]:
    """The rows of summary.csv that are of one measure, with their cells' names and results."""
    summary, names = results["summary"], [*results.names.values()]
    for scale, places in by_scale(summary):
        own = [results.cells[at] for at in places]
        yield scale, summary.iloc[places], [names[at] for at in places], own


@figure("paired_differences", place=2)
def differences(results: Results) -> dict[str, Figure]:
    """The differences of pairs.csv."""
    pairs, drawn = results["pairs"], {}
    scales = [results.scales[cell] for cell in pairs["cell_a"]]
    for scale in sorted(dict.fromkeys(scales), key=lambda scale: not scale.wins):
        own = pairs[[one == scale for one in scales]]
        if len(own) > plot_style.rows():
            own = own.dropna(subset=["raw"])
        if len(own):
            name = called(scale, "paired_differences")
            drawn[name] = paired_differences(own, results.names, scale)
    return drawn


def called(scale: Scale, figure: str) -> str:
    """A figure's name; one that is not of wins says what it is of."""
    return figure if scale.wins else figure.replace("win_rates", "means") + f"_{scale.slug}"


def means(summary: pd.DataFrame, names: Sequence[str], scale: Scale) -> Figure:
    """A point a cell with its 95% interval, raw and adjusted; of many cells the best estimates."""
    title = f"{capital(scale.title)} of {_cells(len(summary))}, {deals_of(summary['deals'])}"
    if len(summary) > plot_style.rows():
        leading, told = best(bool((summary["estimator"] == "adjusted").all()), ESTIMATE)
        label = f"{unit(f'{told}{scale.words}', scale)} (95% interval; dashed: baseline; {BLUE})"
        rows = (*leading, "baseline")
        return large_sweep_plots.in_order(summary, rows, names, scale, label, title)
    figure, axes = _rows(len(summary))
    for place, (_, row) in enumerate(summary.iterrows()):
        _intervals(axes, place, row, ESTIMATE, row["estimator"] == "adjusted", scale)
        if not np.isnan(row["baseline"]):
            x = scale.factor * row["baseline"]
            axes.plot([x, x], [place - 0.2, place + 0.36], color=CONTRAST, ls="--", lw=1.2)
    plot_style.name_rows(axes, range(len(names)), names, plot_style.narrow())
    label = f"{unit(scale.words, scale)} (95% interval; {_key(summary['estimator'])}"
    axes.set_xlabel(_below(f"{label}dashed: baseline; {FILLED})"))
    plot_style.titled(figure, title)
    return figure


def _rows(number: int) -> tuple[Figure, Axes]:
    """Axes for rows with names."""
    return plot_style.canvas(0.95 + plot_style.row_height(number) * max(2, number))


def _below(label: str) -> str:
    """A label under axes that have names beside them, or above where there is no room."""
    return plot_style.wrapped(label, 0.95 if plot_style.narrow() else 0.75)


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _cells(number: int) -> str:
    return f"{number:,} cell{'s' * (number > 1)}"


def unit(title: str, scale: Scale) -> str:
    """What stands at an axis: the title, and percent where it is a share."""
    return f"{title}, %" if scale.share else title


def _key(made: pd.Series[Any]) -> str:
    """What tells the raw from the adjusted, where both are drawn. made: how each estimate was."""
    return "grey: raw; blue: luck-adjusted; " if (made == "adjusted").any() else ""


def _intervals(
    axes: Axes,
    place: int,
    row: pd.Series[Any],
    columns: Sequence[str],
    adjusted: bool,
    scale: Scale,
) -> None:
    """The raw estimate with its interval, and below it the adjusted one where there is one. The
    leading one is filled where its declared test is significant within its family.

    columns: of the best estimate and its limits.
    """
    fill = ACCENT if row["p_holm"] < 0.05 else GROUND
    middle = place + 0.1 * plot_style.narrow()  # the name stands above
    if adjusted:
        _interval(axes, middle - 0.14, row[[*RAW]], scale, MUTED, GROUND)
        _interval(axes, middle + 0.14, row[[*columns]], scale, ACCENT, fill)
    else:
        _interval(axes, middle, row[[*RAW]], scale, ACCENT, fill)


def _interval(
    axes: Axes, place: float, told: pd.Series[Any], scale: Scale, colour: str, fill: str
) -> None:
    """A line of an interval with a point on it. told: the estimate and its limits."""
    estimate, low, high = scale.factor * told.to_numpy(float)
    axes.plot([low, high], [place, place], color=colour, lw=1.6)
    axes.plot(estimate, place, "o", ms=4.5, mfc=fill, mec=colour, mew=1.3)


def running_means(
    summary: pd.DataFrame, results: Sequence[CellResults], names: Sequence[str], scale: Scale
) -> Figure:
    """The mean after every deal, in deal order, with a band of one 95% interval; of more cells than
    there are colours how they spread."""
    label = unit(f"{scale.words} so far", scale)
    if len(summary) > len(COLOURS):
        return large_sweep_plots.fan(summary, results, scale, label)
    figure, axes = plot_style.canvas(2.9)
    by = scale.factor
    shown = [summary["baseline"].min(), summary["baseline"].max()]
    lines = zip(results, names, COLOURS, DASHES, strict=False)
    for result, name, colour, dash in lines:
        deals, rates = running(result.by_deal()[1])
        if not len(deals):
            continue
        low, high = band(result, deals, rates)
        axes.plot(deals, by * rates, color=colour, ls=dash, lw=1.2, label=name)
        axes.fill_between(deals, by * low, by * high, color=colour, alpha=0.12, lw=0)
        settled = deals >= min(SETTLED, deals[-1])
        shown += [np.fmin(low, rates)[settled].min(), np.fmax(high, rates)[settled].max()]
    for rate in sorted(set(summary["baseline"].dropna())):
        axes.axhline(by * rate, color=MUTED, ls="--", lw=1, label="baseline")
    axes.set_xlabel("deals")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    axes.set_ylabel(label)
    least, most = by * np.nanmin(shown), by * np.nanmax(shown)
    margin = 1.0 if scale.share else 0.02 * (most - least) or 1.0
    axes.set_ylim(least - margin, most + margin)
    plot_style.keyed(figure)
    told = "raw, after so many deals (bands: 95% intervals, each of one look)"
    plot_style.titled(figure, f"{capital(scale.title)} {told}")
    return figure


def band(
    result: CellResults, deals: np.ndarray, rates: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The limits of the mean over the first so many deals. Of a deal that one player wins in half
    of its rotations, half is won."""
    if result.about.wins and result.about.measured == 1:
        wins = rates * deals
        return limits((0.0, 1.0), (0.0, 1.0), counts=np.stack((deals - wins, wins), -1))
    values = result.by_deal()[1]
    if result.about.measure == MATCH_SCORE:  # few values differ
        kinds = np.unique(values)
        counts = np.stack([np.cumsum(values == kind)[deals - 1] for kind in kinds], -1)
        return limits(kinds, (MATCH_SCORE.low, MATCH_SCORE.high), counts=counts)
    _, low, high = running_mean(values)
    return low[deals - 1], high[deals - 1]


def paired_differences(pairs: pd.DataFrame, names: dict[str, str], scale: Scale) -> Figure:
    """The difference of two cells on shared deals, with its 95% interval; many as a heat map, or in
    order."""
    if len(pairs) > plot_style.rows():
        return _many_differences(pairs, names, scale)
    figure, axes = _rows(len(pairs))
    for place, (_, row) in enumerate(pairs.iterrows()):
        _intervals(axes, place, row, DIFFERENCE, row["test"] == "adjusted", scale)
    axes.axvline(0, color=MUTED, ls="--", lw=1)
    plot_style.name_rows(axes, range(len(pairs)), _two(pairs, names), plot_style.narrow())
    key = _key(pairs["test"])
    axes.set_xlabel(_below(f"{_difference(scale)} (95% interval; {key}{FILLED})"))
    many_pairs = f"{len(pairs):,} pair{'s' * (len(pairs) > 1)} of cells"
    plot_style.titled(figure, f"{many_pairs}, on {deals_of(pairs['deals'])} that both played")
    return figure


def _many_differences(pairs: pd.DataFrame, names: dict[str, str], scale: Scale) -> Figure:
    leading, told = best(bool((pairs["test"] == "adjusted").all()), DIFFERENCE)
    label = f"{told}{_difference(scale)}"
    if large_sweep_plots.dense(pairs):
        return large_sweep_plots.heat_map(pairs, leading[0], names, scale, label)
    rows = pairs.assign(nothing=0.0)
    label = f"{label} (95% interval; {BLUE})"
    title = f"{len(pairs):,} pairs of cells, on {deals_of(pairs['deals'])} that both played"
    return large_sweep_plots.in_order(
        rows, (*leading, "nothing"), _two(pairs, names), scale, label, title
    )


def best(adjusted: bool, columns: Sequence[str]) -> tuple[Sequence[str], str]:
    """The columns of the best estimate where every row's is luck-adjusted, else of the raw; a
    word."""
    return (columns, "luck-adjusted ") if adjusted else (RAW, "")


def _two(pairs: pd.DataFrame, names: dict[str, str]) -> list[str]:
    both = zip(pairs["cell_a"], pairs["cell_b"], strict=True)
    return [f"{names[a]} - {names[b]}" for a, b in both]


def _difference(scale: Scale) -> str:
    what = "win rates" if scale.wins else f"mean {scale.words}"
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
