"""The sheet of luck-adjusted results: what each is worth, and why there is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.pipeline.judging import luck
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables.scale import WIN_RATE, Scale, heading, scales_of
from gauntlet.pipeline.tables.table import Sheet, listed, short_names
from gauntlet.stats.paired import clustered_mean

HEADINGS = ("cell", "adjusted", "95% interval", "raw", "95% interval", "reference", "worth")
FOOT = (
    "adjusted: the reference's {mean} plus what the subject's decisions were worth over the\n"
    "reference's, by playouts. worth: as many plain games would be needed for one of these."
)
HABITS = (
    "habits: as the subject itself plays, learnt of its earlier deals. Beside it the mean of all\n"
    "that its deals were judged against."
)


def sheets(folder: Path, summary: pd.DataFrame, results: Sequence[CellResults]) -> Iterator[Sheet]:
    """One sheet, or none where there is nothing to show and nothing was refused."""
    rows, reasons = [], dict[str, list[str]]()
    shown = zip(short_names(summary), summary.iterrows(), results, strict=True)
    for name, (_, row), result in shown:
        kept = luck.read(folder, result.about)
        if result.adjusted is not None:
            rows.append(_shown(name, row, result))
        elif kept is not None:
            reasons.setdefault(kept.reason or "its matches are not judged yet", []).append(name)
    foot = [f"{listed(names)}: not adjusted, as {reason}." for reason, names in reasons.items()]
    if rows or foot:
        mean = heading(scales_of(summary))
        learnt = any(one.adjusted and one.adjusted.reference == luck.LEARNT for one in results)
        foot = [FOOT.format(mean=mean), *[HABITS] * learnt, *foot] if rows else foot
        yield Sheet(
            f"luck-adjusted {'win rates' if mean == WIN_RATE else mean}",
            HEADINGS if rows else (),
            rows,
            "\n".join(foot),
            "summary.csv",
        )


def _shown(name: str, row: pd.Series[Any], result: CellResults) -> tuple[str, ...]:
    assert result.adjusted is not None
    scale, found = Scale.row(row), result.adjusted
    return (
        name,
        scale.mean(row["adjusted"]),
        scale.span(row["adj_low"], row["adj_high"]),
        scale.mean(row["mean"]),
        scale.span(row["mean_low"], row["mean_high"]),
        f"{found.reference} {scale.mean(found.rate)}",
        worth(result),
    )


def worth(result: CellResults) -> str:
    """The squared error of the raw mean over that of the adjusted one."""
    assert result.adjusted is not None
    raw = clustered_mean(result.outcomes.column("figure"), result.outcomes.column("deal")).error
    own = clustered_mean(result.adjusted.values, result.adjusted.deals).error
    error = np.hypot(own, result.adjusted.error)
    return f"{raw**2 / error**2:.1f}" if error > 0 else "-"
