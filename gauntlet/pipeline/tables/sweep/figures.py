"""Figures of a sweep's results: the cells' means, how they settled, and their differences.

A figure of more cells or pairs than have room for a line each keeps its size: all in order without
names and the ends of the order with names; running means as a fan; differences as a heat map where
enough pairs are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from gauntlet.common.errors import counted
from gauntlet.games.capabilities import MATCH_SCORE
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables.formatting import Scale, by_scale, capitalize
from gauntlet.pipeline.tables.media import plot_style
from gauntlet.pipeline.tables.media.plot_style import (
    ACCENT,
    COLOURS,
    CONTRAST,
    DASHES,
    GROUND,
    INK,
    MUTED,
    PALE,
)
from gauntlet.pipeline.tables.registry import Results, figure
from gauntlet.pipeline.tables.sweep.primary_test import DIFFERENCE, ESTIMATE, RAW
from gauntlet.pipeline.tables.sweep.summary import deal_range
from gauntlet.stats.intervals import running_mean
from gauntlet.stats.means import limits

SETTLED = 30
"""Deals after which a running curve determines the range of the axis."""
POINTS = 400
"""Points drawn of a running curve."""
FILLED, BLUE = "filled: p Holm < .05", "blue: p Holm < .05"


@figure("win_rates", place=0)
def win_rates(results: Results) -> dict[str, Figure]:
    """The mean of every cell, one figure for each measure."""
    return {
        figure_name(scale, "win_rates"): means(rows, names, scale)
        for scale, rows, names, _ in _by_measure(results)
    }


@figure("running_win_rates", place=1)
def running_win_rates(results: Results) -> dict[str, Figure]:
    """How the means settled."""
    return {
        figure_name(scale, "running_win_rates"): running_means(rows, cells, names, scale)
        for scale, rows, names, cells in _by_measure(results)
    }


def _by_measure(
    results: Results,
) -> Iterator[tuple[Scale, pd.DataFrame, list[str], list[CellResults]]]:
    """The rows of summary.csv of each measure with a finished deal, with their names and cells."""
    summary, names = results["summary"], [*results.names.values()]
    for scale, places in by_scale(summary):
        cells = [results.cells[at] for at in places]
        if any(cell.outcomes for cell in cells):
            yield scale, summary.iloc[places], [names[at] for at in places], cells


@figure("paired_differences", place=2)
def differences(results: Results) -> dict[str, Figure]:
    """The differences of pairs.csv, one figure for each measure."""
    pairs, plots = results["pairs"], {}
    scales = [results.scales[cell] for cell in pairs["cell_a"]]
    for scale in sorted(dict.fromkeys(scales), key=lambda scale: not scale.wins):
        rows = pairs[[one == scale for one in scales]]
        if len(rows) > plot_style.max_rows():
            rows = rows.dropna(subset=["raw"])
        if len(rows):
            name = figure_name(scale, "paired_differences")
            plots[name] = paired_differences(rows, results.names, scale)
    return plots


def figure_name(scale: Scale, figure: str) -> str:
    """A figure's name, with its measure unless that is wins."""
    return figure if scale.wins else figure.replace("win_rates", "means") + f"_{scale.slug}"


def unit(title: str, scale: Scale) -> str:
    """The label of an axis."""
    return f"{title}, %" if scale.share else title


def best_columns(adjusted: bool, columns: Sequence[str]) -> tuple[Sequence[str], str]:
    """The best estimate's columns if all rows are luck-adjusted, else the raw ones; a prefix for
    labels."""
    return (columns, "luck-adjusted ") if adjusted else (RAW, "")


