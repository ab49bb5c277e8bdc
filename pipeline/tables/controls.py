"""What players that always take the same place of the list got on a cell's deals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gauntlet.pipeline.log.control_links import controls_in, noise_in, place_of
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults, collect, measures
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
    links, found = controls_in(results.folder), results.once(played_beside)
    for result in results.cells:
        for name, key in links.get(result.about.key, {}).items():
            if key in found and result.outcomes and found[key].outcomes:
                yield _row(name, result, found[key])


def played_beside(results: Results) -> Mapping[str, CellResults]:
    """The controls and noise cells that were played beside the cells, by their keys."""
    folder = results.folder
    if not (controls_in(folder) or noise_in(folder)):
        return {}
    log = Folder(place_of(folder))
    abouts = log.abouts()
    found = collect(abouts, log.outcomes(measures(abouts)), log.set_aside)
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
