"""How often the intervals of the tables cover and their tests reject, where the truth is known.

    python -m benchmarks.intervals [--table worst|widths] [--runs 2000] [--json FILE]

Every family below goes through the functions that the tables call, over 10 to 10,000 deals and
rates from 2% to 98%: `interval` is the share of runs whose 95% interval covers the truth, a
test's figure the share of p-values below .05 where there is nothing to find. One match a deal
against a known baseline is counted out over all numbers of wins. Of all else each point is
simulated `--runs` times (fewer where there are many deals and no two alike); the WORST points of
each column are then run AGAIN times as often with fresh numbers, so that what is reported is not
the unluckiest of hundreds, and the worst of these is printed, with three standard errors.

The permutation test is the larger of two p-values and stands here by the one that alone keeps its
level for any two cells, the interval's own; `sign flips` shows the other.
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
"""What an interval must cover at the least, and a test may reject at the most."""
SEED = 5


class Worst(NamedTuple):
    """The worst of the points that a family has in a column, as its last runs have it."""

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
        """Whether the promise holds, or the simulation does not show that it does not."""
        if self.column == INTERVAL:
            return self.rate.value >= COVERS - self.slack
        return self.rate.value <= REJECTS + self.slack or self.column == FLIPS


def measured(families: Sequence[Callable[[], Iterator[Point]]], runs: int) -> list[Worst]:
    """The worst point of every column of every family."""
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
    """In Markdown."""
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
    """How wide the intervals are in parts of those that large samples would do with, in Markdown:
    one match a deal beside Wilson's, several beside Student's t over deals; medians of 100 runs."""
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
