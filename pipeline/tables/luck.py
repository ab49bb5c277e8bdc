"""Luck-adjusted results: what each is worth, and why there is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gauntlet.pipeline.judging import luck
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables.primary_test import ESTIMATE, RAW, estimate, raw
from gauntlet.pipeline.tables.registry import Part, Results, Sheet, table
from gauntlet.pipeline.tables.scale import WIN_RATE, heading
from gauntlet.pipeline.tables.sheets import Column, Row, View, cell_name, mean, span
from gauntlet.stats.paired import clustered_mean

COLUMNS = {
    "cell": "the cell's name",
    "measure": "what the cell is judged by",
    "estimate": "the luck-adjusted mean; empty without one",
    "ci_low": "lower end of its 95% interval, which includes the reference's error",
    "ci_high": "upper end of that interval",
    "raw": "the mean as it was played",
    "raw_low": "lower end of its 95% interval",
    "raw_high": "upper end of its 95% interval",
    "reference": "the player against which decisions were judged",
    "reference_mean": "the reference's own mean",
    "worth": "how many plain matches one adjusted match is worth",
    "reason": "why there is no adjusted mean",
}
FOOT = (
    "adjusted: the reference's {mean} plus what the subject's decisions were worth over the\n"
    "reference's, by playouts. worth: as many plain games would be needed for one of these."
)
HABITS = (
    "habits: as the subject itself plays, learnt of its earlier deals. Beside it the mean of all\n"
    "that its deals were judged against."
)
NAMED = 40
"""Cells up to which all are listed by name."""


def _mean(part: Part) -> str:
    return heading([*part.results.scales.values()])


def _title(part: Part) -> str:
    return f"luck-adjusted {'win rates' if _mean(part) == WIN_RATE else _mean(part)}"


def _foot(part: Part) -> str:
    rows = part.results["luck"]
    foot = [FOOT.format(mean=_mean(part))] if rows["estimate"].notna().any() else []
    foot += [HABITS] * bool((rows["reference"] == luck.LEARNT).any())
    for reason, own in rows.groupby("reason", sort=False):
        names = [part.results.names[one] for one in own["cell"]]
        foot.append(f"{listed(names)}: not adjusted, as {reason}.")
    return "\n".join(foot)


def listed(names: list[str]) -> str:
    """The names in a row; of many a few, and how many there are besides."""
    if len(names) <= NAMED:
        return ", ".join(names)
    few = NAMED // 10
    return f"{', '.join(names[:few])} and {len(names) - few:,} other cells"


def _worth(row: Row) -> str:
    return f"{row['worth']:.1f}" if np.isfinite(row["worth"]) else "-"


ADJUSTED = View(
    _title,
    (
        Column("cell", cell_name),
        Column("adjusted", mean("estimate")),
        Column("95% interval", span("ci_low", "ci_high")),
        Column("raw", mean("raw")),
        Column("95% interval", span("raw_low", "raw_high")),
        Column("reference", lambda row: f"{row['reference']} {mean('reference_mean')(row)}"),
        Column("worth", _worth),
    ),
    _foot,
    lambda rows: rows.dropna(subset=["estimate"]),
)


def _shown(part: Part) -> Iterator[Sheet]:
    """The adjusted cells; where there is none the reasons alone."""
    yield from ADJUSTED(part)
    if part.rows["estimate"].isna().all():
        yield Sheet(_title(part), (), (), _foot(part), part.file)


@table("luck", COLUMNS, [_shown], metrics=("worth",), place=23)
def adjusted(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each cell whose luck was judged, or could not be."""
    for result in results.cells:
        kept = luck.read(results.folder, result.about)
        told: dict[str, Any] = {"cell": result.about.name, "measure": result.about.measure.name}
        told |= zip(RAW, raw(result), strict=True)
        if result.adjusted is not None:
            own = zip(ESTIMATE, estimate(result), strict=True)
            found = result.adjusted
            reference = {"reference": found.reference, "reference_mean": found.rate}
            yield {**told, **dict(own), **reference, "worth": worth(result)}
        elif kept is not None:
            yield {**told, "reason": kept.reason or "its matches are not judged yet"}


def worth(result: CellResults) -> float:
    """The squared error of the raw mean over that of the adjusted one."""
    assert result.adjusted is not None
    raw_error = clustered_mean(
        result.outcomes.column("figure"), result.outcomes.column("deal")
    ).error
    own = clustered_mean(result.adjusted.values, result.adjusted.deals).error
    error = np.hypot(own, result.adjusted.error)
    return float(raw_error**2 / error**2) if error > 0 else np.nan