def means(summary: pd.DataFrame, names: Sequence[str], scale: Scale) -> Figure:
    """A point per cell with its 95% interval, raw and adjusted; of many cells the best ones."""
    count = len(summary)
    title = f"{capitalize(scale.title)} of {counted(count, 'cell')}, {deal_range(summary['deals'])}"
    if count > plot_style.max_rows():
        best, prefix = best_columns(bool((summary["estimator"] == "adjusted").all()), ESTIMATE)
        label = f"{unit(f'{prefix}{scale.words}', scale)} (95% interval; dashed: baseline; {BLUE})"
        return in_order(summary, (*best, "baseline"), names, scale, label, title)
    figure, axes = _rows(count)
    for place, (_, row) in enumerate(summary.iterrows()):
        _intervals(axes, place, row, ESTIMATE, row["estimator"] == "adjusted", scale)
        if not np.isnan(row["baseline"]):
            x = scale.factor * row["baseline"]
            axes.plot([x, x], [place - 0.2, place + 0.36], color=CONTRAST, ls="--", lw=1.2)
    plot_style.label_rows(axes, range(len(names)), names, plot_style.narrow())
    key = _colour_key(summary["estimator"])
    label = f"{unit(scale.words, scale)} (95% interval; {key}dashed: baseline; {FILLED})"
    axes.set_xlabel(_axis_label(label))
    return plot_style.set_title(figure, title)


def _rows(count: int) -> tuple[Figure, Axes]:
    """Axes for named rows."""
    return plot_style.canvas(0.95 + plot_style.row_height(count) * max(2, count))


def _axis_label(label: str) -> str:
    """Wrapped to the width that row names leave."""
    return plot_style.wrap(label, 0.95 if plot_style.narrow() else 0.75)


def _colour_key(estimators: pd.Series[Any]) -> str:
    return "grey: raw; blue: luck-adjusted; " if (estimators == "adjusted").any() else ""


def _intervals(
    axes: Axes,
    place: int,
    row: pd.Series[Any],
    columns: Sequence[str],
    adjusted: bool,
    scale: Scale,
) -> None:
    """The raw estimate with its interval, and the adjusted one below it. The best one is filled if
    its p after Holm is significant.

    columns: the best estimate and its limits.
    """
    fill = ACCENT if row["p_holm"] < 0.05 else GROUND
    middle = place + 0.1 * plot_style.narrow()  # the name stands above
    lines: list[tuple[float, Sequence[str], str, str]] = [(middle, RAW, ACCENT, fill)]
    if adjusted:
        lines = [(middle - 0.14, RAW, MUTED, GROUND), (middle + 0.14, columns, ACCENT, fill)]
    for y, names, colour, face in lines:
        estimate, low, high = scale.factor * row[[*names]].to_numpy(float)
        axes.plot([low, high], [y, y], color=colour, lw=1.6)
        axes.plot(estimate, y, "o", ms=4.5, mfc=face, mec=colour, mew=1.3)


def running_means(
    summary: pd.DataFrame, cells: Sequence[CellResults], names: Sequence[str], scale: Scale
) -> Figure:
    """The mean after every deal, with a band of one 95% interval; of many cells a fan."""
    label = unit(f"{scale.title} so far", scale)  # longer than the axis with its explanation
    if len(summary) > len(COLOURS):
        return fan(summary, cells, scale, label)
    figure, axes = plot_style.canvas(2.9)
    factor = scale.factor
    edges = [summary["baseline"].min(), summary["baseline"].max()]
    for cell, name, colour, dash in zip(cells, names, COLOURS, DASHES, strict=False):
        deals, rates = running(cell.by_deal()[1])
        if not len(deals):
            continue
        low, high = band(cell, deals, rates)
        axes.plot(deals, factor * rates, color=colour, ls=dash, lw=1.2, label=name)
        axes.fill_between(deals, factor * low, factor * high, color=colour, alpha=0.12, lw=0)
        settled = deals >= min(SETTLED, deals[-1])
        edges += [np.fmin(low, rates)[settled].min(), np.fmax(high, rates)[settled].max()]
    for rate in sorted(set(summary["baseline"].dropna())):
        axes.axhline(factor * rate, color=MUTED, ls="--", lw=1, label="baseline")
    _deals_axis(axes)
    axes.set_ylabel(label)
    least, most = factor * np.nanmin(edges), factor * np.nanmax(edges)
    margin = 1.0 if scale.share else 0.02 * (most - least) or 1.0
    axes.set_ylim(least - margin, most + margin)
    plot_style.add_legend(figure)
    what = "raw, by number of deals (bands: 95% intervals of a single look)"
    return plot_style.set_title(figure, f"{capitalize(scale.title)} {what}")


