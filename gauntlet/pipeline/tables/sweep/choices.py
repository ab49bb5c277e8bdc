"""What was chosen, by place in the list and by move, next to a player that takes every option
alike. The figure shows few cells in bars, more as a heat map, many by their spread."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gauntlet.common.sanitize import visible
from gauntlet.pipeline.tables.formatting import percent
from gauntlet.pipeline.tables.media import plot_style
from gauntlet.pipeline.tables.media.plot_style import ACCENT, CONTRAST, INK, MUTED
from gauntlet.pipeline.tables.registry import Results, Sheet, columns, figure, table
from gauntlet.pipeline.tables.sweep.diagnostics import Sample, record_stats

COLUMNS = {
    **columns("cell"),
    "kind": "`place` in the game's list; `option`, the text of the move; `letter`, the likeliest "
    "where a prompt lists options under letters; `word` and `text`, other likeliest and written "
    "replies",
    "value": "the place (from 1, and the last), the option, or the reply",
    "count": "how often it was taken",
    "share": "of the decisions with a choice; of replies, of the different questions of the kind",
    "random": "that share for a uniformly random player; empty where there is none",
}
PAGE_VALUES = 12
"""Values of a kind that the page lists; choices.csv has all."""


@table("choices", COLUMNS)
def choices(results: Results) -> Iterator[dict[str, Any]]:
    """How choices and replies were distributed."""
    for name, stats in results.cached(record_stats).items():
        if stats.choices.decisions:
            for row in (*stats.choices.rows(), *stats.replies.rows()):
                yield {"cell": name, **row}


@dataclass(frozen=True)
class CellPart:
    """A cell's decisions on the page: one in full, samples, and the distribution."""

    title: str
    closeup: Sample | None
    samples: Sequence[Sample]
    choices: Sheet


def page_cells(results: Results, cells: int) -> list[CellPart]:
    """The first cells with choices."""
    stats = results.cached(record_stats)
    headings = ("kind", "value", "count", "share", "at random")
    foot = f"At most {PAGE_VALUES} values of a kind; all: choices.csv."
    parts = []
    for name, rows in islice(results["choices"].groupby("cell", sort=False), cells):
        cell = stats[str(name)]
        sheet = Sheet("What it chose", headings, _most_frequent(rows), foot)
        parts.append(CellPart(results.names[str(name)], cell.closeup, cell.samples, sheet))
    return parts


def _most_frequent(rows: pd.DataFrame) -> list[tuple[str, ...]]:
    return [
        (
            str(kind),
            visible(row["value"])[:60],
            f"{row['count']:,}",
            percent(row["share"]),
            percent(row["random"]),
        )
        for kind, own in rows.groupby("kind", sort=False)
        for _, row in own.head(PAGE_VALUES).iterrows()
    ]


# --- the figure

MOST, FEW = 12, 5
"""Places and moves in the figure; FEW for several cells in narrow figures."""
BARS, ROWS = 3, 16
"""Cells up to which each has its own bars, and up to which a row of a heat map."""
SPREAD = (5, 50, 95)
"""Percentiles of many cells."""
KINDS = {"place": "place in the game's list", "option": "move"}
BAR = 0.15
"""Inches from one bar to the next."""


@dataclass(frozen=True)
class Shares:
    """Shares of the decisions by kind, a row per cell and a column per value, and those of a
    uniformly random player; nan if the value was never on offer."""

    kind: str
    values: Sequence[str]
    share: np.ndarray
    random: np.ndarray

    @property
    def labels(self) -> list[str]:
        most = max(8, plot_style.room(0.22 if plot_style.narrow() else 0.17))
        return [plot_style.shorten(visible(v).replace("\n", " "), most) for v in self.values]

    @property
    def axis(self) -> str:
        return f"{KINDS[self.kind]}, % of decisions"


@figure("choices", place=4)
def choice_figures(results: Results) -> dict[str, Figure]:
    """One figure for each game, since moves differ."""
    rows, cells = results["choices"], results["diagnostics"]
    games = {cell.about.name: cell.about.labels["game"] for cell in results.cells}
    games_of_rows = rows["cell"].map(games)
    decisions = dict(zip(cells["cell"], cells["decisions"], strict=True))
    several = games_of_rows.nunique() > 1
    plots = {}
    for game, of_game in rows.groupby(games_of_rows, sort=False):
        ending = "_" + re.sub(r"\W+", "_", str(game)) if several else ""
        plots[f"choices{ending}"] = choice_distribution(of_game, results.names, decisions)
    return plots


def choice_distribution(
    rows: pd.DataFrame, names: Mapping[str, str], decisions: Mapping[str, float]
) -> Figure:
    """rows: of choices.csv, of cells of one game. names: of the cells. decisions: how many each had
    with a choice."""
    cells = list(dict.fromkeys(rows["cell"]))
    counts = [int(decisions[cell]) for cell in cells]
    kinds = list(shares(rows, cells))
    if len(cells) <= BARS:
        titles = [f"{names[cell]}, n = {n:,}" for cell, n in zip(cells, counts, strict=True)]
        figure, mark = _bars(kinds, titles), "bars"
    elif len(cells) <= ROWS:
        figure, mark = _heat_maps(kinds, [names[cell] for cell in cells]), "numbers"
    else:
        figure = _spread_bars(kinds, len(cells))
        mark = "bars: median cell, lines: 5% to 95% of cells"
    number = " to ".join(f"{count:,}" for count in sorted({min(counts), max(counts)}))
    return plot_style.set_title(
        figure,
        f"What was chosen where there was a choice ({mark}: share of {number} decisions a cell, "
        "counted, without an interval)",
    )


