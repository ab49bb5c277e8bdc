"""Figures of ratings: intervals over all games and by game, and who beats whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gauntlet.pipeline.tables.commands.ratings import chance_matrix, contest_ratings
from gauntlet.pipeline.tables.media import plot_style
from gauntlet.pipeline.tables.media.plot_style import ACCENT, COLOURS, MUTED
from gauntlet.pipeline.tables.registry import Results

MARKS = "os^Dvp*X"
"""Distinguish players besides their colours."""
MANY = 14
"""Players whose pairs fit in a map."""


def rating_figures(results: Results) -> Iterator[tuple[str, Figure]]:
    """Every figure by name."""
    rated = results.cached(contest_ratings)
    assert rated is not None
    players = list(results["ratings"]["player"])
    title = f"Ratings with {rated.ratings.level:.0%} intervals"
    yield "ratings", interval_plot(results["ratings"], title)
    if results["ratings_by_game"]["game"].nunique() > 1:
        yield "ratings_by_game", game_plot(results["ratings_by_game"], players)
    names = players[:MANY]
    if len(names) > 2:
        title = "The chance that the row's player beats the column's, by their ratings"
        chances = chance_matrix(results["ratings_pairs"], names)
        yield "ratings_pairs", chance_map(chances, names, title)


def interval_plot(table: pd.DataFrame, title: str) -> Figure:
    """A row for each player: rating with low and high, an arrow where it is unbounded."""
    top = table.head(plot_style.max_rows())
    places = list(range(len(top)))
    figure, axes = plot_style.canvas(0.7 + plot_style.row_height(len(top)) * len(top))
    axes.axvline(0, color=MUTED, lw=0.6)
    intervals(axes, places, top, edges(top), ACCENT, 1.4)
    axes.plot(top["rating"], places, "o", color=ACCENT, ms=4)
    plot_style.label_rows(axes, places, list(top["player"]), above=plot_style.narrow())
    axes.set_xlabel("rating, log odds")
    return plot_style.set_title(figure, title)


def game_plot(table: pd.DataFrame, players: Sequence[str]) -> Figure:
    """A row for each game with a mark per player and its interval; of many players the first."""
    plotted, games = players[: len(MARKS)], list(dict.fromkeys(table["game"]))
    ends = edges(table[table["player"].isin(plotted)])
    figure, axes = plot_style.canvas(0.9 + 0.14 * (len(plotted) + 1.5) * len(games))
    for at, name in enumerate(plotted):
        group = table[table["player"] == name].set_index("game").reindex(games)
        places = np.arange(len(games)) + 0.75 * ((at + 0.5) / len(plotted) - 0.5)
        colour = COLOURS[at % len(COLOURS)]
        intervals(axes, places, group, ends, colour, 0.9)
        axes.plot(group["rating"], places, MARKS[at], color=colour, ms=3.5, label=name)
    for line in range(len(games) - 1):
        axes.axhline(line + 0.5, color=MUTED, lw=0.3)
    plot_style.label_rows(axes, list(range(len(games))), games, above=plot_style.narrow())
    axes.set_ylim(len(games) - 0.5, -0.8 if plot_style.narrow() else -0.5)
    axes.set_xlabel("rating in this game, log odds")
    plot_style.add_legend(figure, 4)
    return plot_style.set_title(figure, "Ratings by game")


def edges(table: pd.DataFrame) -> tuple[float, float]:
    """Where unbounded intervals end in a figure: slightly beyond all else."""
    values = table[["rating", "low", "high"]].to_numpy(float)
    known = values[np.isfinite(values)]
    least, most = (known.min(), known.max()) if known.size else (-1.0, 1.0)
    more = 0.1 * (most - least)
    return float(least - more), float(most + more)


def intervals(
    axes: Axes,
    places: Sequence[float] | np.ndarray,
    table: pd.DataFrame,
    edges: tuple[float, float],
    colour: str,
    width: float,
    upright: bool = False,
) -> None:
    """A line from low to high in each place, with an arrow at the edge where it is unbounded.
    upright: places lie along the other axis."""
    low, high = (table[name].to_numpy(float) for name in ("low", "high"))
    lines, marks = (axes.vlines, "v^") if upright else (axes.hlines, "<>")
    lines(places, low.clip(min=edges[0]), high.clip(max=edges[1]), color=colour, lw=width)
    open_ends = zip((low == -np.inf, high == np.inf), edges, marks, strict=True)
    for unbounded, edge, mark in open_ends:
        at = np.asarray(places)[unbounded]
        ends = (np.full(len(at), edge), at)
        axes.plot(*(ends[::-1] if upright else ends), mark, color=colour, ms=3.5)


def chance_map(chances: np.ndarray, names: Sequence[str], title: str) -> Figure:
    """A table of chances, red above an even one."""
    figure, axes = plot_style.canvas(1.2 + 0.3 * len(names))
    texts = [["" if np.isnan(x) else f"{100 * x:.0f}" for x in line] for line in chances]
    plot_style.heat_map(axes, chances - 0.5, 0.5, texts)
    plot_style.label_heat_map(figure, axes, names, both_axes=True)
    return plot_style.set_title(figure, f"{title}, %")
