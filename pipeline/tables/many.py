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

from pipeline.log.results import CellResults
from pipeline.tables.scale import Scale

ACCENT, CONTRAST, MUTED, PALE = "#0b6e99", "#c2410c", "#9aa5b1", "#eef1f4"
INK = "#1f2933"
ROWS = 40
"""Cells, or pairs, up to which each has a line and a name."""
HIGHEST, LOWEST = 20, 10
"""How many of either end are named."""
POINTS = 400
"""Points drawn of a running curve; more would not be seen."""
TOLD = 16
"""Cells up to which a heat map has numbers."""
DENSE = 0.2
"""The share of all pairs of the cells from which on a heat map shows more than it leaves empty."""
BANDS = ((5, 95, 0.15), (25, 75, 0.3))
"""Percentiles of the cells between which a fan is filled, and how dark."""


def in_order(
    table: pd.DataFrame, columns: Sequence[str], names: Sequence[str], scale: Scale, label: str
) -> Figure:
    """Every row's estimate with its interval, the highest on top; beside it the ends by name.

    columns: of the estimate, its limits, and what it is compared with.
    """
    told = scale.factor * table[list(columns)].to_numpy(float)
    order = np.argsort(-told[:, 0], kind="stable")
    order = order[np.isfinite(told[order, 0])]
    clear = (table["p_test_holm"] < 0.05).to_numpy()
    figure = Figure(figsize=(10, 7.5), layout="constrained")
    whole, ends = figure.subplots(1, 2, sharex=True, width_ratios=(1, 1.3))
    _lines(whole, told[order], clear[order], np.arange(len(order)), thin=True)
    whole.set_ylim(len(order), -1)
    whole.set_yticks([])
    whole.set_title(f"all {len(order):,}, in order", fontsize=10, loc="left")
    top, low = order[:HIGHEST], order[HIGHEST:][-LOWEST:]
    places = np.arange(len(top) + len(low)) + (np.arange(len(top) + len(low)) >= len(top))
    some = np.concatenate((top, low))
    _lines(ends, told[some], clear[some], places, thin=False)
    named = [_short(names[at]) for at in some]
    ends.set_yticks(places, named)
    ends.set_ylim(places[-1] + 1, -1)
    lowest = f" and {len(low)} lowest" if len(low) else ""
    ends.set_title(f"the {len(top)} highest{lowest}", fontsize=10, loc="left")
    for axes in (whole, ends):
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(labelsize=8 if max(map(len, named)) < 50 else 7, left=False)
        axes.grid(axis="x", color=PALE)
        axes.set_axisbelow(True)
    figure.supxlabel(label, fontsize=10)
    return figure


def _lines(axes: Axes, told: np.ndarray, clear: np.ndarray, places: np.ndarray, thin: bool) -> None:
    """Points with their intervals, blue where significant, and what each is compared with. Thin
    ones are drawn as an image: a thousand lines in a file are slow to look at."""
    values, low, high, against = told.T
    colours = [ACCENT if one else MUTED for one in clear]
    drawn = [((a, y), (b, y)) for a, b, y in zip(low, high, places, strict=True)]
    width = max(0.3, min(2.0, 250 / len(told))) if thin else 2.0
    alpha = 0.5 if thin else 1.0
    lines = LineCollection(drawn, colors=colours, linewidths=width, alpha=alpha, rasterized=thin)
    axes.add_collection(lines)
    size = max(2.0, min(16.0, 1500 / len(told))) if thin else 30.0
    faces = [colour if thin or one else "white" for colour, one in zip(colours, clear, strict=True)]
    axes.scatter(values, places, size, faces, edgecolors=colours, zorder=3, rasterized=thin)
    if len(set(against[np.isfinite(against)])) == 1:
        axes.axvline(against[np.isfinite(against)][0], color=CONTRAST, ls="--", lw=1.2, zorder=2)
    else:
        axes.scatter(against, places, size, CONTRAST, marker="|", zorder=2, rasterized=thin)


def _short(name: str, most: int = 72) -> str:
    """The name, of a long one both ends, where names differ."""
    half = (most - 3) // 2
    return name if len(name) <= most else f"{name[:half]}...{name[-half:]}"


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
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for low, high, dark in BANDS:
        edges = np.nanpercentile(rates, (low, high), axis=0)
        axes.fill_between(
            kept + 1, *edges, color=ACCENT, alpha=dark, lw=0, label=f"{low}% to {high}% of cells"
        )
    axes.plot(kept + 1, np.nanmedian(rates, axis=0), color=ACCENT, lw=1.8, label="median cell")
    bases = summary["baseline_mean"].dropna().to_numpy(float)
    if len(bases):
        middle = scale.factor * float(np.median(bases))
        axes.axhline(middle, color=CONTRAST, ls="--", lw=1.2, label="baseline")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("deals", fontsize=9)
    axes.set_ylabel(label, fontsize=9)
    axes.set_title(f"{len(rates):,} cells", fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9)
    axes.legend(frameon=False, fontsize=8, ncols=2)
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
    clear[a, b] = clear[b, a] = pairs["p_test_holm"] < 0.05
    named, told = len(cells) <= ROWS, len(cells) <= TOLD and scale.share
    side = max(4.5, min(0.36, 10 / len(cells)) * len(cells)) if named else 7.0
    figure = Figure(figsize=(side + 1.2 + 2 * named, side + 0.8 + 2 * named), layout="constrained")
    axes = figure.add_subplot()
    axes.set_facecolor(PALE)
    most = float(np.nanmax(np.abs(shades))) or 1.0
    image = axes.imshow(shades, cmap="RdBu_r", vmin=-most, vmax=most, interpolation="nearest")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelsize=8)
    if named:
        ticks = [_short(names[cell], 44) for cell in cells]
        axes.set_yticks(range(len(cells)), ticks)
        axes.set_xticks(range(len(cells)), ticks, rotation=90)
        if told:
            _marks(axes, shades, clear == 1, most)
        else:
            axes.plot(*np.nonzero((clear == 1).T), ".", ms=3, color=INK)
    else:
        axes.set_xlabel("column: cell B, in the order of summary.csv", fontsize=9)
        axes.set_ylabel("row: cell A", fontsize=9)
    found = int((pairs["p_test_holm"] < 0.05).sum())
    how = " in bold" if told else " with a dot" if named else ""
    figure.suptitle(
        f"row less column: {label}\n{len(pairs):,} pairs of {len(cells):,} cells, {found:,}{how}, "
        "p Holm < .05",
        fontsize=10,
        x=0.01,
        ha="left",
    )
    figure.colorbar(image, ax=axes, shrink=0.6).outline.set_visible(False)
    return figure


def _marks(axes: Axes, shades: np.ndarray, clear: np.ndarray, most: float) -> None:
    """The differences as whole numbers, bold where significant."""
    for row, column in zip(*np.nonzero(np.isfinite(shades)), strict=True):
        value = shades[row, column]
        axes.text(
            *(column, row, f"{value:+.0f}"),
            ha="center",
            va="center",
            fontsize=7.5,
            fontweight="bold" if clear[row, column] else "normal",
            color="white" if abs(value) > 0.6 * most else INK,
        )
