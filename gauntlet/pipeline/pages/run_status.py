"""The state of a run, as text and numbers for its pages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gauntlet.common.errors import UserError, counted
from gauntlet.common.terminal import short
from gauntlet.pipeline.judging import luck
from gauntlet.pipeline.library import SUMMARY, Shelf
from gauntlet.pipeline.log.folder import damaged_lines_warning
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.status import Row, headline, pace
from gauntlet.pipeline.tables.formatting import Scale, row_scales
from gauntlet.pipeline.tables.media.run_metadata import title
from gauntlet.pipeline.tables.registry import LABELS, read_table, short_names
from gauntlet.pipeline.tables.sweep.figures import band, running
from gauntlet.pipeline.tables.sweep.primary_test import estimate, leading, read_estimate
from gauntlet.pipeline.tables.sweep.terminal import warnings
from gauntlet.pipeline.tables.sweep.verdict import saved_verdict

LIVE = ("loading", "playing", "judging")
"""States of a run that is not over."""
ADJUSTED = "luck-adjusted "
POINTS = 60
"""Points of a curve."""


@dataclass(frozen=True)
class Estimate:
    """The best estimate of a cell's mean over its gap-free deals with its 95% interval.

    All values are NaN without deals.

    adjusted: whether it is luck-adjusted, which happens when a run ends.
    curve: numbers of deals, and the raw mean of the first that many with its limits: (4, points).
    """

    key: str
    name: str
    scale: Scale
    deals: int
    mean: float
    low: float
    high: float
    baseline: float
    adjusted: bool = False
    curve: np.ndarray | None = None

    @property
    def text(self) -> str:
        if np.isnan(self.mean):
            return "no deal is complete yet"
        return (
            f"{ADJUSTED * self.adjusted}{self.scale.mean(self.mean, with_title=True)} ({self.span})"
        )

    @property
    def span(self) -> str:
        return self.scale.span(self.low, self.high)


@dataclass(frozen=True)
class RunStatus:
    """The overview of a run.

    state: one word.
    share: of its matches that are done, 0 to 1; None if unknown.
    headline, pace: one line each.
    warnings: lines that must not be missed.
    title: what is played, in words. verdict: what was found, once a run is over.
    """

    name: str
    state: str
    headline: str
    pace: str
    share: float | None
    estimates: tuple[Estimate, ...]
    warnings: tuple[str, ...]
    title: str = ""
    verdict: tuple[str, ...] = ()

    @property
    def live(self) -> bool:
        return self.state in LIVE


def state_of(shelf: Shelf) -> str:
    """The state of a run in one word."""
    if shelf.simulated:
        return "simulated"
    if shelf.fault:
        return "damaged"
    if shelf.gone:
        return "gone"
    if shelf.folder.import_file.exists():
        return "importing"
    return str(shelf.run.get("state", "imported"))  # a packed log has no status


def status_of_run(name: str, shelf: Shelf) -> RunStatus:
    """The state from what was read of the folder so far."""
    messages = [shelf.fault] if shelf.fault else []
    if shelf.left_out:
        messages.append(damaged_lines_warning(shelf.left_out, shelf.folder.path))
    live = shelf.run.get("state") in LIVE
    return RunStatus(
        name=name,
        state=state_of(shelf),
        headline=headline(shelf).partition(": ")[2],
        pace=f"{pace(shelf)}   {_cost(*_spent(shelf))}",
        share=share_done(shelf),
        estimates=tuple(estimates(shelf)) if not shelf.fault else (),
        warnings=tuple(messages),
        title=_title(shelf),
        verdict=tuple(shelf.run.get("found", ())) if live else _verdict(shelf),
    )


def glance(name: str, shelf: Shelf) -> RunStatus:
    """The state without reading the log, if that has not been read yet."""
    shelf.glance()
    over = shelf.run.get("state", "finished") == "finished" and not shelf.rows  # imported: none
    if shelf.simulated or over:
        try:
            return finished(name, shelf)
        except (OSError, ValueError, KeyError):
            pass  # fall back to the log
    return status_of_run(name, shelf)


def finished(name: str, shelf: Shelf) -> RunStatus:
    """The state of a finished run, from its tables alone. Raises OSError or ValueError if they
    cannot be read."""
    summary = read_table(shelf.folder.path / SUMMARY)
    labels = short_names(summary)
    rows = [
        Estimate(
            key=label,
            name=label,
            scale=scale,
            deals=int(row["deals"]),
            mean=mean,
            low=low,
            high=high,
            baseline=row["baseline"],
            adjusted=row["estimator"] == "adjusted",
        )
        for label, scale, (_, row) in zip(
            labels, row_scales(summary), summary.iterrows(), strict=True
        )
        for mean, low, high in [read_estimate(row)]
    ]
    matches, failed = int(summary["matches"].sum()), int(summary["failed"].sum())
    done = (
        f"{counted(len(summary), 'cell')}   {matches:,} matches in the tables   {failed:,} failed"
    )
    if not shelf.simulated:
        costs = read_table(shelf.folder.path / "costs.csv")
        done += f"   {_cost(*costs[['all_tokens', 'device_seconds']].sum())}"
    summary["warning"] = summary["warning"].astype(object).fillna("")
    messages = tuple(warnings(summary))
    message = headline(shelf).partition(": ")[2]
    if shelf.simulated:
        message = "counted by compiled games; no match of them was kept"
    return RunStatus(
        *(name, state_of(shelf), message, done, 1.0, tuple(rows), messages),
        title=title(summary[[*LABELS]].to_dict("records")),
        verdict=_verdict(shelf),
    )


def _title(shelf: Shelf) -> str:
    try:
        return title([about.labels for about in shelf.folder.sweep_cells()])
    except UserError:  # the state says what is wrong
        return ""


def _verdict(shelf: Shelf) -> tuple[str, ...]:
    try:
        return saved_verdict(shelf.folder.path)
    except UserError:  # its figures and the log are still shown
        return ()


def _spent(shelf: Shelf) -> tuple[float, float]:
    running = [row.running for row in shelf.rows]
    return sum(one.tokens for one in running), sum(one.device_seconds for one in running)


def _cost(tokens: float, device_seconds: float) -> str:
    return f"{short(tokens)} tokens   {device_seconds:,.0f} device s"


def share_done(shelf: Shelf) -> float | None:
    """The finished share of the planned matches, 0 to 1; None if no run has reported a plan."""
    if shelf.left is None:
        return None
    ended = shelf.done + sum(row.failed for row in shelf.rows)
    return ended / max(1, ended + shelf.left)


def estimates(shelf: Shelf, curves: bool = False) -> list[Estimate]:
    """Every cell's mean so far, as the tables would have it. curves: include running means."""
    try:
        cell_results = shelf.results()
        if shelf.run.get("state") not in LIVE:
            cell_results = luck.with_adjustment(shelf.folder.path, cell_results)
        results = {result.about.key: result for result in cell_results}
    except UserError:
        return []
    rows = [row for row in shelf.rows if row.key in results]
    return [_estimate(row, results[row.key], curves) for row in rows]


def _estimate(row: Row, result: CellResults, curves: bool) -> Estimate:
    about, (mean, low, high) = result.about, estimate(result)
    deals = len(result.by_deal()[0])
    return Estimate(
        key=about.key,
        name=row.name,
        scale=row.scale,
        deals=deals,
        mean=mean,
        low=low,
        high=high,
        baseline=about.baseline.rate if about.baseline else np.nan,
        adjusted=leading(result) is not None,
        curve=_curve(result) if curves and deals else None,
    )


def _curve(result: CellResults) -> np.ndarray:
    deals, means = running(result.by_deal()[1], POINTS)
    return np.stack([deals, means, *band(result, deals, means)])
