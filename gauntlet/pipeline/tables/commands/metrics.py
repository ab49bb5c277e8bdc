"""The decision metrics of `python -m pipeline.metrics`: how often each player won, and how good
its decisions were compared with a uniformly random player."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from gauntlet.pipeline.judging.metric_rows import METRIC_COLUMNS, OPTIONS, TRACE_COLUMNS
from gauntlet.pipeline.tables.formatting import percent
from gauntlet.pipeline.tables.media import plot_style
from gauntlet.pipeline.tables.media.plot_style import COLOURS, CONTRAST, GROUND
from gauntlet.pipeline.tables.media.sheets import Column, View, count, decimal, ends, share, text
from gauntlet.pipeline.tables.registry import Part, Results, columns, figure, read_table, table
from gauntlet.stats.regression import Correlation, pearson

FILES = ("metrics.csv", "traces.csv")
SOURCES = {"true": "the true cards", "seen": "hidden cards dealt afresh"}
COLUMNS = {
    **columns("cell"),
    "key": "its key, which tells cells of one name apart",
    "player": "the player's number",
    "name": "its name",
    "games": "matches it played",
    "wins": "matches it won",
    "solo_wins": "of these the ones that it won alone",
    "shared_wins": "and the ones that another player won too",
    "win_rate": "wins / games",
    **columns("win_low", "win_high"),
    "values": "`true`: options played on from the cards as they lay; `seen`: hidden cards redealt",
    "threshold": "decisions whose best and worst option are this far apart or more",
    "fallbacks": "whether decisions that a fallback took are `left_out` or `counted`",
    "options": "decisions with this many options",
    "decisions": "how many decisions",
    "odhr": "share that took a best option",
    **columns("odhr_low", "odhr_high"),
    "odhr_denoised": "the share without the playouts' noise",
    "adr": "mean rank of the option taken, 1 the best",
    **columns("adr_low", "adr_high"),
    "adr_denoised": "the mean rank without the playouts' noise",
    "playouts": "playouts an option",
    "tie": "the rank of equal values",
    "traces": "deals that are traced",
    "odhr_chance": "ODHR of a uniformly random player",
    "adr_chance": "ADR of such a player",
}


def read(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """metrics.csv and traces.csv of an output_dir; None if its decisions were not judged, or by
    another version."""
    try:
        metrics, traces = (read_table(folder / "metrics" / name) for name in FILES)
    except (OSError, ValueError):  # pandas' errors are ValueErrors
        return None
    known = {*METRIC_COLUMNS} <= {*metrics.columns} and {*TRACE_COLUMNS} <= {*traces.columns}
    return (metrics, traces) if known else None


def files(results: Results) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """`read` for the results' folder."""
    return read(results.folder)


def _title(part: Part) -> str:
    first = part.rows.iloc[0]
    worth, source = percent(first["threshold"], 0), SOURCES[first["values"]]
    return f"decisions worth {worth} or more, from {source}"


WINS = View(
    "all games",
    (
        Column("player", text("name")),
        Column("games", count("games")),
        Column("wins", count("wins")),
        Column("shared", count("shared_wins")),
        Column("win rate", share("win_rate")),
        Column("95% interval", ends("win_low", "win_high", share)),
    ),
    "shared: wins that another player had too.",
    lambda rows: rows.drop_duplicates(["key", "player"]),
)
DECISIONS = View(
    _title,
    (
        Column("player", text("name")),
        Column("K", text("options")),
        Column("n", count("decisions")),
        Column("ODHR", share("odhr")),
        Column("95% interval", ends("odhr_low", "odhr_high", share)),
        Column("by chance", share("odhr_chance")),
        Column("ADR", decimal("adr", ".2f")),
        Column("95% interval", ends("adr_low", "adr_high", partial(decimal, form=".2f"))),
        Column("by chance", decimal("adr_chance", ".2f")),
    ),
    "K: options to choose from; n: decisions. ODHR: share that took a best option. ADR: mean rank "
    "of the option taken, 1 the best. by chance: of a uniformly random player. The "
    "95%\nintervals allow for few deals and for the playouts' noise.",
    lambda rows: rows[rows["fallbacks"] == "left_out"],
    split_by=("threshold", "values"),
)