def shares(rows: pd.DataFrame, cells: Sequence[str]) -> Iterator[Shares]:
    """The places in order, the last one at the end; and the most frequent moves."""
    most = FEW if plot_style.narrow() and 1 < len(cells) <= BARS else MOST
    for kind in KINDS:
        kind_rows = rows[rows["kind"] == kind]
        share, random = (
            kind_rows.pivot_table(index="cell", columns="value", values=column).reindex(list(cells))
            for column in ("share", "random")
        )
        if kind == "place":
            numbers = sorted(int(value) for value in set(kind_rows["value"]) - {"last"})
            values = [*map(str, numbers[:most]), "last"]
        else:
            average = share.fillna(0).mean().sort_values(ascending=False, kind="stable")
            values = list(average.index[:most])
        arrays = (frame.reindex(columns=values).to_numpy(float) for frame in (share, random))
        yield Shares(kind, values, *arrays)


def _bars(kinds: Sequence[Shares], names: Sequence[str]) -> Figure:
    """Bars for each cell."""
    figure, panels = _panels(kinds, len(names))
    most = plot_style.room(0.9 if plot_style.narrow() else 0.45)
    for row, name in enumerate(names):
        for axes, one in zip(panels[row], kinds, strict=True):
            _draw_bars(axes, one, one.share[row], one.random[row])
            axes.set_title(plot_style.shorten(name, most), fontsize=plot_style.SIZE)
    return _finish(figure, list(panels[-1]), kinds)


def _spread_bars(kinds: Sequence[Shares], cells: int) -> Figure:
    """Bars of the median cell, and the spread of the others."""
    figure, panels = _panels(kinds, 1)
    for axes, kind in zip(panels[0], kinds, strict=True):
        low, middle, high = np.nanpercentile(kind.share, SPREAD, axis=0)
        _draw_bars(axes, kind, middle, np.nanmedian(kind.random, axis=0))
        places = range(len(kind.values))
        axes.hlines(places, 100 * low, 100 * high, color=INK, lw=0.9)
        axes.set_title(f"{cells:,} cells", fontsize=plot_style.SIZE)
    return _finish(figure, list(panels[0]), kinds)


def _panels(kinds: Sequence[Shares], cells: int) -> tuple[Figure, np.ndarray]:
    """A line of panels per cell and one panel per kind; below each other in narrow figures."""
    heights = [0.45 + BAR * len(one.values) for one in kinds]
    if plot_style.narrow():
        ratios = heights * cells
        height = 1.0 + sum(ratios)
        figure, panels = plot_style.panels(len(ratios), 1, height, height_ratios=ratios)
    else:
        height = 0.75 + cells * max(heights)
        figure, panels = plot_style.panels(cells, len(kinds), height, sharex="col")
    return figure, np.array(panels, object).reshape(cells, len(kinds))


def _draw_bars(axes: Axes, kind: Shares, share: np.ndarray, random: np.ndarray) -> None:
    places = np.arange(len(kind.values))
    axes.barh(places, 100 * share, 0.7, color=ACCENT, label="taken")
    known = np.isfinite(random)
    axes.plot(
        *(100 * random[known], places[known], "|"),
        color=CONTRAST,
        ms=9.5,
        mew=1.6,
        label="a uniformly random player",
    )
    axes.set_yticks(places, kind.labels)
    axes.set_ylim(len(places) - 0.4, -0.6)
    axes.set_xlim(left=0)


def _finish(figure: Figure, last: Sequence[Axes], kinds: Sequence[Shares]) -> Figure:
    for axes, one in zip(last, kinds, strict=True):
        axes.set_xlabel(one.axis)
    plot_style.add_legend(figure)
    return figure


def _heat_maps(kinds: Sequence[Shares], names: Sequence[str]) -> Figure:
    """A row per cell, shaded by the excess over a uniformly random player."""
    line, more = (0.13, 0.14) if plot_style.narrow() else (0.17, 0.0)
    height = 1.6 + len(kinds) * (0.6 + line * len(names)) + more * len(names)
    figure, panels = plot_style.panels(len(kinds), 1, height)
    excess = [100 * (one.share - one.random) for one in kinds]
    most = max(float(np.nanmax(np.abs(each), initial=0)) for each in excess) or 1.0
    for axes, kind, values in zip(panels, kinds, excess, strict=True):
        texts = [[f"{100 * x:.0f}" if np.isfinite(x) else "" for x in row] for row in kind.share]
        image = plot_style.heat_map(axes, values, most, texts)
        plot_style.label_heat_map(figure, axes, names)
        axes.set_xticks(range(len(kind.values)), kind.labels)
        if kind.kind == "option":
            plot_style.rotate_labels(axes)
        axes.set_xlabel(kind.axis, color=MUTED)
    label = "excess over a uniformly random player, points"
    plot_style.add_colour_bar(figure, panels, image, label)
    return figure
