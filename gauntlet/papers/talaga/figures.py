"""Chips by hand, as in the paper, with their spread over matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from gauntlet.pipeline.tables.media import plot_style
from gauntlet.pipeline.tables.media.plot_style import COLOURS, DASHES, MUTED

Pairs = Sequence[tuple[str, str]]
"""Players whose chips are drawn, with their opponents."""


def chip_curves(table: pd.DataFrame, panels: Mapping[str, Pairs], stack: int) -> Figure:
    """Draw one panel per title, with one line per pair: the median of the first player's chips
    after each hand, and the middle half of the matches.

    table: from `chips.chip_quantiles`. Pairs that were not played are left out.
    """
    count = len(panels)
    across = 1 if plot_style.narrow() else min(2, count)
    down = -(-count // across)
    figure, axes = plot_style.panels(down, across, 0.7 + 2.2 * down, sharey=True)
    opponents = dict.fromkeys(other for pairs in panels.values() for _, other in pairs)
    looks = {name: (COLOURS[at % len(COLOURS)], DASHES[at % len(DASHES)])
             for at, name in enumerate(opponents)}  # fmt: skip
    for axis, (title, pairs) in zip(axes, panels.items(), strict=False):
        for own, other in pairs:
            rows = table[(table["player"] == own) & (table["opponent"] == other)]
            _curve(axis, rows, other, *looks[other])
        axis.axhline(stack, color=MUTED, lw=0.6)
        axis.set_title(title)
        axis.set_xlabel("hands")
        axis.set_ylim(-0.02 * stack, 2.02 * stack)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    for place in range(0, count, across):
        axes[place].set_ylabel("chips")
    for unused in axes[count:]:
        unused.set_axis_off()
    plot_style.add_legend(figure, 5)
    drawn = [pair for pairs in panels.values() for pair in pairs]
    counts = zip(table["player"], table["opponent"], table["matches"], strict=True)
    most = max((int(matches) for *pair, matches in counts if tuple(pair) in drawn), default=0)
    plot_style.set_title(figure, f"{TITLE} of up to {most:,} matches against each; grey: the stack")
    return figure


TITLE = "Chips by hand, the median and the middle half"


def _curve(axes: Axes, rows: pd.DataFrame, name: str, colour: str, dash: object) -> None:
    if rows.empty:
        return
    hands = rows["hand"]
    axes.fill_between(
        hands, rows["lower_quarter"], rows["upper_quarter"], color=colour, alpha=0.12, lw=0
    )
    axes.plot(hands, rows["median"], color=colour, ls=dash, lw=1.2, label=name)
