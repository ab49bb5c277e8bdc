"""What a sweep prints before it plays: the work to do, and the differences it can detect."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rich.console import Console

from gauntlet.common.errors import counted
from gauntlet.games.capabilities import win_or_score
from gauntlet.pipeline.config.read import DeclaredTest, Expect, Seed, SweepConfig
from gauntlet.pipeline.judging import luck
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.plan.baseline import Baseline
from gauntlet.pipeline.plan.cells import Plan
from gauntlet.pipeline.plan.deals import against_known
from gauntlet.pipeline.tables.sweep.claims import planned_tests
from gauntlet.stats import power
from gauntlet.stats.multiple import ALPHA

ADJUSTED = "(for raw wins; where results are luck-adjusted, mostly smaller differences show)"


def announce(
    out: Console,
    plan: Plan,
    sweep: SweepConfig,
    baselines: Mapping[str, Baseline | None],
    matches_left: int,
    played_deals: int,
) -> None:
    """Print what will be played and what it can detect.

    played_deals: the largest number of gap-free deals of any cell in the log.
    """
    matches = plan.deals * sum(len(cell.rotations) for cell in plan.cells)
    done = matches - matches_left
    there = f", {done:,} of them already in the log" if done else ""
    out.print(
        f"{plan.cells[0].experiment}: {counted(len(plan.cells), 'cell')}, "
        f"{counted(plan.deals, 'deal')} each, {counted(matches, 'match', 'es')}{there}; "
        f"{_seeds(plan.seed)}"
    )
    if played_deals > plan.deals:
        rest = "" if matches_left else ", nothing is left to play"
        out.print(
            f"{played_deals:,} deals are in the log and {plan.deals:,} were asked for{rest}; "
            f"tables use all {played_deals:,}"
        )
    tests = planned_tests([CellInfo.from_cell(cell, baselines[cell.key]) for cell in plan.cells])
    for baseline, test, adjusted in sorted(
        _tested_baselines(plan, baselines), key=lambda tested: tested[0].rate
    ):
        out.print(power_line(plan.deals, baseline, test, sweep.expect, tests))
        if adjusted:
            out.print(ADJUSTED)
    others = dict.fromkeys(cell.measure for cell in plan.cells if not win_or_score(cell.measure))
    if others:
        names = ", ".join(others)
        out.print(
            f"what {plan.deals:,} deals detect in {names} depends on the spread of its values"
        )


def announce_rounds(out: Console, plan: Plan, sweep: SweepConfig, most: int) -> None:
    """Print what an adaptive sweep settles, and how far it is. most: deals at most."""
    assert sweep.adaptive is not None
    assert plan.rounds is not None
    own, players = sweep.adaptive, {p.name for cell in plan.cells for p in cell.players}
    aims = {
        "order": "in which order they are",
        "top1": "which is the best",
        "pair": "which of the first two is better",
        "all": "which of every two is better",
    }
    out.print(
        f"{plan.cells[0].experiment}: {len(players)} players, {aims[own.verdict]}; rounds of "
        f"{counted(own.round_deals, 'deal')}, {most:,} deals at most; {_seeds(plan.seed)}"
    )
    if plan.rounds:
        out.print(f"already in the log: {counted(len(plan.rounds), 'round')}")


def _seeds(seed: Seed) -> str:
    return f"seeds {', '.join(map(str, seed))}" if isinstance(seed, tuple) else f"seed {seed}"


def _tested_baselines(
    plan: Plan, baselines: Mapping[str, Baseline | None]
) -> set[tuple[Baseline, DeclaredTest, bool]]:
    """The win-rate baselines, their tests, and whether these use luck-adjusted results."""
    cells = [(cell, baselines[cell.key]) for cell in plan.cells if win_or_score(cell.measure)]
    return {
        (known, cell.test, not luck.refusal(cell))
        for cell, known in cells
        if known and cell.test.margin < known.rate < 1
    }


def power_line(
    deals: int, baseline: Baseline, test: DeclaredTest, expect: Expect, tests: int
) -> str:
    """The power of a test against a baseline with this many deals."""
    rate, null, settings = (
        baseline.rate,
        baseline.rate - test.margin,
        (ALPHA, tests, test.side),
    )
    worth = against_known(deals, baseline)
    least = power.detectable_one_proportion(worth, null, 0.8, *settings) - test.margin
    can = f"can detect a difference of {100 * least:.1f} points"
    if test.margin and least < 0:
        can = f"can show that a loss of {-100 * least:.1f} points is within the margin"
    if math.isnan(least):
        can = "cannot detect any difference"
    sides = "two-sided" if test.side == "either" else "one-sided"
    margin = f", margin {100 * test.margin:g} points" * (test.margin > 0)
    lines = [
        f"{counted(deals, 'deal')} {can} with 80% power",
        f"(baseline {baseline.policy} {100 * rate:.2f}%{margin}, {sides} alpha {ALPHA:g}, "
        f"Holm over {counted(tests, 'test')})",
    ]
    target = expect.above(rate)
    if rate < target:
        chance = power.power_one_proportion(worth, target, null, *settings)
        points = 100 * (target - rate)
        lines[0] += f", {points:.1f} points (to {100 * target:.1f}%) with {100 * chance:.0f}%"
    return "\n".join(lines)
