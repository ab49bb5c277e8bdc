"""The luck-adjusted win rates of `pipeline/judging/luck.py` in the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from pipeline.judging.luck import Luck, adjusted, read
from pipeline.log.results import CellResults
from pipeline.tables.numbers import percent
from pipeline.tables.summary import ADJUSTED
from pipeline.tables.table import Sheet, short_names
from stats.paired import ClusteredMean, clustered_mean


def into(
    summary: pd.DataFrame, folder: Path, results: Sequence[CellResults]
) -> tuple[pd.DataFrame, list[Sheet]]:
    """The summary with its adjusted columns filled, and the sheet that shows them."""
    summary = summary.copy()
    reasons: dict[str, list[str]] = {}
    rows = []
    for at, (name, result) in enumerate(zip(short_names(summary), results, strict=True)):
        luck = read(folder, result.about)
        if luck is None:
            continue
        found = adjusted(result, luck)
        if luck.reason or found is None:
            reasons.setdefault(luck.reason or "its matches are not judged yet", []).append(name)
            continue
        summary.loc[summary.index[at], list(ADJUSTED)] = found.estimate, found.low, found.high
        rows.append(shown(name, result, luck, found))
    return summary, sheets(rows, reasons)


def shown(name: str, result: CellResults, luck: Luck, found: ClusteredMean) -> tuple[str, ...]:
    won = [float(outcome.won) for outcome in result.outcomes]
    raw = clustered_mean(won, [outcome.deal for outcome in result.outcomes])
    base = result.about.baseline
    assert base is not None
    return (
        name,
        percent(found.estimate),
        span(found),
        percent(raw.estimate),
        span(raw),
        percent(base.rate),
        f"{raw.error**2 / found.error**2:.1f}" if found.error > 0 else "-",
    )


def span(mean: ClusteredMean) -> str:
    return f"{percent(mean.low)[:-1]}-{percent(mean.high)}"


HEADINGS = ("cell", "adjusted", "95% interval", "raw", "95% interval", "reference", "worth")


def sheets(rows: Sequence[tuple[str, ...]], reasons: Mapping[str, Sequence[str]]) -> list[Sheet]:
    """One sheet, or none where there is nothing to show and nothing was refused."""
    if not rows and not reasons:
        return []
    foot = [f"{', '.join(names)}: not adjusted, as {reason}." for reason, names in reasons.items()]
    if rows:
        foot.insert(
            0,
            "adjusted: the reference's win rate plus what the subject's decisions were worth over "
            "the\nreference's, by playouts. worth: as many plain games would be needed for one of "
            "these.",
        )
    return [Sheet("luck-adjusted win rates", HEADINGS if rows else (), rows, "\n".join(foot))]
