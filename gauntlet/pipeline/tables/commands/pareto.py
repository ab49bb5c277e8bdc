"""Strength against cost: who is on the front, and who is both worse and dearer than another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from gauntlet.common.terminal import short
from gauntlet.pipeline.tables.commands.rating_figures import edges, intervals
from gauntlet.pipeline.tables.commands.ratings import contest_ratings, rating_span
from gauntlet.pipeline.tables.media import plot_style
from gauntlet.pipeline.tables.media.plot_style import ACCENT, CONTRAST, INK
from gauntlet.pipeline.tables.media.sheets import Column, Format, Row, View, decimal, share, text
from gauntlet.pipeline.tables.registry import Part, Results, table
from gauntlet.pipeline.tables.sweep.costs import cost_axis, frontier
from gauntlet.pipeline.tables.sweep.spending import UNITS
from gauntlet.stats.front import DRAWS, front
from gauntlet.stats.multiple import ALPHA

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


def _foot(part: Part) -> str:
    return (
        f"cost: {part.rows['unit'].iloc[0]}, a match. front: share of {DRAWS:,} draws in which "
        "no other is at least as good and as cheap, and ahead in one of both. dominated by: who is "
        "better and cheaper, each beyond chance (5% over all pairs, Holm)."
    )


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
    _foot,
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
    found = front(contest.matches, spent, rated.ties)
    cost_low, cost_high = found.costs.limits(ratings.level)
    shown = np.nan_to_num(found.dominates, nan=1.0) < ALPHA
    for at in np.lexsort((-ratings.fitted, found.costs.mean)):
        if ratings.matches[at]:
            better = [contest.players[int(one)] for one in np.flatnonzero(shown[:, at])]
            yield {
                "player": contest.players[at],
                "cost": found.costs.mean[at],
                "cost_low": max(0.0, cost_low[at]),
                "cost_high": cost_high[at],
                "unit": UNITS[contest.cost],
                "rating": ratings.fitted[at],
                "low": ratings.limits[0][at],
                "high": ratings.limits[1][at],
                "front": found.share[at],
                "dominated_by": ", ".join(better),
            }


def cost_plot(table: pd.DataFrame) -> Figure | None:
    """Rows of ratings_cost.csv: ratings with their intervals beside costs, the front as a line, and
    the best that costs nothing across; None if nothing cost anything."""
    known = table[table["cost"] > 0]
    if known.empty:
        return None
    cost, rating = known["cost"].to_numpy(float), known["rating"].to_numpy(float)
    figure, axes = plot_style.canvas(2.6)
    intervals(axes, cost, known, edges(known), ACCENT, 1.2, upright=True)
    axes.plot(cost, rating, "o", color=ACCENT, ms=4)
    free = table[table["cost"] == 0].nlargest(1, "rating")
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
