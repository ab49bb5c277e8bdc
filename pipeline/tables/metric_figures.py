"""Figures from the decision metrics: what goes with winning, and how single deals were won."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pipeline.judging.metric_rows import OPTIONS
from pipeline.tables.figures import COLOURS
from stats.correlation import Correlation, pearson

METRICS = ("ODHR", "ADR")
PANELS = 4
"""How many deals are drawn of a trace."""


def by_player(metrics: pd.DataFrame, threshold: float, values: str = "true") -> pd.DataFrame:
    """A row a player from metrics.csv, fallbacks left out: name, WR, and ODHR@K and ADR@K of every
    K, all but the ranks from 0 to 1."""
    kept = metrics[
        (metrics["threshold"] == threshold)
        & (metrics["values"] == values)
        & (metrics["fallbacks"] == "left_out")
    ]
    rows = []
    for _, own in kept.groupby(["key", "player"], sort=False):
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
    figure = Figure(figsize=(6.6, 3.2))
    axes = figure.add_subplot()
    found = [[pearson(table["WR"], table[f"{m}@{k}"]) for k in OPTIONS] for m in METRICS]
    shades = [[one.estimate for one in row] for row in found]
    image = axes.imshow(shades, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
    players = int(table["WR"].notna().sum())
    for line, row in enumerate(found):
        for column, one in enumerate(row):
            dark = abs(one.estimate) > 0.6
            axes.text(
                *(column, line, _said(one, players)),
                ha="center",
                va="center",
                fontsize=9,
                color="white" if dark else "#1f2933",
            )
    axes.set_xticks(range(len(OPTIONS)), [f"K = {k}" for k in OPTIONS])
    axes.set_yticks(range(len(METRICS)), [f"{metric}@K" for metric in METRICS])
    axes.tick_params(length=0, labelsize=9)
    axes.spines[:].set_visible(False)
    limits = " and 95% interval" if players > 3 else ""
    title = f"correlation with the win rate{limits}, n = {players} players"
    axes.set_title(f"{title}\n{told}" if told else title, fontsize=10)
    figure.colorbar(image, ax=axes, label="Pearson's r")
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
    columns = min(2, len(matches))
    lines = -(-len(matches) // columns)
    figure = Figure(figsize=(4.6 * columns, 2.9 * lines), layout="constrained")
    panels = list(figure.subplots(lines, columns, squeeze=False, sharey=True).flat)
    several = stands["key"].nunique() > 1
    for axes, (_, first) in zip(panels, matches.iterrows(), strict=False):
        _trace(axes, stands[stands["match"] == first["match"]])
        axes.set_title(f"deal {first['deal']}{', ' + first['cell'] if several else ''}", fontsize=9)
    for axes in panels[len(matches) :]:
        axes.set_axis_off()
    return figure


def _trace(axes: Axes, stands: pd.DataFrame) -> None:
    players = stands.groupby(["player", "name"])
    for ((player, name), own), colour in zip(players, _colours(len(players)), strict=True):
        plies, chances = own["ply"].to_numpy(), own["true"].to_numpy()
        moved = (own["moved"] == own["seat"]).to_numpy()
        label = f"player {player}, {name}"
        axes.plot(plies, chances, ".-", ms=3, lw=1.2, color=colour, label=label, clip_on=False)
        axes.plot(plies[moved], chances[moved], "o", ms=4.5, color=colour, clip_on=False)
    axes.set_ylim(0, 1)
    axes.set_xlabel("ply", fontsize=9)
    axes.set_ylabel("chance to win", fontsize=9)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    axes.legend(frameon=False, fontsize=7)


def _colours(players: int) -> Sequence[str]:
    return [COLOURS[place % len(COLOURS)] for place in range(players)]