def _deals_axis(axes: Axes) -> None:
    axes.set_xlabel("deals")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))


def running(per_deal: np.ndarray, points: int = POINTS) -> tuple[np.ndarray, np.ndarray]:
    """At most `points` numbers of deals, and the mean of the first so many values."""
    if not len(per_deal):
        return np.array([]), np.array([])
    deals = 1 + _places(len(per_deal), points)
    return deals, np.cumsum(per_deal)[deals - 1] / deals


def _places(length: int, points: int = POINTS) -> np.ndarray:
    return np.unique(np.linspace(0, length - 1, min(points, length)).astype(int))


def band(
    result: CellResults, deals: np.ndarray, rates: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The limits of the mean over the first so many deals. A deal won in half of its rotations is
    half a win."""
    if result.about.wins and result.about.measured == 1:
        wins = rates * deals
        return limits((0.0, 1.0), (0.0, 1.0), counts=np.stack((deals - wins, wins), -1))
    values = result.by_deal()[1]
    if result.about.measure == MATCH_SCORE:  # it has few different values
        kinds = np.unique(values)
        counts = np.stack([np.cumsum(values == kind)[deals - 1] for kind in kinds], -1)
        return limits(kinds, (MATCH_SCORE.low, MATCH_SCORE.high), counts=counts)
    _, low, high = running_mean(values)
    return low[deals - 1], high[deals - 1]


def without_common_words(names: Mapping[str, str]) -> dict[str, str]:
    """The names without the words that all begin with, so that two of them fit beside a row."""
    words = {key: name.split() for key, name in names.items()}
    columns = zip(*(name[:-1] for name in words.values()), strict=False)
    common = len([*takewhile(lambda column: len({*column}) == 1, columns)])
    return {key: " ".join(name[common:]) for key, name in words.items()}


def paired_differences(pairs: pd.DataFrame, names: Mapping[str, str], scale: Scale) -> Figure:
    """The difference of two cells on shared deals, with its 95% interval; many pairs as a heat map
    or in order."""
    count = len(pairs)
    what = "win rates" if scale.wins else f"mean {scale.words}"
    label = f"difference of {what} on shared deals{', points' if scale.share else ''}"
    title = f"{counted(count, 'pair')} of cells, on {deal_range(pairs['deals'])} that both played"
    sides = list(zip(pairs["cell_a"], pairs["cell_b"], strict=True))
    short = without_common_words({cell: names[cell] for pair in sides for cell in pair})
    rows = [f"{short[a]} - {short[b]}" for a, b in sides]
    if count > plot_style.max_rows():
        best, prefix = best_columns(bool((pairs["test"] == "adjusted").all()), DIFFERENCE)
        if dense(pairs):
            return heat_map(pairs, best[0], names, scale, prefix + label)
        pairs, columns = pairs.assign(nothing=0.0), (*best, "nothing")
        return in_order(
            pairs, columns, rows, scale, f"{prefix}{label} (95% interval; {BLUE})", title
        )
    figure, axes = _rows(count)
    for place, (_, row) in enumerate(pairs.iterrows()):
        _intervals(axes, place, row, DIFFERENCE, row["test"] == "adjusted", scale)
    axes.axvline(0, color=MUTED, ls="--", lw=1)
    plot_style.label_rows(axes, range(count), rows, plot_style.narrow())
    axes.set_xlabel(_axis_label(f"{label} (95% interval; {_colour_key(pairs['test'])}{FILLED})"))
    return plot_style.set_title(figure, title)


# --- many cells

HIGHEST, LOWEST = 20, 10
"""Rows named at either end; half of them in narrow figures."""
WITH_NUMBERS = 16
"""Largest heat map that prints numbers, in cells; half in narrow figures."""
DENSE = 0.2
"""The share of all pairs from which a heat map is worth drawing."""
BANDS = ((5, 95, 0.15), (25, 75, 0.3))
"""Percentiles of the cells that a fan fills, and the opacity."""


def in_order(
    table: pd.DataFrame,
    columns: Sequence[str],
    names: Sequence[str],
    scale: Scale,
    label: str,
    title: str,
) -> Figure:
    """Every row's estimate with its interval, the highest on top; and both ends by name.

    columns: the estimate, its limits, and the reference value.
    """
    values = scale.factor * table[list(columns)].to_numpy(float)
    order = np.argsort(-values[:, 0], kind="stable")
    order = order[np.isfinite(values[order, 0])]
    significant = (table["p_holm"] < 0.05).to_numpy()
    if plot_style.narrow():
        figure, panels = plot_style.panels(2, 1, 8.4, sharex=True, height_ratios=(1, 2.4))
    else:
        figure, panels = plot_style.panels(1, 2, 9.0, sharex=True, width_ratios=(1, 1.6))
    every, ends = panels
    _lines(every, values[order], significant[order], np.arange(len(order)), thin=True)
    every.set_ylim(len(order), -1)
    every.set_yticks([])
    every.set_title(f"all {len(order):,}, in order")
    few = 2 if plot_style.narrow() else 1
    top, low = order[: HIGHEST // few], order[HIGHEST // few :][-LOWEST // few :]
    selected = np.concatenate((top, low))
    places = np.arange(len(selected)) + (np.arange(len(selected)) >= len(top))
    _lines(ends, values[selected], significant[selected], places + 0.1, thin=False)
    share = 1.0 if plot_style.narrow() else 0.6
    labels = [names[at] for at in selected]
    plot_style.label_rows(ends, places.tolist(), labels, above=True, share=share)
    ends.set_title(f"the {len(top)} highest{f' and {len(low)} lowest' if len(low) else ''}")
    for axes in panels:
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x", color=PALE, lw=0.6)
        axes.set_axisbelow(True)
    figure.supxlabel(plot_style.wrap(label), fontsize=plot_style.SIZE)
    return plot_style.set_title(figure, title)


def _lines(
    axes: Axes, values: np.ndarray, significant: np.ndarray, places: np.ndarray, thin: bool
) -> None:
    """Points with their intervals, blue if significant, and their reference values. Thin ones are
    rasterised: files with a thousand lines are slow to view."""
    estimates, low, high, reference = values.T
    colours = [ACCENT if one else MUTED for one in significant]
    segments = [((a, y), (b, y)) for a, b, y in zip(low, high, places, strict=True)]
    width = max(0.3, min(1.6, 200 / len(values))) if thin else 1.6
    alpha = 0.5 if thin else 1.0
    lines = LineCollection(segments, colors=colours, linewidths=width, alpha=alpha, rasterized=thin)
    axes.add_collection(lines)
    size = max(1.5, min(12.0, 1200 / len(values))) if thin else 18.0
    faces = [c if thin or one else GROUND for c, one in zip(colours, significant, strict=True)]
    axes.scatter(estimates, places, size, faces, edgecolors=colours, zorder=3, rasterized=thin)
    if len(set(reference[np.isfinite(reference)])) == 1:
        at = reference[np.isfinite(reference)][0]
        axes.axvline(at, color=CONTRAST, ls="--", lw=1, zorder=2)
    else:
        axes.scatter(reference, places, size, CONTRAST, marker="|", zorder=2, rasterized=thin)


def fan(summary: pd.DataFrame, cells: Sequence[CellResults], scale: Scale, label: str) -> Figure:
    """How the cells' running means spread over the deals."""
    curves = [cell.by_deal()[1] for cell in cells]
    places = _places(max(map(len, curves)))
    rates = np.full((len(curves), len(places)), np.nan)
    for row, values in zip(rates, curves, strict=True):
        at = places[places < len(values)]
        row[: len(at)] = scale.factor * (np.cumsum(values) / np.arange(1, len(values) + 1))[at]
    rates = rates[np.isfinite(rates[:, 0])]
    figure, axes = plot_style.canvas(2.9)
    for low, high, alpha in BANDS:
        edges = np.nanpercentile(rates, (low, high), axis=0)
        band = f"{low}% to {high}% of cells"
        axes.fill_between(places + 1, *edges, color=ACCENT, alpha=alpha, lw=0, label=band)
    axes.plot(places + 1, np.nanmedian(rates, axis=0), color=ACCENT, lw=1.6, label="median cell")
    bases = summary["baseline"].dropna().to_numpy(float)
    if len(bases):
        middle = scale.factor * float(np.median(bases))
        axes.axhline(middle, color=CONTRAST, ls="--", lw=1, label="baseline")
    _deals_axis(axes)
    axes.set_ylabel(label)
    plot_style.add_legend(figure, 4)
    return plot_style.set_title(figure, f"How {len(rates):,} cells spread by number of deals, raw")


def dense(pairs: pd.DataFrame) -> bool:
    """Whether a heat map of the pairs would be filled well enough."""
    cells = len({*pairs["cell_a"], *pairs["cell_b"]})
    return len(pairs) >= DENSE * cells * (cells - 1) / 2


def heat_map(
    pairs: pd.DataFrame, column: str, names: Mapping[str, str], scale: Scale, label: str
) -> Figure:
    """The row's cell less the column's, in the table's order; with significance, numbers and names
    as far as there is room."""
    cells = [cell for cell in names if cell in {*pairs["cell_a"], *pairs["cell_b"]}]
    place = {cell: at for at, cell in enumerate(cells)}
    a, b = (pairs[side].map(place).to_numpy() for side in ("cell_a", "cell_b"))
    values, significant = np.full((2, len(cells), len(cells)), np.nan)
    values[a, b], values[b, a] = (sign * scale.factor * pairs[column] for sign in (1, -1))
    significant[a, b] = significant[b, a] = pairs["p_holm"] < 0.05
    with_names = len(cells) <= plot_style.max_rows()
    most_cells = WITH_NUMBERS // 2 if plot_style.narrow() else WITH_NUMBERS
    with_numbers = len(cells) <= most_cells and scale.share
    figure, axes = plot_style.canvas(plot_style.width() * 0.8 + with_names * len(cells) * 0.08)
    most = float(np.nanmax(np.abs(values), initial=0)) or 1.0
    texts = [[f"{round(x) or 0:+d}" if np.isfinite(x) else "" for x in row] for row in values]
    image = plot_style.heat_map(axes, values, most, texts if with_numbers else (), significant == 1)
    if with_names:
        plot_style.label_heat_map(figure, axes, [names[cell] for cell in cells], both_axes=True)
        if not with_numbers:
            axes.plot(*np.nonzero((significant == 1).T), ".", ms=2.5, color=INK)
    else:
        axes.set_xlabel("column: cell B, in the order of summary.csv")
        axes.set_ylabel("row: cell A")
    mark = " in bold" if with_numbers else " with a dot" if with_names else ""
    plot_style.set_title(
        figure,
        f"Row less column: {label}\n{len(pairs):,} pairs of {len(cells):,} cells, "
        f"{int((pairs['p_holm'] < 0.05).sum()):,}{mark}, p Holm < .05",
    )
    plot_style.add_colour_bar(figure, axes, image, label)
    return figure
