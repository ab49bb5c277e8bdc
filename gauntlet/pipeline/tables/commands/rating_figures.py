"""Figures of ratings: intervals over all games and by game, and who beats whom; and strength
against cost: who is on the front, and who is both worse and dearer than another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gauntlet.common.terminal import short
from gauntlet.pipeline.tables.commands.ratings import chance_matrix, contest_ratings, rating_span
from gauntlet.pipeline.tables.media import plot_style
from gauntlet.pipeline.tables.media.plot_style import ACCENT, COLOURS, CONTRAST, INK, MUTED
from gauntlet.pipeline.tables.media.sheets import Column, Format, Row, View, decimal, share, text
from gauntlet.pipeline.tables.registry import Results, table
from gauntlet.pipeline.tables.sweep.costs import cost_axis, frontier
from gauntlet.pipeline.tables.sweep.spending import UNITS
from gauntlet.stats.front import DRAWS, front
from gauntlet.stats.multiple import ALPHA

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


def interval_plot(rows: pd.DataFrame, title: str) -> Figure:
    """A row for each player: rating with low and high, an arrow where it is unbounded."""
    top = rows.head(plot_style.max_rows())
    places = list(range(len(top)))
    figure, axes = plot_style.canvas(0.7 + plot_style.row_height(len(top)) * len(top))
    axes.axvline(0, color=MUTED, lw=0.6)
    intervals(axes, places, top, edges(top), ACCENT, 1.4)
    axes.plot(top["rating"], places, "o", color=ACCENT, ms=4)
    plot_style.label_rows(axes, places, list(top["player"]), above=plot_style.narrow())
    axes.set_xlabel("rating, log odds")
    return plot_style.set_title(figure, title)


def game_plot(rows: pd.DataFrame, players: Sequence[str]) -> Figure:
    """A row for each game with a mark per player and its interval; of many players the first."""
    plotted, games = players[: len(MARKS)], list(dict.fromkeys(rows["game"]))
    ends = edges(rows[rows["player"].isin(plotted)])
    figure, axes = plot_style.canvas(0.9 + 0.14 * (len(plotted) + 1.5) * len(games))
    for at, name in enumerate(plotted):
        group = rows[rows["player"] == name].set_index("game").reindex(games)
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


def edges(rows: pd.DataFrame) -> tuple[float, float]:
    """Where unbounded intervals end in a figure: slightly beyond all else."""
    values = rows[["rating", "low", "high"]].to_numpy(float)
    known = values[np.isfinite(values)]
    least, most = (known.min(), known.max()) if known.size else (-1.0, 1.0)
    more = 0.1 * (most - least)
    return float(least - more), float(most + more)


def intervals(
    axes: Axes,
    places: Sequence[float] | np.ndarray,
    rows: pd.DataFrame,
    edges: tuple[float, float],
    colour: str,
    width: float,
    upright: bool = False,
) -> None:
    """A line from low to high in each place, with an arrow at the edge where it is unbounded.
    upright: places lie along the other axis."""
    low, high = (rows[name].to_numpy(float) for name in ("low", "high"))
    lines, marks = (axes.vlines, "v^") if upright else (axes.hlines, "<>")
    lines(places, low.clip(min=edges[0]), high.clip(max=edges[1]), color=colour, lw=width)
    for unbounded, edge, mark in zip((low == -np.inf, high == np.inf), edges, marks, strict=True):
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


# --- strength against cost

COST = {
    "player": "the player",
    "cost": "its mean cost of a match, every game weighing the same",
    "cost_low": "lower end of its interval",
    "cost_high": "upper end of its interval",
    "unit": "what costs are counted in",
    "rating": "log odds around the mean",
    "low": "lower end of its interval; -inf where nothing bounds it",
    "high": "upper end of its interval; inf where nothing bounds it",
    "front": "the share of draws, which weigh deals at random, in which no other player is at "
    "least as good and as cheap, and ahead in one of both",
    "dominated_by": "players that are both better and cheaper, each beyond chance (5% over all "
    "ordered pairs, Holm)",
}


def _amount(*names: str) -> Format:
    def text(row: Row) -> str:
        amounts = [row[name] for name in names]
        shown = (f"{x:.3g}" if x < 1000 else short(x) for x in amounts)
        return "-" if np.isnan(amounts).any() else " to ".join(shown)

    return text


COST_VIEW = View(
    "Strength against cost",
    (
        Column("player", text("player")),
        Column("cost", _amount("cost")),
        Column("interval", _amount("cost_low", "cost_high")),
        Column("rating", decimal("rating", "+.2f")),
        Column("interval", lambda row: rating_span(row["low"], row["high"])),
        Column("front", share("front")),
        Column("dominated by", lambda row: str(row["dominated_by"]) or "-"),
    ),
    lambda part: (
        f"cost: {part.rows['unit'].iloc[0]}, a match. front: share of {DRAWS:,} draws in which "
        "no other is at least as good and as cheap, and ahead in one of both. dominated by: who is "
        "better and cheaper, each beyond chance (5% over all pairs, Holm)."
    ),
)


@table("ratings_cost", COST, [COST_VIEW], place=96, file="ratings_cost.csv")
def cost_rows(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each player with a match, the cheapest first, if costs were asked for."""
    rated = results.cached(contest_ratings)
    if rated is None:
        return
    contest, ratings, spent = rated.contest, rated.ratings, rated.contest.spent
    if spent is None or contest.cost is None:
        return
    pareto = front(contest.matches, spent, rated.ties)
    cost_low, cost_high = pareto.costs.limits(ratings.level)
    shown = np.nan_to_num(pareto.dominates, nan=1.0) < ALPHA
    for at in np.lexsort((-ratings.fitted, pareto.costs.mean)):
        if ratings.matches[at]:
            better = [contest.players[int(one)] for one in np.flatnonzero(shown[:, at])]
            yield {
                "player": contest.players[at],
                "cost": pareto.costs.mean[at],
                "cost_low": max(0.0, cost_low[at]),
                "cost_high": cost_high[at],
                "unit": UNITS[contest.cost],
                "rating": ratings.fitted[at],
                "low": ratings.limits[0][at],
                "high": ratings.limits[1][at],
                "front": pareto.share[at],
                "dominated_by": ", ".join(better),
            }


