"""How many deals a sweep plays."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import ceil

from gauntlet.common.errors import UserError
from gauntlet.games.capabilities import win_or_score
from gauntlet.pipeline.config.read import MOST_PLAYED, Expect, SweepConfig
from gauntlet.pipeline.plan.baseline import Baseline
from gauntlet.pipeline.plan.cells import Cell
from gauntlet.stats import power
from gauntlet.stats.multiple import ALPHA

MOST_KNOWN = 0.9
"""Of the games that a baseline is worth, the deals that a plan may need if it had no error."""


def planned_deals(
    sweep: SweepConfig,
    cells: Collection[Cell],
    baselines: Mapping[str, Baseline | None],
    tests: int,
) -> int:
    """The number of deals over all seeds: as configured, or as the expected win rate requires,
    rounded up to a multiple of the number of seeds.

    baselines: by cell key. tests: how many tests Holm's correction covers. Raises UserError if
    `auto` has no answer.
    """
    seeds = len(sweep.seed) if isinstance(sweep.seed, tuple) else 1
    if sweep.deals != "auto":
        return sweep.deals * seeds
    for cell in cells:
        if not win_or_score(cell.measure):
            raise UserError(
                f"deals=auto plans for a win rate, and {cell.name} is judged by {cell.measure}; "
                "give a number"
            )
    with_baseline = [(cell, found) for cell in cells if (found := baselines[cell.key]) is not None]
    if not with_baseline:
        raise UserError("deals=auto needs a baseline, and there is none here; give a number")
    planned = max(_deals(sweep.expect, cell, found, tests) for cell, found in with_baseline)
    if planned > MOST_PLAYED:
        raise UserError(f"deals=auto plans {planned:,} deals, which is too many; give a number")
    return -(-planned // seeds) * seeds


def _deals(expect: Expect, cell: Cell, baseline: Baseline, tests: int) -> int:
    """The deals that give the cell's test the expected power, as one of `tests`. Raises
    UserError."""
    target, null = expect.above(baseline.rate), baseline.rate - cell.test.margin
    if target <= null:
        raise UserError(
            f"expect.win_rate={target:g} is not above what the test of {cell.name} is against, "
            f"{null:.3f}; give a higher one, or null for expect.gain above each baseline"
        )
    try:
        side = cell.test.side
        exact = power.deals_one_proportion(target, null, expect.power, ALPHA, tests, side)
    except ValueError as error:
        raise UserError(f"deals=auto cannot be planned for {cell.name}: {error}") from error
    if exact >= MOST_KNOWN * baseline.worth:
        raise UserError(
            f"deals=auto: the baseline of {cell.name} is only known as from {baseline.worth:,.0f} "
            f"games, too few to show {100 * (target - null):.2g} points; give a number of deals, "
            "or expect more"
        )
    return ceil(exact / (1 - exact / baseline.worth))


def against_known(deals: int, baseline: Baseline) -> int:
    """The deals that would show as much against a baseline without error."""
    return max(1, round(deals / (1 + deals / baseline.worth)))
