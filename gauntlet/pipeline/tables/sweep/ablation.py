"""What each part of a method contributes: a cell, less the same cell without the part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from gauntlet.common.sanitize import file_name
from gauntlet.common.terminal import short
from gauntlet.pipeline.log.results import CellInfo, CellResults
from gauntlet.pipeline.tables.formatting import Scale, capitalize
from gauntlet.pipeline.tables.media import plot_style, sheets
from gauntlet.pipeline.tables.media.plot_style import COLOURS, CONTRAST
from gauntlet.pipeline.tables.media.sheets import Column, View
from gauntlet.pipeline.tables.registry import Results, columns, figure, table
from gauntlet.pipeline.tables.sweep.claims import comparison_group, factors
from gauntlet.pipeline.tables.sweep.costs import MARKS
from gauntlet.pipeline.tables.sweep.figures import best_columns, unit
from gauntlet.pipeline.tables.sweep.primary_test import ESTIMATE, read_difference

COLUMNS = {
    "cell": "the cell with all parts",
    "without": "the setting that leaves a part out; empty for the cell itself",
    "measure": "what both are judged by",
    **columns("deals"),
    "estimate": "the mean of the row's cell, luck-adjusted where possible",
    "difference": "what the part contributes: with it less without it, paired by deal",
    **columns("ci_low", "ci_high"),
    "p": "its two-sided p-value, as in pairs.csv",
    "p_holm": "after Holm's correction, as in pairs.csv",
}
VIEW = View(
    "Ablation: what each part contributes",
    (
        Column("cell", sheets.cell_name),
        Column("without", lambda row: sheets.text("without")(row) or "(whole)"),
        Column("deals", sheets.count("deals")),
        Column("mean", sheets.mean("estimate")),
        Column("part adds", sheets.change("difference")),
        Column("95% interval", sheets.change_span("ci_low", "ci_high")),
        Column("p Holm", sheets.p("p_holm")),
    ),
    "Part adds: the whole less the row, on deals that both played, luck removed where possible.",
)


@table("ablation", COLUMNS, [VIEW], place=3)
def ablation(results: Results) -> Iterator[dict[str, Any]]:
    """Each cell that parts were left out of, then a row for each part."""
    cells = [cell.about for cell in results.cells]
    summary = results["summary"].set_index("cell")
    for whole in cells:
        parts = [part for part in cells if part.without and _whole_of(part, whole)]
        for part in [whole, *parts] if parts else ():
            yield _row(summary, results["pairs"], whole, part)


def _whole_of(part: CellInfo, full: CellInfo) -> bool:
    """Whether they differ in nothing but what the part leaves out."""
    key = part.without.partition("=")[0]
    ours, theirs = (
        {
            name: value
            for name, value in factors(cell.labels).items()
            if name != key and not name.startswith(f"{key}.")
        }
        for cell in (part, full)
    )
    return not full.without and ours == theirs and comparison_group(part) == comparison_group(full)


def _row(
    summary: pd.DataFrame, pairs: pd.DataFrame, full: CellInfo, part: CellInfo
) -> dict[str, Any]:
    row = {
        "cell": full.name,
        "without": part.without,
        "measure": full.measure.name,
        "deals": summary["deals"][part.name],
        "estimate": summary["estimate"][part.name],
    }
    for first, second, sign in ((full, part, 1), (part, full, -1)):
        both = pairs[(pairs["cell_a"] == first.name) & (pairs["cell_b"] == second.name)]
        for pair in both.to_dict("records") if part is not full else ():
            difference, *ends = (sign * value for value in read_difference(pair))
            low, high = sorted(ends)
            row |= {"deals": pair["deals"], "difference": difference, "ci_low": low}
            row |= {"ci_high": high, "p": pair["p"], "p_holm": pair["p_holm"]}
    return row


# --- by the model's number of parameters, of three sizes or more

SIZES = 3
"""Different sizes from which on there is a figure."""


@figure("model_size", place=4)
def model_size(results: Results) -> dict[str, Figure]:
    """One figure for each group of comparable cells."""
    groups: defaultdict[tuple[str, ...], list[CellResults]] = defaultdict(list)
    for cell in results.cells:
        if cell.about.parameters and cell.outcomes:
            groups[comparison_group(cell.about)].append(cell)
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
        line = rows[rows["prompt"] == prompt]
        x, (y, low, high) = line["size"], scale.factor * line[list(best)].to_numpy(float).T
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
