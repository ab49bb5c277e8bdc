"""Where a stopping rule stopped each cell, and what it says of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import ORDER_MATTERS, CellInfo
from gauntlet.pipeline.tables.formatting import Scale, amount
from gauntlet.pipeline.tables.media.sheets import Column, View, cell_name, count, text
from gauntlet.pipeline.tables.registry import Results, columns, table
from gauntlet.pipeline.tables.sweep.controls import rivals
from gauntlet.pipeline.tables.sweep.primary_test import Rival, unbeaten_control

UNREPEATABLE = f"nothing is claimed, as {ORDER_MATTERS}"
STOPPED = View(
    lambda part: f"stop={Folder(part.results.folder).stop['rule']}",
    (
        Column("cell", cell_name),
        Column("deals", count("deals")),
        Column("verdict", text("verdict")),
    ),
    "Deals were played until the rule stopped. The verdict allows for every look; z, p and the\n"
    "intervals of the tables take the number of deals as fixed, and do not.",
)


@table(
    "stopped",
    {
        **columns("cell"),
        "deals": "deals that were complete when the rule stopped it",
        "verdict": "what the stopping rule says of the cell",
    },
    [STOPPED],
    metrics=(),
    place=22,
)
def stopped_cells(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each cell of a sweep that a rule stopped."""
    by_cell, rows = results.cached(verdicts), results["summary"].iterrows()
    for result, (_, row) in zip(results.cells, rows, strict=True):
        name = result.about.name
        if verdict := by_cell.get(name):
            verdict += control_caveat(row, results.cached(rivals).get(name))
            yield {"cell": name, "deals": result.complete_deals, "verdict": verdict}


def verdicts(results: Results) -> dict[str, str]:
    """The stopping rule's verdict on each cell; none if all deals were planned."""
    stop = Folder(results.folder).stop
    if not stop:
        return {}
    return {
        cell.about.name: UNREPEATABLE if cell.unrepeatable else _verdict(stop, cell.about)
        for cell in results.cells
    }


def control_caveat(row: pd.Series[Any], rival: Rival | None) -> str:
    """Added to the verdict on a cell that is not shown to beat a control, or ""."""
    control = unbeaten_control(row, rival)
    return f", but not shown to do better than {control}" if control else ""


def _verdict(rule: Mapping[str, Any], about: CellInfo) -> str:
    stop = rule["cells"].get(about.key)
    if stop is None:
        return "undecided"
    if rule["rule"] == "sprt":
        below = f"not above the baseline: {100 * stop['target']:.1f}% is ruled out"
        return "above the baseline" if stop["above"] else below
    above = "above the baseline" if stop["above"] else "not shown to be above the baseline"
    half = rule["half_width"]
    if Scale.from_measure(about.measure).share:
        return f"known to +-{100 * half:g} points; {above}"
    reach = amount(half * (about.measure.high - about.measure.low))
    return f"{about.measure.name} known to +-{reach}; {above}"
