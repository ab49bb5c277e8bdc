"""Where a rule stopped each cell, and what that says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellInfo, CellResults
from gauntlet.pipeline.tables.numbers import amount
from gauntlet.pipeline.tables.primary_test import unbeaten
from gauntlet.pipeline.tables.scale import Scale
from gauntlet.pipeline.tables.table import Sheet, short_names


def sheets(folder: Path, summary: pd.DataFrame, results: Sequence[CellResults]) -> list[Sheet]:
    """Where each cell stopped and what that says; none where all deals were planned."""
    found = Folder(folder).stop
    if not found:
        return []
    rows = [
        (name, f"{result.complete_deals:,}", verdict(found, result.about) + no_better(row))
        for name, result, (_, row) in zip(
            short_names(summary), results, summary.iterrows(), strict=True
        )
    ]
    foot = (
        "Deals were played until the rule stopped. The verdict allows for every look; z, p and the "
        "\nintervals of the tables take the number of deals as fixed, and do not."
    )
    headings = ("cell", "deals", "verdict")
    return [Sheet(f"stop={found['rule']}", headings, rows, foot, "stop.json")]


def verdicts(folder: Path, results: Sequence[CellResults]) -> dict[str, str]:
    """What the rule that stopped the sweep says of each cell, by name; none where all deals were
    planned."""
    found = Folder(folder).stop
    return {r.about.name: verdict(found, r.about) for r in results} if found else {}


def no_better(row: pd.Series[Any]) -> str:
    """What goes with the verdict on a cell that does no better than a control; "" else."""
    beside = unbeaten(row)
    return f", but not shown to do better than {beside}" if beside else ""


def verdict(found: Mapping[str, Any], about: CellInfo) -> str:
    stop = found["cells"].get(about.key)
    if stop is None:
        return "undecided"
    if found["rule"] == "sprt":
        target = stop.get("target", found["win_rate"])  # older ones had one for all cells
        below = f"not above the baseline: {100 * target:.1f}% is ruled out"
        return "above the baseline" if stop["above"] else below
    above = "above the baseline" if stop["above"] else "not shown to be above the baseline"
    half = found["half_width"]
    if Scale.of(about.measure).share:
        return f"known to +-{100 * half:g} points; {above}"
    reach = amount(half * (about.measure.high - about.measure.low))
    return f"{about.measure.name} known to +-{reach}; {above}"