@table("metrics", COLUMNS, [WINS, DECISIONS], place=90, file="metrics/metrics.csv")
def metrics(results: Results) -> pd.DataFrame:
    """A row for each player, source of values, threshold and number of options."""
    frames = results.cached(files)
    return pd.DataFrame(columns=[*COLUMNS]) if frames is None else frames[0]


# --- figures

METRICS = ("ODHR", "ADR")
MEANINGS = {"ODHR": "ODHR: took a best option, %", "ADR": "ADR: mean rank of the option, 1 best"}
PANELS = 4
"""Deals drawn of a trace."""
LONG = 80
"""Plies from which a trace has small marks."""
LEAST_PLAYERS = 3
"""Fewer points always lie on a line."""


@figure("decision_metrics", place=6)
def decision_metrics(results: Results) -> dict[str, Figure]:
    """If the folder's decisions were judged."""
    frames = results.cached(files)
    return metric_figures(*frames) if frames else {}


def metric_figures(metrics: pd.DataFrame, trace_rows: pd.DataFrame) -> dict[str, Figure]:
    """The figures of metrics.csv and traces.csv by name, for the first threshold."""
    plots = {} if trace_rows.empty else {"traces": traces(trace_rows)}
    if metrics.empty:
        return plots
    threshold = float(metrics["threshold"].iloc[0])
    basis = f"decisions worth {percent(threshold, 0)} or more, from the true cards"
    rows = _rows(metrics, threshold)
    if rows["decisions"].sum():
        plots["decision_quality"] = quality(rows, basis)
    players = by_player(metrics, threshold)
    if len(players) >= LEAST_PLAYERS:
        plots["heat_map"] = heat_map(players, basis)
    return plots


def _rows(metrics: pd.DataFrame, threshold: float, values: str = "true") -> pd.DataFrame:
    """The rows of one threshold and source, without fallbacks."""
    return metrics[
        (metrics["threshold"] == threshold)
        & (metrics["values"] == values)
        & (metrics["fallbacks"] == "left_out")
    ]


def quality(rows: pd.DataFrame, basis: str) -> Figure:
    """ODHR and ADR of every player by the number of options, with 95% intervals.

    rows: of metrics.csv, of one threshold and source. basis: these, for the title.
    """
    every = rows.drop_duplicates(["key", "player"])[["key", "player", "name"]]
    players = every.head(8 if plot_style.narrow() else 20)
    keys = list(players[["key", "player"]].itertuples(index=False, name=None))
    lines, across = (2, 1) if plot_style.narrow() else (1, 2)
    height = 1.0 + lines * (0.4 + (0.42 if plot_style.narrow() else 0.34) * max(2, len(keys)))
    figure, panels = plot_style.panels(lines, across, height, sharey=across == 2)
    for axes, metric in zip(panels, METRICS, strict=True):
        factor = 100.0 if metric == "ODHR" else 1.0
        for k, colour, mark in zip(OPTIONS, COLOURS, "osD", strict=False):
            group = rows[rows["options"] == k].set_index(["key", "player"]).reindex(keys)
            columns = [metric.lower() + end for end in ("", "_low", "_high", "_chance")]
            y, low, high, chance = factor * group[columns].to_numpy(float).T
            places = np.arange(len(keys)) + 0.08 + 0.2 * (k - OPTIONS[1])
            axes.hlines(places, low, high, color=colour, lw=1.4)
            look: dict[str, Any] = {"ms": 4.5, "mfc": GROUND, "mec": colour, "mew": 1.3, "ls": ""}
            axes.plot(y, places, mark, label=f"{k} options", **look)
            axes.plot(chance, places, "|", color=CONTRAST, ms=7, mew=1.4, label="by chance")
        axes.set_xlabel(MEANINGS[metric])
        plot_style.label_rows(axes, range(len(keys)), list(players["name"]), plot_style.narrow())
    plot_style.add_legend(figure, 4)
    omitted = len(every) - len(keys)
    more = f"; {omitted:,} further players: metrics.csv" if omitted else ""
    return plot_style.set_title(
        figure, f"How good decisions were, with 95% intervals: {basis}{more}"
    )


