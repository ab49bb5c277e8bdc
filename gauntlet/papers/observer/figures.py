"""The paper's figures: losses by round (Figs. 4 and 5), the grid of guesses (Fig. 3) and guesses
over time (Fig. 1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from gauntlet.games.rock_paper_scissors.strategies import CODES, grid
from gauntlet.games.watch import observation
from gauntlet.papers.observer.runs import WatchedMatch, implied_outcomes, same_outcomes
from gauntlet.pipeline.tables.media import plot_style
from gauntlet.pipeline.tables.media.plot_style import ACCENT, COLOURS, CONTRAST, DASHES, MUTED

SMOOTH = 10
"""Window of the running mean of a curve, in guesses."""
SMALL = 1e-3
"""The axis of losses is linear below this, and logarithmic above."""
BESIDE = 0.15
"""Vertical offset of the marks from a strategy's row: player 2 below, player 1 above."""


def match_up_label(match_up: str, note: str = "pairs") -> str:
    """Label a match-up with the number of pairs of the grid that no loss tells from it."""
    return f"{match_up} ({int(same_outcomes(match_up.split('-')).sum())} {note} alike)"


def curves(table: pd.DataFrame, panels: Sequence[tuple[str, str, str]], title: str) -> Figure:
    """Draw one panel per (match-up, column of `totals.by_round`, its name), with one line per
    observer."""
    across = 1 if plot_style.narrow() else len(panels)
    down = -(-len(panels) // across)
    figure, axes = plot_style.panels(down, across, 0.9 + 2.0 * down, sharex=True)
    observers = list(dict.fromkeys(table["observer"]))
    for axis, (match_up, column, name) in zip(axes, panels, strict=True):
        for at, observer in enumerate(observers):
            rows = table[(table["match_up"] == match_up) & (table["observer"] == observer)]
            if not rows.empty:
                drawn = rows[column].rolling(SMOOTH, min_periods=1).mean()
                look = {"color": COLOURS[at % len(COLOURS)], "ls": DASHES[at % len(DASHES)]}
                axis.plot(rows["guess"], drawn, lw=1.1, label=observer, **look)
        axis.set_title(match_up_label(match_up))
        axis.set_xlabel("guess")
        axis.set_ylabel(name)
        axis.set_yscale("symlog", linthresh=SMALL)
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_ylim(bottom=0)
    plot_style.add_legend(figure, 5)
    plot_style.set_title(figure, f"{title}; linear below {SMALL:g}")
    return figure


def heat_map(pair: Sequence[str], mode: observation.Mode) -> Figure:
    """Draw the Union loss of every guess about one truth (ringed); dots mark the same outcomes."""
    table = observation.union(implied_outcomes(*pair), grid(), grid().reshape(-1, 3), mode)
    figure, axes = plot_style.canvas(min(4.6, 1.0 + plot_style.width()))
    image = axes.imshow(table, "viridis_r", aspect="equal", vmin=0)
    axes.set_xticks(range(len(CODES)), CODES)
    axes.set_yticks(range(len(CODES)), CODES)
    axes.set_xlabel("guess for player 2")
    axes.set_ylabel("guess for player 1")
    same, (row, column) = same_outcomes(pair), map(CODES.index, pair)
    for one, other in np.argwhere(same):
        if (one, other) != (row, column):
            axes.plot(other, one, ".", color="white", ms=2.5)
    axes.plot(column, row, "s", mfc="none", mec=CONTRAST, mew=1.5, ms=7)
    plot_style.add_colour_bar(figure, axes, image, "Union loss")
    plot_style.set_title(
        figure,
        f"Union ({mode}) of every guess about {pair[0]} against {pair[1]}, ringed; the dots are "
        f"{int(same.sum()) - 1} other pairs of the same outcomes",
    )
    return figure


def timeline(matches: Sequence[WatchedMatch]) -> Figure:
    """Draw what one observer guessed after each round, one panel per match: a mark for each player,
    and lines for the truth."""
    across = 1 if plot_style.narrow() else len(matches)
    down = -(-len(matches) // across)
    figure, axes = plot_style.panels(down, across, 0.9 + 2.9 * down, sharey=True)
    for axis, match in zip(axes, matches, strict=True):
        for seat, colour in enumerate((ACCENT, CONTRAST)):
            _guessed(axis, match, seat, colour)
        axis.set_yticks(range(len(CODES)), CODES)
        axis.set_ylim(len(CODES) - 0.5, -0.5)
        axis.set_xlabel("guess")
        axis.set_title(match_up_label("-".join(match.pair)))
    plot_style.add_legend(figure, 2)
    plot_style.set_title(
        figure,
        f"What {matches[0].observer} guesses over a match; the lines are the strategies played",
    )
    return figure


def _guessed(axes: Axes, match: WatchedMatch, seat: int, colour: str) -> None:
    points = [(at, guess[seat]) for at, guess in enumerate(match.guesses, 1) if guess]
    offset = BESIDE * (2 * seat - 1)
    axes.axhline(CODES.index(match.pair[seat]) + offset, color=colour, lw=0.6, alpha=0.6)
    if not points:
        axes.text(0.5, 0.5, "no guess", color=MUTED, transform=axes.transAxes, ha="center")
        return
    rounds, codes = zip(*points, strict=True)
    places = [CODES.index(code) + offset for code in codes]
    axes.plot(rounds, places, "|", color=colour, ms=3.5, mew=0.8, label=f"player {seat + 1}")