def cost_plot(rows: pd.DataFrame) -> Figure | None:
    """Rows of ratings_cost.csv: ratings with their intervals beside costs, the front as a line, and
    the best that costs nothing across; None if nothing cost anything."""
    known = rows[rows["cost"] > 0]
    if known.empty:
        return None
    cost, rating = known["cost"].to_numpy(float), known["rating"].to_numpy(float)
    figure, axes = plot_style.canvas(2.6)
    intervals(axes, cost, known, edges(known), ACCENT, 1.2, upright=True)
    axes.plot(cost, rating, "o", color=ACCENT, ms=4)
    free = rows[rows["cost"] == 0].nlargest(1, "rating")
    for name, best in zip(free["player"], free["rating"], strict=True):
        axes.axhline(best, color=CONTRAST, ls="--", lw=1)
        axes.annotate(
            *(f"{name} costs nothing", (0.99, best), (0, 3)),
            xycoords=axes.get_yaxis_transform(),
            textcoords="offset points",
            ha="right",
        )
    leading = frontier(cost, rating)
    leading = leading[rating[leading] > free["rating"].max()] if len(free) else leading
    axes.step(cost[leading], rating[leading], where="post", color=INK, lw=0.9)
    for name, x, y in zip(known["player"], cost, rating, strict=True):
        axes.annotate(str(name), (x, y), (4, 3), textcoords="offset points")
    cost_axis(axes, cost)
    axes.set_xlabel(f"{known['unit'].iloc[0]}, a match")
    axes.set_ylabel("rating, log odds")
    return plot_style.set_title(figure, "Ratings beside costs; the line: none as cheap is better")