def by_player(metrics: pd.DataFrame, threshold: float, values: str = "true") -> pd.DataFrame:
    """A row for each player, without fallbacks: name, WR, and ODHR@K and ADR@K for every K; all
    but the ranks from 0 to 1."""
    rows = []
    for _, group in _rows(metrics, threshold, values).groupby(["key", "player"], sort=False):
        row = {"name": group["name"].iloc[0], "WR": group["win_rate"].iloc[0]}
        for metric in METRICS:
            for k, value in zip(group["options"], group[metric.lower()], strict=True):
                row[f"{metric}@{k}"] = value
        rows.append(row)
    return pd.DataFrame(rows)


def heat_map(players: pd.DataFrame, basis: str = "") -> Figure:
    """Pearson's correlation of the win rate with every ODHR@K and ADR@K over players, after UNO
    Arena (Qin et al. 2024), Fig. 2; from four players on with 95% limits by Fisher's z.

    players: columns WR, ODHR@2 to ODHR@4 and ADR@2 to ADR@4 in any unit; nan if unknown.
    """
    figure, axes = plot_style.canvas(2.2 + 0.4 * plot_style.narrow())
    table = [[pearson(players["WR"], players[f"{m}@{k}"]) for k in OPTIONS] for m in METRICS]
    count = int(players["WR"].notna().sum())
    values = np.array([[one.estimate for one in row] for row in table], float)
    texts = [[_correlation(one, count) for one in row] for row in table]
    image = plot_style.heat_map(axes, values, 1.0, texts)
    axes.set_xticks(range(len(OPTIONS)), [f"K = {k}" for k in OPTIONS])
    axes.set_yticks(range(len(METRICS)), [f"{metric}@K" for metric in METRICS])
    limits = " and 95% interval" if count > 3 else ""
    title = f"correlation with the win rate{limits}, n = {count} players"
    plot_style.set_title(figure, f"{title}\n{basis}" if basis else title)
    plot_style.add_colour_bar(figure, axes, image, "Pearson's r")
    return figure


def _correlation(result: Correlation, players: int) -> str:
    """A cell's text; with its n if some players have no such decision."""
    lines = ["-" if np.isnan(result.estimate) else f"{result.estimate:+.3f}"]
    if not np.isnan(result.low):
        lines.append(f"{result.low:+.2f} to {result.high:+.2f}")
    if result.n != players:
        lines.append(f"n = {result.n}")
    return "\n".join(lines)


def traces(rows: pd.DataFrame) -> Figure:
    """Every player's chance to win after each ply of the first deals, up to four, a panel each;
    after UNO Arena (Qin et al. 2024), Fig. 3. Large marks are a player's own plies.

    rows: of traces.csv.
    """
    matches = rows.drop_duplicates("match").sort_values("deal", kind="stable").head(PANELS)
    across = 1 if plot_style.narrow() else min(2, len(matches))
    down = -(-len(matches) // across)
    figure, panels = plot_style.panels(down, across, 0.8 + 1.9 * down, sharey=True)
    several = rows["key"].nunique() > 1
    for axes, (_, first) in zip(panels, matches.iterrows(), strict=False):
        _trace(axes, rows[rows["match"] == first["match"]])
        title = f"deal {first['deal']}{', ' + first['cell'] if several else ''}"
        axes.set_title(plot_style.shorten(title, plot_style.room(0.85 / across)))
    for axes in panels[len(matches) :]:
        axes.set_axis_off()
    plot_style.add_legend(figure)
    title = "Chance to win after each ply, by playouts from the cards as they lay"
    return plot_style.set_title(figure, title)


def _trace(axes: Axes, rows: pd.DataFrame) -> None:
    for at, ((player, name), group) in enumerate(rows.groupby(["player", "name"])):
        colour, dash = COLOURS[at % len(COLOURS)], plot_style.DASHES[at % len(COLOURS)]
        plies, chances = group["ply"].to_numpy(), group["true"].to_numpy()
        moved = (group["moved"] == group["seat"]).to_numpy()
        look: dict[str, Any] = {"color": colour, "clip_on": False}
        label = f"player {player}, {name}"
        small, large = (2.5, 3.5) if len(group) <= LONG else (1.0, 1.6)
        axes.plot(plies, chances, ".", ls=dash, ms=small, lw=1, label=label, **look)
        axes.plot(plies[moved], chances[moved], "o", ms=large, **look)
    axes.set_ylim(0, 1)
    axes.set_xlabel("ply (large mark: the player's own)")
    axes.set_ylabel("chance to win")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
