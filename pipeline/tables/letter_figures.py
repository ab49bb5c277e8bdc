"""The prior of letters as heat maps: how likely a model finds each, whatever stands beside it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from gauntlet.pipeline.tables import heatmaps, plot_style
from gauntlet.pipeline.tables.choices import LEAST
from gauntlet.pipeline.tables.labels import SHOWN
from gauntlet.pipeline.tables.registry import Results, figure

PANELS = 3
"""Cells up to which each has a map of its own, a row a number of options."""
LABEL = "more than an even share, points"


@figure("letter_prior", place=5)
def letters(results: Results) -> Figure | None:
    """Where cells study letters."""
    found = results["labels"]
    return None if found.empty else letter_prior(found, results.names)


def letter_prior(found: pd.DataFrame, names: Mapping[str, str]) -> Figure:
    """found: labels.csv. names: how each cell is called."""
    shown = found[found["options"] <= SHOWN]
    cells = list(dict.fromkeys(shown["cell"]))
    title = "Mean probability of each letter among the letters, %, whatever stands beside it"
    if len(cells) <= PANELS:
        figure = _by_options({names[cell]: shown[shown["cell"] == cell] for cell in cells})
        title += " (±: widest half of a row's 95% intervals, by deal)"
    elif len(cells) <= plot_style.rows():
        figure, options = _by_cell(shown, cells, names)
        title += f" (decisions between {options} options)"
    else:
        middle = shown.groupby(["options", "letter"], as_index=False).median(numeric_only=True)
        figure = _by_options({f"median of {len(cells):,} cells": middle.assign(ci_low=np.nan)})
    plot_style.titled(figure, title)
    return figure


def _by_options(cells: Mapping[str, pd.DataFrame]) -> Figure:
    """A map a cell, a row a number of options."""
    across = 1 if plot_style.narrow() else min(2, len(cells))
    down = -(-len(cells) // across)
    rows = max(own["options"].nunique() for own in cells.values())
    figure, panels = plot_style.panels(down, across, 1.2 + down * (0.5 + 0.17 * rows))
    most = max(_most(_table(own[own["decisions"] >= LEAST])) for own in cells.values())
    for axes, (name, own) in zip(panels, cells.items(), strict=False):
        table = _table(own)
        image = _map(axes, table, table.index.to_numpy(float)[:, None], most)
        axes.set_yticks(range(len(table)), [_row(own, options) for options in table.index])
        axes.set_ylabel("options")
        axes.set_title(
            plot_style.shortened(name, plot_style.room(0.85 / across)), fontsize=plot_style.SIZE
        )
    for axes in panels[len(cells) :]:
        axes.set_axis_off()
    heatmaps.scaled(figure, panels, image, LABEL)
    return figure


def _by_cell(found: pd.DataFrame, cells: list[str], names: Mapping[str, str]) -> tuple[Figure, int]:
    """A row a cell, of the number of options that was met most often; that number."""
    met = found.drop_duplicates(["cell", "options"]).groupby("options")["decisions"].sum()
    options = int(met.index[int(met.argmax())])
    own = found[found["options"] == options]
    table = own.pivot_table(index="cell", columns="letter", values="probability").reindex(cells)
    figure, axes = plot_style.canvas(1.2 + (0.17 + 0.14 * plot_style.narrow()) * len(cells))
    image = _map(axes, table, options, _most(table.set_axis([options] * len(table))))
    heatmaps.named(figure, axes, [names[cell] for cell in cells])
    heatmaps.scaled(figure, axes, image, LABEL)
    return figure, options


def _table(own: pd.DataFrame) -> pd.DataFrame:
    """Probabilities, a row a number of options and a column a letter."""
    return own.pivot_table(index="options", columns="letter", values="probability")


def _most(table: pd.DataFrame) -> float:
    """How far, in points, a letter is from its even share, at the most."""
    even = 1 / table.index.to_numpy(float)[:, None]
    return float(np.nanmax(np.abs(100 * (table.to_numpy(float) - even)), initial=0)) or 1.0


def _map(axes: Axes, table: pd.DataFrame, options: np.ndarray | int, most: float) -> AxesImage:
    """The table in percent; its shades are what is more than an even share."""
    told = table.to_numpy(float)
    texts = [[f"{100 * one:.0f}" if np.isfinite(one) else "" for one in row] for row in told]
    image = heatmaps.shaded(axes, 100 * (told - 1 / options), most, texts)
    axes.set_xticks(range(table.shape[1]), list(table.columns))
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    return image


def _row(own: pd.DataFrame, options: int) -> str:
    rows = own[own["options"] == options]
    reach = 100 * (rows["ci_high"] - rows["ci_low"]).max() / 2
    decisions = rows["decisions"].iloc[0]
    told = "" if np.isnan(reach) else f", ±{reach:.1f}"
    return f"{options}: n = {decisions:,.0f}{told}"
