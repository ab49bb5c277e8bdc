"""What was chosen where there was a choice: by place in the list and by move, beside a player that
takes every option alike; of few cells in bars, of more as a heat map, of many how they spread."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gauntlet.common.sanitize import visible
from gauntlet.pipeline.tables import heatmaps, plot_style
from gauntlet.pipeline.tables.plot_style import ACCENT, CONTRAST, INK, MUTED
from gauntlet.pipeline.tables.registry import Results, figure

SHOWN, FEW = 12, 5
"""The most places and the most moves that are shown; of several cells in little room."""
BARS, ROWS = 3, 16
"""Cells up to which each has bars of its own, and up to which a row of a heat map."""
SPREAD = (5, 50, 95)
"""Percentiles of many cells."""
KINDS = {"place": "place in the game's list", "option": "move"}
NARROWEST = 0.15
"""Inches from one bar to the next."""


@dataclass(frozen=True)
class Shares:
    """Of one kind, a row a cell and a column a value: what part of the decisions took it, and what
    part a player would that takes every option alike; nan where it was never there."""

    kind: str
    values: Sequence[str]
    share: np.ndarray
    random: np.ndarray

    @property
    def labels(self) -> list[str]:
        """The values as they are shown."""
        most = max(8, plot_style.room(0.22 if plot_style.narrow() else 0.17))
        return [
            plot_style.shortened(visible(value).replace("\n", " "), most) for value in self.values
        ]

    @property
    def title(self) -> str:
        return KINDS[self.kind]


@figure("choices", place=4)
def choices(results: Results) -> dict[str, Figure]:
    """A figure a game: its moves are its own."""
    found, cells = results["choices"], results["diagnostics"]
    games = found["cell"].map(
        {cell.about.name: cell.about.labels["game"] for cell in results.cells}
    )
    decisions = dict(zip(cells["cell"], cells["decisions"], strict=True))
    several = games.nunique() > 1
    drawn = {}
    for game, own in found.groupby(games, sort=False):
        ending = "_" + re.sub(r"\W+", "_", str(game)) if several else ""
        drawn[f"choices{ending}"] = choice_distribution(own, results.names, decisions)
    return drawn


def choice_distribution(
    found: pd.DataFrame, names: Mapping[str, str], decisions: Mapping[str, float]
) -> Figure:
    """found: rows of choices.csv, of cells of one game. names: how each cell is called. decisions:
    how many each had with a choice."""
    cells = list(dict.fromkeys(found["cell"]))
    counts = [int(decisions[cell]) for cell in cells]
    both = list(shares(found, cells))
    if len(cells) <= BARS:
        told = [f"{names[cell]}, n = {n:,}" for cell, n in zip(cells, counts, strict=True)]
        figure = _bars(both, told)
        what = "bars"
    elif len(cells) <= ROWS:
        figure = _heat_maps(both, [names[cell] for cell in cells])
        what = "numbers"
    else:
        figure = _spread(both, len(cells))
        what = "bars: median cell, lines: 5% to 95% of cells"
    least, most = min(counts), max(counts)
    number = f"{least:,} to {most:,}" if least < most else f"{most:,}"
    plot_style.titled(
        figure,
        f"What was chosen where there was a choice ({what}: share of {number} decisions a cell, "
        "counted, without an interval)",
    )
    return figure


def shares(found: pd.DataFrame, cells: Sequence[str]) -> Iterator[Shares]:
    """The places in their order, the last one at the end, and the moves that were taken most."""
    most = FEW if plot_style.narrow() and 1 < len(cells) <= BARS else SHOWN
    for kind in KINDS:
        own = found[found["kind"] == kind]
        share, random = (
            own.pivot_table(index="cell", columns="value", values=column).reindex(list(cells))
            for column in ("share", "random")
        )
        if kind == "place":
            numbers = sorted(int(value) for value in set(own["value"]) - {"last"})
            values = [*map(str, numbers[:most]), "last"]
        else:
            taken = share.fillna(0).mean().sort_values(ascending=False, kind="stable")
            values = list(taken.index[:most])
        both = (table.reindex(columns=values).to_numpy(float) for table in (share, random))
        yield Shares(kind, values, *both)


def _bars(both: Sequence[Shares], names: Sequence[str]) -> Figure:
    """Bars of each cell."""
    figure, panels = _panels(both, len(names))
    most = plot_style.room(0.9 if plot_style.narrow() else 0.45)
    for row, name in enumerate(names):
        for axes, one in zip(panels[row], both, strict=True):
            _drawn(axes, one, one.share[row], one.random[row])
            axes.set_title(plot_style.shortened(name, most), fontsize=plot_style.SIZE)
    return _finished(figure, list(panels[-1]), both)


def _spread(both: Sequence[Shares], cells: int) -> Figure:
    """Bars of the median cell, with how far the others lie from it."""
    figure, panels = _panels(both, 1)
    for axes, one in zip(panels[0], both, strict=True):
        low, middle, high = np.nanpercentile(one.share, SPREAD, axis=0)
        _drawn(axes, one, middle, np.nanmedian(one.random, axis=0))
        places = range(len(one.values))
        axes.hlines(places, 100 * low, 100 * high, color=INK, lw=0.9)
        axes.set_title(f"{cells:,} cells", fontsize=plot_style.SIZE)
    return _finished(figure, list(panels[0]), both)


def _panels(both: Sequence[Shares], cells: int) -> tuple[Figure, np.ndarray]:
    """A line of panels a cell and a panel a kind; below each other in little room."""
    tall = [0.45 + NARROWEST * len(one.values) for one in both]
    if not plot_style.narrow():
        height = 0.75 + cells * max(tall)
        figure, found = plot_style.panels(cells, len(both), height, sharex="col")
        return figure, np.array(found, object).reshape(cells, len(both))
    ratios = tall * cells
    figure, found = plot_style.panels(len(ratios), 1, 1.0 + sum(ratios), height_ratios=ratios)
    return figure, np.array(found, object).reshape(cells, len(both))


def _drawn(axes: Axes, one: Shares, share: np.ndarray, random: np.ndarray) -> None:
    places = np.arange(len(one.values))
    axes.barh(places, 100 * share, 0.7, color=ACCENT, label="taken")
    known = np.isfinite(random)
    axes.plot(
        *(100 * random[known], places[known], "|"),
        color=CONTRAST,
        ms=9.5,
        mew=1.6,
        label="a player that takes every option alike",
    )
    axes.set_yticks(places, one.labels)
    axes.set_ylim(len(places) - 0.4, -0.6)
    axes.set_xlim(left=0)


def _finished(figure: Figure, last: Sequence[Axes], both: Sequence[Shares]) -> Figure:
    for axes, one in zip(last, both, strict=True):
        axes.set_xlabel(f"{one.title}, % of decisions")
    plot_style.keyed(figure)
    return figure


def _heat_maps(both: Sequence[Shares], names: Sequence[str]) -> Figure:
    """A row a cell; the shade is what was taken beyond a player that takes every option alike."""
    line = 0.13 if plot_style.narrow() else 0.17
    figure, panels = plot_style.panels(len(both), 1, 1.6 + len(both) * (0.6 + line * len(names)))
    if plot_style.narrow():
        figure.set_figheight(figure.get_figheight() + 0.14 * len(names))
    beyond = [100 * (one.share - one.random) for one in both]
    most = max(float(np.nanmax(np.abs(each), initial=0)) for each in beyond) or 1.0
    for axes, one, shades in zip(panels, both, beyond, strict=True):
        texts = [[f"{100 * x:.0f}" if np.isfinite(x) else "" for x in row] for row in one.share]
        image = heatmaps.shaded(axes, shades, most, texts)
        heatmaps.named(figure, axes, names)
        axes.set_xticks(range(len(one.values)), one.labels)
        if one.kind == "option":
            heatmaps.upright(axes)
        axes.set_xlabel(f"{one.title}, % of decisions", color=MUTED)
    heatmaps.scaled(figure, panels, image, "beyond a player that takes every option alike, points")
    return figure
