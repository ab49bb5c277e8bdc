"""Figures of more cells, or pairs, than have room for a line each: of any number the same size.

All in order without names, and the ends of the order with names; running means as a fan; paired
differences as a heat map where enough of all pairs are there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables import heatmaps, plot_style
from gauntlet.pipeline.tables.plot_style import ACCENT, CONTRAST, GROUND, INK, MUTED, PALE
from gauntlet.pipeline.tables.scale import Scale

HIGHEST, LOWEST = 20, 10
"""How many of either end are named; half of them in little room."""
POINTS = 400
"""Points drawn of a running curve; more would not be seen."""
TOLD = 16
"""Cells up to which a heat map has numbers; half of them in little room."""
DENSE = 0.2
"""The share of all pairs of the cells from which on a heat map shows more than it leaves empty."""
BANDS = ((5, 95, 0.15), (25, 75, 0.3))
"""Percentiles of the cells between which a fan is filled, and how dark."""


def in_order(
    table: pd.DataFrame,
    columns: Sequence[str],
    names: Sequence[str],
    scale: Scale,
    label: str,
    title: str,
) -> Figure:
    """Every row's estimate with its interval, the highest on top; and the ends by name.

    columns: of the estimate, its limits, and what it is compared with.
    """
    told = scale.factor * table[list(columns)].to_numpy(float)
    order = np.argsort(-told[:, 0], kind="stable")
    order = order[np.isfinite(told[order, 0])]
    clear = (table["p_holm"] < 0.05).to_numpy()
    figure, (whole, ends) = _beside_or_below()
    _lines(whole, told[order], clear[order], np.arange(len(order)), thin=True)
    whole.set_ylim(len(order), -1)
    whole.set_yticks([])
    whole.set_title(f"all {len(order):,}, in order")
    few = 2 if plot_style.narrow() else 1
    top, low = order[: HIGHEST // few], order[HIGHEST // few :][-LOWEST // few :]
    places = np.arange(len(top) + len(low)) + (np.arange(len(top) + len(low)) >= len(top))
    some = np.concatenate((top, low))
    _lines(ends, told[some], clear[some], places + 0.1, thin=False)
    share = 1.0 if plot_style.narrow() else 0.6
    plot_style.name_rows(ends, places.tolist(), [names[at] for at in some], above=True, share=share)
    lowest = f" and {len(low)} lowest" if len(low) else ""
    ends.set_title(f"the {len(top)} highest{lowest}")
    for axes in (whole, ends):
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x", color=PALE, lw=0.6)
        axes.set_axisbelow(True)
    figure.supxlabel(plot_style.wrapped(label), fontsize=plot_style.SIZE)
    plot_style.titled(figure, title)
    return figure


def _beside_or_below() -> tuple[Figure, list[Axes]]:
    """Two pairs of axes: the second below the first where there is little room."""
    if plot_style.narrow():
        return plot_style.panels(2, 1, 8.4, sharex=True, height_ratios=(1, 2.4))
    return plot_style.panels(1, 2, 9.0, sharex=True, width_ratios=(1, 1.6))


def _lines(axes: Axes, told: np.ndarray, clear: np.ndarray, places: np.ndarray, thin: bool) -> None:
    """Points with their intervals, blue where significant, and what each is compared with. Thin
    ones are drawn as an image: a thousand lines in a file are slow to look at."""
    values, low, high, against = told.T
    colours = [ACCENT if one else MUTED for one in clear]
    drawn = [((a, y), (b, y)) for a, b, y in zip(low, high, places, strict=True)]
    width = max(0.3, min(1.6, 200 / len(told))) if thin else 1.6
    alpha = 0.5 if thin else 1.0
    lines = LineCollection(drawn, colors=colours, linewidths=width, alpha=alpha, rasterized=thin)
    axes.add_collection(lines)
    size = max(1.5, min(12.0, 1200 / len(told))) if thin else 18.0
    faces = [colour if thin or one else GROUND for colour, one in zip(colours, clear, strict=True)]
    axes.scatter(values, places, size, faces, edgecolors=colours, zorder=3, rasterized=thin)
    if len(set(against[np.isfinite(against)])) == 1:
        axes.axvline(against[np.isfinite(against)][0], color=CONTRAST, ls="--", lw=1, zorder=2)
    else:
        axes.scatter(against, places, size, CONTRAST, marker="|", zorder=2, rasterized=thin)


def fan(summary: pd.DataFrame, results: Sequence[CellResults], scale: Scale, label: str) -> Figure:
    """How the cells' running means spread as deals are played."""
    curves = [result.by_deal()[1] for result in results]
    longest = max(map(len, curves))
    kept = np.unique(np.linspace(0, longest - 1, min(POINTS, longest)).astype(int))
    rates = np.full((len(curves), len(kept)), np.nan)
    for row, values in zip(rates, curves, strict=True):
        own = kept[kept < len(values)]
        row[: len(own)] = scale.factor * (np.cumsum(values) / np.arange(1, len(values) + 1))[own]
    rates = rates[np.isfinite(rates[:, 0])]
    figure, axes = plot_style.canvas(2.9)
    for low, high, dark in BANDS:
        edges = np.nanpercentile(rates, (low, high), axis=0)
        axes.fill_between(
            kept + 1, *edges, color=ACCENT, alpha=dark, lw=0, label=f"{low}% to {high}% of cells"
        )
    axes.plot(kept + 1, np.nanmedian(rates, axis=0), color=ACCENT, lw=1.6, label="median cell")
    bases = summary["baseline"].dropna().to_numpy(float)
    if len(bases):
        middle = scale.factor * float(np.median(bases))
        axes.axhline(middle, color=CONTRAST, ls="--", lw=1, label="baseline")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    axes.set_xlabel("deals")
    axes.set_ylabel(label)
    plot_style.keyed(figure, 4)
    plot_style.titled(figure, f"How {len(rates):,} cells spread after so many deals, raw")
    return figure


