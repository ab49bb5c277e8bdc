"""Early stopping of a cell, based on its gap-free deals.

`stop=sprt` tests raw wins or scores: above the baseline, or below what `expect` asks for. The error
rate ALPHA is split evenly between the cells. `stop=precision` continues until the
confidence sequence of the luck-adjusted win rate (raw if it cannot be adjusted) is no wider than +-
`expect.half_width`; for other measures, which must be bounded, as a fraction of the range. The
stopping point depends only on the deals in order: matches in progress at that point stay in the log
but are left out of the tables, and a rerun stops at the same deal. The verdicts are stored in
<output_dir>/stop.json.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np

from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import UserError
from gauntlet.games.capabilities import win_or_score
from gauntlet.pipeline.config.read import Seed, SweepConfig
from gauntlet.pipeline.judging import luck
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.metadata_files import to_bytes
from gauntlet.pipeline.log.records import Log
from gauntlet.pipeline.log.results import CellInfo, CellResults, collect
from gauntlet.pipeline.plan.cells import Cell, Plan
from gauntlet.stats.multiple import ALPHA
from gauntlet.stats.sequential import Stop, precision, sprt

SOON = 10
"""Finished matches between two checks at first; later a twentieth of those played."""


def check(sweep: SweepConfig, abouts: Sequence[CellInfo]) -> None:
    """Raises UserError if the rule does not apply to a cell."""
    for about in abouts:
        if sweep.stop == "sprt":
            _check_sprt(sweep, about)
        elif sweep.stop == "precision" and not np.isfinite(_span(about)):
            raise UserError(
                f"stop=precision needs a measure with a range, and {about.measure.name} of "
                f"{about.name} has none"
            )


def _check_sprt(sweep: SweepConfig, about: CellInfo) -> None:
    if not win_or_score(about.measure.name):
        name = about.measure.name
        raise UserError(f"stop=sprt tests wins, and {about.name} is judged by {name}")
    if about.baseline is None:
        raise UserError(f"stop=sprt tests against a baseline, and {about.name} has none")
    if about.rotations > 1:
        raise UserError(
            "stop=sprt takes one match a deal; use stop=precision with rotate=true or samples"
        )
    if about.measured > 1:
        raise UserError(
            f"stop=sprt takes one win or loss a match, and {about.name} measures {about.measured} "
            "players; use stop=precision"
        )
    target = sweep.expect.above(about.baseline.rate)
    if about.baseline.rate >= target:
        raise UserError(
            f"stop=sprt needs expect.win_rate above the baseline of {about.name}, "
            f"{about.baseline.rate:.3f}, got {target:g}"
        )


def _span(about: CellInfo) -> float:
    return about.measure.high - about.measure.low


def decide(
    folder: Path, cell: Cell, result: CellResults, sweep: SweepConfig, cells: int
) -> Stop | None:
    """Where the rule stops the cell, as a number of deals from the first; None if it does not."""
    deals, figures = result.by_deal()
    if sweep.stop == "sprt":
        assert result.about.baseline is not None
        expect, rate = sweep.expect, result.about.baseline.rate
        target = expect.above(rate)
        stop = sprt(figures.tolist(), rate, target, ALPHA / cells, 1 - expect.power)
    elif sweep.stop == "precision":
        values, null = deal_values(folder, cell, result, sweep.seed)
        stop = precision(values, null, sweep.expect.half_width, ALPHA)
    else:
        return None
    return stop and replace(stop, deals=int(deals[stop.deals - 1]) + 1)


def deal_values(
    folder: Path, cell: Cell, result: CellResults, seed: Seed
) -> tuple[list[float], float]:
    """Each deal's luck-adjusted or raw figure, in order, and the baseline's (infinity if none).
    Both are rescaled to the measure's range; a win rate is unchanged."""
    base, low, span = result.about.baseline, result.about.measure.low, _span(result.about)
    null = (base.rate - low) / span if base else np.inf
    luck.adjust(folder, [cell], [result], seed)
    adjusted = luck.adjusted(folder, result)
    values = result.by_deal()[1] if adjusted is None else adjusted.values
    return ((values - low) / span).tolist(), null


@dataclass
class StopRule:
    """Checks the cells of a sweep while they are played."""

    sweep: SweepConfig
    plan: Plan
    abouts: Sequence[CellInfo]
    log: Log
    stopped: set[str] = field(default_factory=set)
    _ended: Counter[str] = field(default_factory=Counter)
    _next: dict[str, int] = field(default_factory=dict)

    def note(self, key: str) -> None:
        """Count a finished or failed match of the cell, and check the rule when it is due."""
        self._ended[key] += 1
        if self.sweep.stop == "fixed" or key in self.stopped:
            return
        if self._ended[key] >= self._next.setdefault(key, SOON):
            self._next[key] = self._ended[key] + max(SOON, self._ended[key] // 20)
            self.check(key)

    def check(self, key: str) -> None:
        """Stop the cell if its rule says so."""
        if self.sweep.stop == "fixed":
            return
        at = next(at for at, cell in enumerate(self.plan.cells) if cell.key == key)
        self.log.sync()
        aside = Folder(self.log.folder).failed_matches
        (result,) = collect([self.abouts[at]], self.log.outcomes, aside)
        cells = len(self.plan.cells)
        if decide(self.log.folder, self.plan.cells[at], result, self.sweep, cells):
            self.stopped.add(key)


def settle(
    folder: Path, cells: Sequence[Cell], results: Sequence[CellResults], sweep: SweepConfig
) -> list[CellResults]:
    """Write where every cell stopped to stop.json, and cut the results there."""
    path = Folder(folder).stop_file
    if sweep.stop == "fixed":
        path.unlink(missing_ok=True)
        return list(results)
    stops = {
        cell.key: decide(folder, cell, result, sweep, len(cells))
        for cell, result in zip(cells, results, strict=True)
    }
    cell_stops = {key: stop and asdict(stop) for key, stop in stops.items()}
    if sweep.stop == "sprt":
        for result in results:
            if (entry := cell_stops[result.about.key]) and result.about.baseline:
                entry["target"] = sweep.expect.above(result.about.baseline.rate)
    about = {"rule": sweep.stop, "alpha": ALPHA, **asdict(sweep.expect)}
    write_atomically(path, to_bytes({**about, "cells": cell_stops}))
    return cut_at_stop(folder, results)


def cut_at_stop(folder: Path, results: Sequence[CellResults]) -> list[CellResults]:
    """The results without the deals after a cell's stop, marked if there is a stopping rule."""
    rule, cut = Folder(folder).stop, []
    for result in results:
        result = replace(result, stopped=bool(rule))
        stop = rule.get("cells", {}).get(result.about.key)
        if stop is not None and (deals := stop["deals"]) < result.complete_deals:
            outcomes = result.outcomes.first(deals)
            failed = deals * result.about.rotations - len(outcomes)
            result = replace(
                result, outcomes=outcomes, complete_deals=deals, failed=failed, waiting=0
            )
        cut.append(result)
    return cut
