"""What players of a fixed place of the list won on a cell's deals, beside the cell.

DIR/controls.csv has a row for each cell and control.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults, collect, measures
from gauntlet.pipeline.plan.control_cells import NOISE
from gauntlet.pipeline.tables.numbers import p_value
from gauntlet.pipeline.tables.primary_test import raw_pair
from gauntlet.pipeline.tables.scale import Scale
from gauntlet.pipeline.tables.table import Sheet

COLUMNS = [
    *("cell", "control", "deals", "measure", "mean", "control_mean"),
    *("difference", "ci_low", "ci_high", "p_value"),
]
"""`mean` and `control_mean` are over the `deals` that both have finished; `difference` is the first
minus the second with its 95% interval, both of the `measure` that the cell is judged by. `p_value`
is two-sided, paired by deal, and in nobody's family."""


def table(folder: Path, results: Sequence[CellResults]) -> pd.DataFrame:
    """controls.csv; without rows where no control was played."""
    wanted = {
        key for result in results for name, key in result.about.controls.items() if name != NOISE
    }
    found = controls_of(folder, wanted)
    rows = [
        _row(name, result, found[key])
        for result in results
        for name, key in result.about.controls.items()
        if name != NOISE and key in found and result.outcomes and found[key].outcomes
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def controls_of(folder: Path, keys: Collection[str]) -> dict[str, CellResults]:
    """The controls and noise cells of these keys, by their keys."""
    log = Folder(folder)
    abouts = [about for about in log.every_cell() if about.key in keys] if keys else []
    found = collect(abouts, log.outcomes(measures(abouts)), log.set_aside) if abouts else []
    return {result.about.key: result for result in found}


def of_pair(cell: CellResults, other: CellResults) -> dict[str, Any]:
    """The two by their raw results, with the means of both over the deals that they share."""
    (deals, own), (others, theirs) = cell.by_deal(), other.by_deal()
    means = own[np.isin(deals, others)].mean(), theirs[np.isin(others, deals)].mean()
    return {**raw_pair(cell, other), "mean": means[0], "other_mean": means[1]}


def _row(name: str, cell: CellResults, control: CellResults) -> dict[str, object]:
    pair = of_pair(cell, control)
    return {
        "cell": cell.about.name,
        "control": name,
        "deals": pair["deals"],
        "measure": cell.about.measure.name,
        "mean": pair["mean"],
        "control_mean": pair["other_mean"],
        **{column: pair[column] for column in ("difference", "ci_low", "ci_high")},
        "p_value": pair["p"],
    }


def sheets(
    found: pd.DataFrame, names: Mapping[str, str], scales: Mapping[str, Scale]
) -> list[Sheet]:
    """The table for a person; none where no control was played. names, scales: by the cell."""
    if found.empty:
        return []
    rows = []
    for _, row in found.iterrows():
        scale = scales[row["cell"]]
        rows.append(
            (
                names[row["cell"]],
                row["control"],
                f"{row['deals']:,}",
                scale.mean(row["mean"]),
                scale.mean(row["control_mean"]),
                scale.change(row["difference"]),
                scale.reach(row["ci_low"], row["ci_high"]),
                p_value(row["p_value"]),
            )
        )
    foot = (
        "always: a player that takes this option of every list, in the subject's place on the same "
        "deals.\nPaired by deal, two-sided; in no family of tests."
    )
    headings = ("cell", "always", "deals", "cell's", "its", "difference", "95% interval", "p")
    title = "A fixed option in the subject's place"
    return [Sheet(title, headings, rows, foot, "controls.csv")]
