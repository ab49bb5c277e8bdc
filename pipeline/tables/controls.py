"""What players that always take the same place of the list got on a cell's deals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults, collect, measures
from gauntlet.pipeline.plan.control_cells import NOISE
from gauntlet.pipeline.tables.primary_test import Rival, least_beaten, raw_pair
from gauntlet.pipeline.tables.registry import Results, table
from gauntlet.pipeline.tables.sheets import (
    Column,
    View,
    cell_name,
    change,
    count,
    mean,
    p,
    reach,
    text,
)

COLUMNS = {
    "cell": "the cell's name",
    "control": "the option that the control always takes: `first` or `last`",
    "deals": "deals that both finished",
    "measure": "what the cell is judged by",
    "mean": "the cell's mean over these deals, raw",
    "control_mean": "the control's mean",
    "difference": "the cell's less the control's, paired by deal",
    "ci_low": "lower end of its 95% interval",
    "ci_high": "upper end of its 95% interval",
    "p": "two-sided, in no family of tests",
}
FOOT = (
    "always: a player that takes this option of every list, in the subject's place on the same "
    "deals.\nPaired by deal, two-sided; in no family of tests."
)
SHOWN = View(
    "A fixed option in the subject's place",
    (
        Column("cell", cell_name),
        Column("always", text("control")),
        Column("deals", count("deals")),
        Column("cell's", mean("mean")),
        Column("its", mean("control_mean")),
        Column("difference", change("difference")),
        Column("95% interval", reach("ci_low", "ci_high")),
        Column("p", p("p")),
    ),
    FOOT,
)


@table("controls", COLUMNS, [SHOWN], metrics=("difference",), key="control", place=71)
def controls(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each cell and control."""
    found = results.once(controls_and_noise)
    for result in results.cells:
        for name, key in result.about.controls.items():
            if name != NOISE and key in found and result.outcomes and found[key].outcomes:
                yield _row(name, result, found[key])


def controls_and_noise(results: Results) -> Mapping[str, CellResults]:
    """The cells' controls and noise cells, by their keys."""
    keys = {key for result in results.cells for key in result.about.controls.values()}
    if not keys:
        return {}
    log = Folder(results.folder)
    abouts = [about for about in log.every_cell() if about.key in keys]
    found = collect(abouts, log.outcomes(measures(abouts)), log.failed_matches)
    return {result.about.key: result for result in found}


def rivals(results: Results) -> dict[str, Rival]:
    """By cell the control that it is least shown to beat."""
    return least_beaten(results["controls"])


def of_pair(cell: CellResults, other: CellResults) -> dict[str, Any]:
    """The two by their raw results, with the means of both over the deals that they share."""
    (deals, own), (others, theirs) = cell.by_deal(), other.by_deal()
    means = own[np.isin(deals, others)].mean(), theirs[np.isin(others, deals)].mean()
    return {**raw_pair(cell, other), "mean": means[0], "other_mean": means[1]}


def _row(name: str, cell: CellResults, control: CellResults) -> dict[str, Any]:
    pair = of_pair(cell, control)
    kept = ("deals", "measure", "mean", "difference", "ci_low", "ci_high", "p")
    return {
        "cell": cell.about.name,
        "control": name,
        "control_mean": pair["other_mean"],
        **{column: pair[column] for column in kept},
    }
