"""Figures from the decision metrics: how good decisions were, what of it goes with winning, and how
single deals were won."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from gauntlet.pipeline.judging.metric_rows import OPTIONS
from gauntlet.pipeline.tables import heatmaps, plot_style
from gauntlet.pipeline.tables.metric_sheets import judged
from gauntlet.pipeline.tables.numbers import percent
from gauntlet.pipeline.tables.plot_style import COLOURS, CONTRAST, GROUND
from gauntlet.pipeline.tables.registry import Results, figure
from gauntlet.stats.correlation import Correlation, pearson

METRICS = ("ODHR", "ADR")
MEANINGS = {"ODHR": "ODHR: took a best option, %", "ADR": "ADR: mean rank of the option, 1 best"}
PANELS = 4
"""How many deals are drawn of a trace."""
LONG = 80
"""Plies from which on a trace has small marks."""
LEAST_PLAYERS = 3
"""Fewer points always lie on a line."""


@figure("decision_metrics", place=6)
def decision_metrics(results: Results) -> dict[str, Figure]:
    """Where the folder's decisions were judged."""
    found = results.once(judged)
    return metric_figures(*found) if found else {}


def metric_figures(table: pd.DataFrame, stands: pd.DataFrame) -> dict[str, Figure]:
    """What metrics.csv and traces.csv can fill, by name; decisions of the first threshold."""
    drawn = {} if stands.empty else {"traces": traces(stands)}
    if table.empty:
        return drawn
    threshold = float(table["threshold"].iloc[0])
    told = f"decisions worth {percent(threshold, 0)} or more, from the true cards"
    kept = _kept(table, threshold)
    if kept["decisions"].sum():
        drawn["decision_quality"] = quality(kept, told)
    players = by_player(table, threshold)
    if len(players) >= LEAST_PLAYERS:
        drawn["heat_map"] = heat_map(players, told)
    return drawn


def _kept(table: pd.DataFrame, threshold: float, values: str = "true") -> pd.DataFrame:
    """The rows of one reading, fallbacks left out."""
    return table[
        (table["threshold"] == threshold)
        & (table["values"] == values)
        & (table["fallbacks"] == "left_out")
    ]


def quality(kept: pd.DataFrame, told: str) -> Figure:
    """ODHR and ADR of every player by the number of options, with 95% intervals.

    kept: rows of metrics.csv of one reading. told: what they are of.
    """
    players = kept.drop_duplicates(["key", "player"])[["key", "player", "name"]].head(
        8 if plot_style.narrow() else 20
    )
    keys = list(players[["key", "player"]].itertuples(index=False, name=None))
    lines, across = (2, 1) if plot_style.narrow() else (1, 2)
    height = 1.0 + lines * (0.4 + (0.42 if plot_style.narrow() else 0.34) * max(2, len(keys)))
    figure, panels = plot_style.panels(lines, across, height, sharey=across == 2)
    for axes, metric in zip(panels, METRICS, strict=True):
        factor = 100.0 if metric == "ODHR" else 1.0
        for k, colour, mark in zip(OPTIONS, COLOURS, "osD", strict=False):
            own = kept[kept["options"] == k].set_index(["key", "player"]).reindex(keys)
            columns = [metric.lower() + end for end in ("", "_low", "_high", "_chance")]
            y, low, high, chance = factor * own[columns].to_numpy(float).T
            places = np.arange(len(keys)) + 0.08 + 0.2 * (k - OPTIONS[1])
            axes.hlines(places, low, high, color=colour, lw=1.4)
            look: dict[str, Any] = {"ms": 4.5, "mfc": GROUND, "mec": colour, "mew": 1.3, "ls": ""}
            axes.plot(y, places, mark, label=f"{k} options", **look)
            axes.plot(chance, places, "|", color=CONTRAST, ms=7, mew=1.4, label="by chance")
        axes.set_xlabel(MEANINGS[metric])
        plot_style.name_rows(axes, range(len(keys)), list(players["name"]), plot_style.narrow())
    plot_style.keyed(figure, 4)
    left_out = kept.drop_duplicates(["key", "player"]).shape[0] - len(keys)
    more = f"; {left_out:,} further players: metrics.csv" if left_out else ""
    plot_style.titled(figure, f"How good decisions were, with 95% intervals: {told}{more}")
    return figure


