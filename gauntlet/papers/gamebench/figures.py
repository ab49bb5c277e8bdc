"""GameBench's figures from its published matches: Fig. 1a, 1b, 2 and the panels of Appendix L.

Agents without a match in a game are drawn hollow: their rating comes from the regularisation alone,
and they have no win probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gauntlet.papers.gamebench.ratings import Bootstrapped
from gauntlet.papers.gamebench.tables import ALL, PublishedResults, heading
from gauntlet.pipeline.tables.commands.rating_figures import MARKS
from gauntlet.pipeline.tables.media import plot_style
from gauntlet.pipeline.tables.media.plot_style import ACCENT, COLOURS, GROUND, MUTED
from gauntlet.stats.bradley_terry import beats

TITLES = {
    "air_land_sea": "Air, Land & Sea",
    "arctic_scavengers": "Arctic Scavengers",
    "are_you_the_traitor": "Are You the Traitor?",
    "codenames": "Codenames",
    "hive": "Hive",
    "pit": "Pit",
    "santorini": "Santorini",
    "two_rooms_and_a_boom": "Two Rooms and a Boom",
    "sea_battle": "Sea Battle",
    ALL: "All games",
}


def figures(
    reported: Mapping[str, Any], recomputed: PublishedResults
) -> Iterator[tuple[str, Figure]]:
    """Yield every figure with its name."""
    yield "gamebench_fig1a", proportional(reported, recomputed)
    yield "gamebench_fig1b", overall(recomputed)
    yield "gamebench_fig2", counts(reported, recomputed)
    for game in (ALL, *reported["games"].values()):
        yield f"gamebench_app_l_{game}", panels(recomputed, game)


def proportional(reported: Mapping[str, Any], recomputed: PublishedResults) -> Figure:
    """Fig. 1a: exp(rating) of every agent over that of the best, by game."""
    games = list(reported["games"].values())
    figure, axes = plot_style.canvas(3.4)
    for at, agent in enumerate(recomputed.agents):
        colour = COLOURS[at % len(COLOURS)]
        for place, game in enumerate(games):
            worth = np.exp(recomputed.ratings[game].mean)
            inside = colour if recomputed.match_count(agent, game) else GROUND
            look: dict[str, Any] = {"mec": colour, "mfc": inside, "ms": 5, "mew": 1.0}
            spot = place + 0.08 * (at - (len(recomputed.agents) - 1) / 2)
            axes.plot(spot, worth[at] / worth.max(), MARKS[at], **look)
        axes.plot([], [], MARKS[at], color=colour, ms=5, label=agent)
    axes.set_xticks(range(len(games)), [heading(reported, game) for game in games])
    axes.set_ylabel("proportional rating")
    plot_style.add_legend(figure, 4)
    plot_style.set_title(figure, "Fig. 1a: proportional ratings; hollow: no match in this game")
    return figure


def overall(recomputed: PublishedResults) -> Figure:
    """Fig. 1b: overall ratings over draws."""
    figure, axes = plot_style.canvas(2.8)
    boxes(axes, recomputed, ALL)
    plot_style.set_title(
        figure, f"Fig. 1b: ratings over {recomputed.draws:,} draws, whiskers from 5% to 95%"
    )
    return figure


def boxes(axes: Axes, recomputed: PublishedResults, game: str) -> None:
    """Draw median, quartiles and the middle 90% of the draws, the lowest mean first."""
    found = recomputed.ratings[game]
    order = np.argsort(found.mean)
    told = [_box(found, recomputed.agents[at], at) for at in order]
    artists = axes.bxp(told, showfliers=False, patch_artist=True, widths=0.5)
    for box, at in zip(artists["boxes"], order, strict=True):
        played = recomputed.match_count(recomputed.agents[at], game)
        box.set(facecolor=ACCENT if played else GROUND, edgecolor=ACCENT, linewidth=0.8)
    for part in ("whiskers", "caps"):
        for line in artists[part]:
            line.set(color=ACCENT, linewidth=0.8)
    for line in artists["medians"]:
        line.set(color=MUTED, linewidth=1.0)
    axes.tick_params(axis="x", rotation=30)
    axes.set_ylabel("rating")


def _box(bootstrapped: Bootstrapped, name: str, at: int) -> dict[str, Any]:
    quantiles = np.quantile(bootstrapped.draws[:, at], (0.05, 0.25, 0.5, 0.75, 0.95))
    names = ("whislo", "q1", "med", "q3", "whishi")
    return {"label": name, "fliers": [], **dict(zip(names, quantiles, strict=True))}


def counts(reported: Mapping[str, Any], recomputed: PublishedResults) -> Figure:
    """Fig. 2: matches by agent and by game."""
    figure, axes = plot_style.panels(1, 2, 2.6)
    by_agent = {agent: recomputed.match_count(agent, ALL) for agent in recomputed.agents}
    by_game = {
        heading(reported, game): len(recomputed.matches(game)) for game in recomputed.contest.games
    }
    for axis, found, title in zip(axes, (by_agent, by_game), ("by agent", "by game"), strict=True):
        ordered = sorted(found.items(), key=lambda item: item[1])
        names, numbers = zip(*ordered, strict=True)
        bars = axis.bar(range(len(names)), numbers, color=ACCENT)
        axis.bar_label(bars, fontsize=plot_style.SIZE - 1)
        axis.set_xticks(range(len(names)), names)
        axis.tick_params(axis="x", rotation=30)
        axis.set_title(title)
    axes[0].set_ylabel("matches")
    plot_style.set_title(figure, f"Fig. 2: {len(recomputed.contest.matches)} matches")
    return figure


def panels(recomputed: PublishedResults, game: str) -> Figure:
    """Appendix L for one game: matches, points, win probabilities, ratings."""
    figure, axes = plot_style.panels(2, 2, 5.6)
    matches, names = recomputed.matches(game), list(recomputed.agents)
    there = matches.met.sum(1) > 0
    paired = there[:, None] & there & ~np.eye(len(names), dtype=bool)
    counts = np.where(matches.met > 0, matches.met, np.nan)
    points = np.where(matches.met > 0, matches.points, np.nan)
    chances = np.where(paired, beats(recomputed.ratings[game].mean), np.nan)
    maps = (
        (axes[0], counts, "matches", "{:.0f}"),
        (axes[1], points, "points of the row against the column", "{:.4g}"),
        (axes[2], chances, "chance of the row to beat the column", "{:.2f}"),
    )
    for one, values, title, form in maps:
        _map(figure, one, values, title, form, names)
    boxes(axes[3], recomputed, game)
    axes[3].set_title("ratings; hollow: no match")
    plot_style.set_title(figure, f"Appendix L: {TITLES[game]}, {len(matches)} matches")
    return figure


def _map(
    figure: Figure, axes: Axes, values: np.ndarray, title: str, form: str, names: list[str]
) -> None:
    even = 0.5 if title.startswith("chance") else 0.0
    shades = values - even
    texts = [["" if np.isnan(x) else form.format(x) for x in line] for line in values]
    plot_style.heat_map(axes, shades, max(float(np.nanmax(np.abs(shades))), 1e-9), texts)
    plot_style.label_heat_map(figure, axes, names, both_axes=True)
    axes.set_title(title)
