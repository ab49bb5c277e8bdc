"""What a sweep says before it plays: what there is to do, and what it can show."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rich.console import Console

from games.capabilities import win_or_score
from pipeline.config.read import Expect, Seed, SweepConfig
from pipeline.plan.baseline import Baseline
from pipeline.plan.cells import Plan
from stats import power


def announce(
    out: Console,
    plan: Plan,
    sweep: SweepConfig,
    baselines: Mapping[str, Baseline | None],
    left: int,
) -> None:
    """Says what will be played and what it can show."""
    matches = plan.deals * sum(len(cell.rotations) for cell in plan.cells)
    done = matches - left
    there = f", {done:,} of them already in the log" if done else ""
    out.print(
        f"{plan.cells[0].experiment}: {len(plan.cells)} cell(s), {plan.deals:,} deals each, "
        f"{matches:,} matches{there}; {_seeds(plan.seed)}"
    )
    rates = {baselines[cell.key] for cell in plan.cells if win_or_score(cell.measure)}
    for baseline in sorted((b for b in rates if b and 0 < b.rate < 1), key=lambda b: b.rate):
        out.print(power_line(plan, baseline, sweep.expect))
    others = dict.fromkeys(cell.measure for cell in plan.cells if not win_or_score(cell.measure))
    if others:
        out.print(f"what {plan.deals:,} deals can show of {', '.join(others)} hangs on its spread")


def _seeds(seed: Seed) -> str:
    return f"seeds {', '.join(map(str, seed))}" if isinstance(seed, tuple) else f"seed {seed}"


def power_line(plan: Plan, baseline: Baseline, expect: Expect) -> str:
    """What this many deals can show against a baseline, before they are played."""
    cells = len(plan.cells)
    least = power.detectable_one_proportion(plan.deals, baseline.rate, 0.8, expect.alpha, cells)
    shown = "no difference" if math.isnan(least) else f"a difference of {100 * least:.1f} points"
    lines = [
        f"{plan.deals:,} deals can show {shown} with 80% power",
        f"(baseline {baseline.policy} {100 * baseline.rate:.2f}%, one-sided alpha "
        f"{expect.alpha:g}, Holm over {cells} cell(s))",
    ]
    target = expect.above(baseline.rate)
    if baseline.rate < target:
        chance = power.power_one_proportion(plan.deals, target, baseline.rate, expect.alpha, cells)
        points = 100 * (target - baseline.rate)
        lines[0] += f", one of {points:.1f} (to {100 * target:.1f}%) with {100 * chance:.0f}%"
    return "\n".join(lines)