def by_player(metrics: pd.DataFrame, threshold: float, values: str = "true") -> pd.DataFrame:
    """A row a player from metrics.csv, fallbacks left out: name, WR, and ODHR@K and ADR@K of every
    K, all but the ranks from 0 to 1."""
    rows = []
    for _, own in _kept(metrics, threshold, values).groupby(["key", "player"], sort=False):
        row = {"name": own["name"].iloc[0], "WR": own["win_rate"].iloc[0]}
        for metric in METRICS:
            for k, found in zip(own["options"], own[metric.lower()], strict=True):
                row[f"{metric}@{k}"] = found
        rows.append(row)
    return pd.DataFrame(rows)


def heat_map(table: pd.DataFrame, told: str = "") -> Figure:
    """Pearson's correlation of the win rate with every ODHR@K and ADR@K over players, after UNO
    Arena (Qin et al. 2024), Fig. 2; with 95% limits by Fisher's z where there are four players.

    table: a row a player with columns WR, ODHR@2 to ODHR@4 and ADR@2 to ADR@4 in any unit; nan
    where nothing is known. told: what the title says of the table besides.
    """
    figure, axes = plot_style.canvas(2.2 + 0.4 * plot_style.narrow())
    found = [[pearson(table["WR"], table[f"{m}@{k}"]) for k in OPTIONS] for m in METRICS]
    players = int(table["WR"].notna().sum())
    shades = np.array([[one.estimate for one in row] for row in found], float)
    texts = [[_said(one, players) for one in row] for row in found]
    image = heatmaps.shaded(axes, shades, 1.0, texts)
    axes.set_xticks(range(len(OPTIONS)), [f"K = {k}" for k in OPTIONS])
    axes.set_yticks(range(len(METRICS)), [f"{metric}@K" for metric in METRICS])
    limits = " and 95% interval" if players > 3 else ""
    title = f"correlation with the win rate{limits}, n = {players} players"
    plot_style.titled(figure, f"{title}\n{told}" if told else title)
    heatmaps.scaled(figure, axes, image, "Pearson's r")
    return figure


def _said(one: Correlation, players: int) -> str:
    """A cell's text; its own n where a player has no such decision."""
    lines = ["-" if np.isnan(one.estimate) else f"{one.estimate:+.3f}"]
    if not np.isnan(one.low):
        lines.append(f"{one.low:+.2f} to {one.high:+.2f}")
    if one.n != players:
        lines.append(f"n = {one.n}")
    return "\n".join(lines)


def traces(stands: pd.DataFrame) -> Figure:
    """Every player's chance to win after each ply of the first deals, up to four, a panel each;
    after UNO Arena (Qin et al. 2024), Fig. 3. A large mark is a player's own ply, a small one
    another's.

    stands: rows of traces.csv.
    """
    matches = stands.drop_duplicates("match").sort_values("deal", kind="stable").head(PANELS)
    across = 1 if plot_style.narrow() else min(2, len(matches))
    down = -(-len(matches) // across)
    figure, panels = plot_style.panels(down, across, 0.8 + 1.9 * down, sharey=True)
    several = stands["key"].nunique() > 1
    for axes, (_, first) in zip(panels, matches.iterrows(), strict=False):
        _trace(axes, stands[stands["match"] == first["match"]])
        title = f"deal {first['deal']}{', ' + first['cell'] if several else ''}"
        axes.set_title(plot_style.shortened(title, plot_style.room(0.85 / across)))
    for axes in panels[len(matches) :]:
        axes.set_axis_off()
    plot_style.keyed(figure)
    plot_style.titled(
        figure, "Chance to win after each ply, by playouts from the cards as they lay"
    )
    return figure


def _trace(axes: Axes, stands: pd.DataFrame) -> None:
    players = stands.groupby(["player", "name"])
    for at, ((player, name), own) in enumerate(players):
        colour, dash = COLOURS[at % len(COLOURS)], plot_style.DASHES[at % len(COLOURS)]
        plies, chances = own["ply"].to_numpy(), own["true"].to_numpy()
        moved = (own["moved"] == own["seat"]).to_numpy()
        look: dict[str, Any] = {"color": colour, "clip_on": False}
        label = f"player {player}, {name}"
        dots = (2.5, 3.5) if len(own) <= LONG else (1.0, 1.6)
        axes.plot(plies, chances, ".", ls=dash, ms=dots[0], lw=1, label=label, **look)
        axes.plot(plies[moved], chances[moved], "o", ms=dots[1], **look)
    axes.set_ylim(0, 1)
    axes.set_xlabel("ply (large mark: the player's own)")
    axes.set_ylabel("chance to win")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