def dense(pairs: pd.DataFrame) -> bool:
    """Whether a heat map would show more than it leaves empty."""
    cells = len({*pairs["cell_a"], *pairs["cell_b"]})
    return len(pairs) >= DENSE * cells * (cells - 1) / 2


def heat_map(
    pairs: pd.DataFrame, column: str, names: dict[str, str], scale: Scale, label: str
) -> Figure:
    """The difference of every row's cell less every column's, in the table's order, with as much
    besides as there is room for: what is significant, numbers, names."""
    cells = [cell for cell in names if cell in {*pairs["cell_a"], *pairs["cell_b"]}]
    place = {cell: at for at, cell in enumerate(cells)}
    a, b = (pairs[side].map(place).to_numpy() for side in ("cell_a", "cell_b"))
    shades, clear = np.full((2, len(cells), len(cells)), np.nan)
    shades[a, b], shades[b, a] = (sign * scale.factor * pairs[column] for sign in (1, -1))
    clear[a, b] = clear[b, a] = pairs["p_holm"] < 0.05
    named, told = (
        len(cells) <= plot_style.rows(),
        len(cells) <= (8 if plot_style.narrow() else TOLD) and scale.share,
    )
    figure, axes = plot_style.canvas(plot_style.width() * 0.8 + named * len(cells) * 0.08)
    most = float(np.nanmax(np.abs(shades), initial=0)) or 1.0
    texts = [[f"{round(one) or 0:+d}" if np.isfinite(one) else "" for one in row] for row in shades]
    image = heatmaps.shaded(axes, shades, most, texts if told else None, clear == 1)
    if named:
        heatmaps.named(figure, axes, [names[cell] for cell in cells], both=True)
        if not told:
            axes.plot(*np.nonzero((clear == 1).T), ".", ms=2.5, color=INK)
    else:
        axes.set_xlabel("column: cell B, in the order of summary.csv")
        axes.set_ylabel("row: cell A")
    found = int((pairs["p_holm"] < 0.05).sum())
    how = " in bold" if told else " with a dot" if named else ""
    plot_style.titled(
        figure,
        f"Row less column: {label}\n{len(pairs):,} pairs of {len(cells):,} cells, {found:,}{how}, "
        "p Holm < .05",
    )
    heatmaps.scaled(figure, axes, image, label)
    return figure
