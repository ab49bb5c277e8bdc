"""What is drawn of ratings: whiskers over all games, a panel of games, and who beats whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gauntlet.pipeline.tables import heatmaps, plot_style
from gauntlet.pipeline.tables.plot_style import ACCENT, COLOURS, MUTED
from gauntlet.pipeline.tables.ratings import RatingTables

MARKS = "os^Dvp*X"
"""What tells a player from another besides its colour."""
MANY = 14
"""Players of whom every two have room in a map."""


def rating_figures(tables: RatingTables) -> Iterator[tuple[str, Figure]]:
    """Every figure by its name."""
    yield "ratings", whiskers(tables.overall, f"Ratings with {tables.level:.0%} intervals")
    if tables.by_game["game"].nunique() > 1:
        yield "ratings_by_game", by_game(tables.by_game, list(tables.overall["player"]))
    names = list(tables.overall["player"])[:MANY]
    if len(names) > 2:
        title = "The chance that the row's player beats the column's, by their ratings"
        yield "ratings_pairs", chance_map(square(tables.pairs, names), names, title)


def whiskers(table: pd.DataFrame, title: str) -> Figure:
    """A row a player: rating with low and high, an arrow where there is no limit; without a rating
    an empty one."""
    known = table.head(plot_style.rows())
    places = list(range(len(known)))
    figure, axes = plot_style.canvas(0.7 + plot_style.row_height(len(known)) * len(known))
    axes.axvline(0, color=MUTED, lw=0.6)
    _intervals(axes, places, known, _edges(known), ACCENT, 1.4)
    axes.plot(known["rating"], places, "o", color=ACCENT, ms=4)
    plot_style.name_rows(axes, places, list(known["player"]), above=plot_style.narrow())
    axes.set_xlabel("rating, log odds")
    plot_style.titled(figure, title)
    return figure


def by_game(table: pd.DataFrame, players: Sequence[str]) -> Figure:
    """A row a game, in it a mark a player with its interval. Of many players the first."""
    shown, games = players[: len(MARKS)], list(dict.fromkeys(table["game"]))
    edges = _edges(table[table["player"].isin(shown)])
    figure, axes = plot_style.canvas(0.9 + 0.14 * (len(shown) + 1.5) * len(games))
    for at, name in enumerate(shown):
        own = table[table["player"] == name].set_index("game").reindex(games)
        places = np.arange(len(games)) + 0.75 * ((at + 0.5) / len(shown) - 0.5)
        colour = COLOURS[at % len(COLOURS)]
        _intervals(axes, places, own, edges, colour, 0.9)
        axes.plot(own["rating"], places, MARKS[at], color=colour, ms=3.5, label=name)
    for line in range(len(games) - 1):
        axes.axhline(line + 0.5, color=MUTED, lw=0.3)
    plot_style.name_rows(axes, list(range(len(games))), games, above=plot_style.narrow())
    axes.set_ylim(len(games) - 0.5, -0.8 if plot_style.narrow() else -0.5)
    axes.set_xlabel("rating in this game, log odds")
    plot_style.keyed(figure, 4)
    plot_style.titled(figure, "Ratings by game")
    return figure


def _edges(table: pd.DataFrame) -> tuple[float, float]:
    """Where intervals without a limit end in a figure: a little beyond all else."""
    values = table[["rating", "low", "high"]].to_numpy(float)
    known = values[np.isfinite(values)]
    least, most = (known.min(), known.max()) if known.size else (-1.0, 1.0)
    more = 0.1 * (most - least)
    return float(least - more), float(most + more)


def _intervals(
    axes: Axes,
    places: Sequence[float] | np.ndarray,
    table: pd.DataFrame,
    edges: tuple[float, float],
    colour: str,
    width: float,
) -> None:
    """A line from low to high in each place, to an arrow at the edge where there is no limit."""
    low, high = (table[name].to_numpy(float) for name in ("low", "high"))
    axes.hlines(places, low.clip(min=edges[0]), high.clip(max=edges[1]), color=colour, lw=width)
    for open_ends, edge, mark in ((low == -np.inf, edges[0], "<"), (high == np.inf, edges[1], ">")):
        at = np.asarray(places)[open_ends]
        axes.plot(np.full(len(at), edge), at, mark, color=colour, ms=3.5)


def square(pairs: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    """The chances of rows of ratings_pairs.csv, both ways; nan where there is none."""
    found = np.full((len(names), len(names)), np.nan)
    for row in pairs.to_dict("records"):
        if row["player_a"] in names and row["player_b"] in names:
            a, b = names.index(row["player_a"]), names.index(row["player_b"])
            found[a, b], found[b, a] = row["chance"], 1 - row["chance"]
    return found


def chance_map(chances: np.ndarray, names: Sequence[str], title: str) -> Figure:
    """A table of chances, red above an even one."""
    figure, axes = plot_style.canvas(1.2 + 0.3 * len(names))
    texts = [["" if np.isnan(x) else f"{100 * x:.0f}" for x in line] for line in chances]
    heatmaps.shaded(axes, chances - 0.5, 0.5, texts)
    heatmaps.named(figure, axes, names, both=True)
    plot_style.titled(figure, f"{title}, %")
    return figure
