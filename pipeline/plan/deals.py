"""How many deals a sweep plays."""

from __future__ import annotations

from collections.abc import Mapping

from common.errors import UserError
from pipeline.config.read import SweepConfig
from pipeline.plan.baseline import Baseline
from stats import power


def planned_deals(sweep: SweepConfig, baselines: Mapping[str, Baseline | None]) -> int:
    """The number of deals asked for, or the one that the expected win rate calls for."""
    if sweep.deals != "auto":
        return sweep.deals
    known = [baseline for baseline in baselines.values() if baseline is not None]
    if not known:
        raise UserError("deals=auto needs a baseline, and there is none here; give a number")
    expect = sweep.expect
    try:
        return max(
            power.deals_one_proportion(
                expect.win_rate, baseline.rate, expect.power, expect.alpha, len(baselines)
            )
            for baseline in known
        )
    except ValueError as error:
        raise UserError(f"deals=auto cannot be planned from `expect`: {error}") from error
