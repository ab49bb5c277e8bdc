"""Results by the number of the model's parameters, where three sizes or more were played.

The trend's test is a term of the claims ("Ten times the parameters", `claims.terms`).
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from gauntlet.common.sanitize import file_name
from gauntlet.common.terminal import short
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables.formatting import Scale, capitalize
from gauntlet.pipeline.tables.media import plot_style
from gauntlet.pipeline.tables.media.plot_style import COLOURS, CONTRAST
from gauntlet.pipeline.tables.registry import Results, figure
from gauntlet.pipeline.tables.sweep.conditions import comparison_group
from gauntlet.pipeline.tables.sweep.costs import MARKS
from gauntlet.pipeline.tables.sweep.figures import best_columns, unit
from gauntlet.pipeline.tables.sweep.primary_test import ESTIMATE

SIZES = 3
"""Different sizes from which on there is a figure."""


@figure("model_size", place=4)
def model_size(results: Results) -> dict[str, Figure]:
    """One figure for each group of comparable cells."""
    groups: defaultdict[tuple[str, ...], list[CellResults]] = defaultdict(list)
    for cell in results.cells:
        if cell.about.parameters and cell.outcomes:
            groups[comparison_group(cell)].append(cell)
    drawn = {
        group: size_plot(results["summary"], cells)
        for group, cells in groups.items()
        if len({cell.about.parameters for cell in cells}) >= SIZES
    }
    names = [file_name("model_size " + " ".join(group)) for group in drawn]
    return dict(zip(names if len(names) > 1 else ["model_size"], drawn.values(), strict=False))


def size_plot(summary: pd.DataFrame, cells: list[CellResults]) -> Figure:
    """A line for each prompt, with 95% intervals, over a logarithmic axis of parameters."""
    sizes = {cell.about.name: cell.about.parameters for cell in cells}
    rows = summary[summary["cell"].isin(sizes)]
    rows = rows.assign(size=rows["cell"].map(sizes)).sort_values("size", kind="stable")
    scale = Scale.from_row(rows.iloc[0])
    best, prefix = best_columns(bool((rows["estimator"] == "adjusted").all()), ESTIMATE)
    prompts = list(dict.fromkeys(rows["prompt"]))
    plot, axes = plot_style.canvas(2.6 + 0.15 * -(-len(prompts) // 2))
    for at, prompt in enumerate(prompts):
        own = rows[rows["prompt"] == prompt]
        x, (y, low, high) = own["size"], scale.factor * own[list(best)].to_numpy(float).T
        colour, mark = COLOURS[at % len(COLOURS)], MARKS[at % len(MARKS)]
        axes.plot(x, y, f"{mark}-", color=colour, lw=1.2, ms=4.5, label=prompt)
        axes.vlines(x, low, high, color=colour, lw=1.2)
    if len(baseline := rows["baseline"].dropna()):
        axes.axhline(
            scale.factor * baseline.iloc[0], color=CONTRAST, ls="--", lw=1, label="baseline"
        )
    axes.set_xscale("log")
    axes.set_xticks(np.unique(rows["size"]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda count, _: short(count)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("parameters of the model")
    label = unit(f"{prefix}{scale.words}", scale)
    axes.set_ylabel(label)
    plot_style.add_legend(plot)
    return plot_style.set_title(plot, f"{capitalize(label)}, with its 95% interval, by model size")
