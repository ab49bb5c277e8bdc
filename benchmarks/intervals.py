"""Coverage of the tables' intervals and rejection rates of their tests, with known truth.

    python -m benchmarks.intervals [--table worst|widths] [--runs 2000] [--json FILE]

Every family below uses the functions that the tables use, over 10 to 10,000 deals and rates from 2%
to 98%: `interval` is the share of runs whose 95% interval covers the truth, a test's number the
share of p-values below .05 under the null hypothesis. One match per deal against a known baseline
is computed exactly over all numbers of wins. Otherwise each point is simulated `--runs` times
(fewer for many deals with all values distinct); the WORST points of each column are then rerun
AGAIN times as often with new random numbers, so that the report is not the unluckiest of hundreds,
and the worst of these is printed, with three standard errors.

The permutation test is the larger of two p-values and is represented here by the one that alone
keeps its level for any two cells, the interval's; `sign flips` shows the other.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.populations import AGAIN, FAMILIES, FLIPS, INTERVAL, RUNS, Point, Rate
from benchmarks.populations import wins_of_a_deal as wins_of
from gauntlet.stats.means import limits
from gauntlet.stats.paired import clustered_mean
from gauntlet.stats.proportions import wilson

WORST = 3
COVERS, REJECTS = 0.93, 0.06
"""Minimum coverage of an interval, and maximum rejection rate of a test."""
SEED = 5


class Worst(NamedTuple):
    """The worst point of a family in a column, by its rerun."""

    family: str
    column: str
    points: int
    where: str
    rate: Rate

    @property
    def slack(self) -> float:
        """Three standard errors of the simulation."""
        rate, runs = self.rate
        return 3 * (rate * (1 - rate) / runs) ** 0.5 if runs else 0.0

    @property
    def holds(self) -> bool:
        """Whether the requirement holds, up to simulation error."""
        if self.column == INTERVAL:
            return self.rate.value >= COVERS - self.slack
        return self.rate.value <= REJECTS + self.slack or self.column == FLIPS


def measured(families: Sequence[Callable[[], Iterator[Point]]], runs: int) -> list[Worst]:
    """Return the worst point of every column of every family."""
    rng = np.random.default_rng(SEED)
    columns: dict[tuple[str, str], list[tuple[float, Point]]] = {}
    for point in (point for family in families for point in family()):
        for column, rate in point.run(rng, runs).items():
            badness = -rate.value if column == INTERVAL else rate.value
            columns.setdefault((point.family, column), []).append((badness, point))
    found = []
    for (family, column), points in columns.items():
        suspects = sorted(points, key=lambda pair: -pair[0])[:WORST]
        again = [(point.run(rng, AGAIN * runs)[column], point.where) for _, point in suspects]
        rate, where = (min if column == INTERVAL else max)(again)
        found.append(Worst(family, column, len(points), where, rate))
    return found


def table(cases: Sequence[Worst]) -> str:
    """Format the results in Markdown."""
    lines = ["| family | column | points | the worst | there | runs |", "|---|---|---|---|---|---|"]
    for worst in cases:
        error = f" +- {worst.slack:.3f}" if worst.rate.runs else ""
        runs = f"{worst.rate.runs:,}" if worst.rate.runs else "counted out"
        lines.append(
            f"| {worst.family} | {worst.column} | {worst.points:,} | "
            f"{worst.rate.value:.3f}{error} | {worst.where} | {runs} |"
        )
    return "\n".join(lines)


def widths() -> str:
    """Return a Markdown table of interval widths relative to large-sample ones: Wilson's for one
    match per deal, Student's t over deals for several; medians of 100 runs."""
    rng = np.random.default_rng(SEED)
    lines = ["| deals | rate | one match | two, independent | four, independent | four, alike |"]
    lines += ["|---|---|---|---|---|---|"]
    for n in (200, 400, 1000, 10_000):
        for p in (0.2, 0.5, 0.8):
            wins = rng.binomial(n, p, 100)
            low, high = limits((0.0, 1.0), (0.0, 1.0), counts=np.stack((n - wins, wins), -1))
            score = wilson(wins, n)
            found = [float(np.median((high - low) / (score.high - score.low)))]
            for kind, m in (("independent", 2), ("independent", 4), ("alike", 4)):
                found.append(_wider(rng, wins_of(kind, m, p), n))
            cells = " | ".join(f"{ratio:.3f}" for ratio in found)
            lines.append(f"| {n:,} | {p} | {cells} |")
    return "\n".join(lines)


def _wider(rng: np.random.Generator, chances: np.ndarray, n: int) -> float:
    ratios = []
    for told in rng.multinomial(n, chances, 100):
        values = np.repeat(np.linspace(0.0, 1.0, len(chances)), told)
        low, high = limits(values, (0.0, 1.0))
        mean = clustered_mean(values, np.arange(n))
        ratios.append((high - low) / (mean.high - mean.low))
    return float(np.median(ratios))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--table", choices=("worst", "widths"), default="worst")
    args = parser.parse_args()
    if args.table == "widths":
        print(widths())
        return 0
    found = measured(FAMILIES, args.runs)
    print(table(found))
    if args.json:
        args.json.write_text(json.dumps([worst._asdict() for worst in found], indent=2) + "\n")
    return int(not all(worst.holds for worst in found))


if __name__ == "__main__":
    sys.exit(main())
