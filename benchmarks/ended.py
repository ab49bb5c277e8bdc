"""How often the intervals and tests of outcomes.csv and standings.csv, and permutation tests of
chips and scores, keep what they say, where the truth is known.

    python -m benchmarks.ended [--runs 500] [--json FILE]

As `benchmarks.intervals`, whose table this one is made like: of each family the worst of its
points, run again with fresh numbers. Wilson's interval of shares and the sign test are counted
out. `even` are populations that lie evenly around what they are held against, as the results of two
equal players over both seats of a deal do; `uneven` ones have that mean and do not.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from scipy.stats import binom

from benchmarks.intervals import measured, table
from benchmarks.populations import (
    BOUNDLESS,
    INTERVAL,
    SHARE,
    Draw,
    Point,
    Rate,
    Rates,
    Rng,
    batches,
    scores,
    share,
)
from stats.means import LEAST, limits
from stats.paired import permutation
from stats.proportions import sign_test, wilson

DEALS = (10, 20, 30, 50, 100, 1000)
SIGN, FLIPPED = "p_sign", "p_permutation"
RUNS, MOST = 500, 2_000
"""Runs of a point, and of one that is run again."""
RESAMPLES = 999
PLAYERS = 4


def shares() -> Iterator[Point]:
    """Wilson's interval of one share: every number of wins (or draws, or losses), at rates on a
    grid and on both sides of every limit; and in the mean of the grid."""
    for n in DEALS:
        found = wilson(np.arange(n + 1), n)
        grid = np.linspace(0.02, 0.98, 97)
        edges = np.concatenate((found.low - 1e-9, found.high + 1e-9))
        rates = np.unique(np.clip((*grid, *edges), 0.02, 0.98))
        covered = {p: _covered(found.low, found.high, n, p) for p in rates}
        for p, rate in covered.items():
            yield _told("a share, Wilson's", f"{n:,} deals, {p:.3f}", INTERVAL, rate)
        mean = float(np.mean([covered[p] for p in grid]))
        yield _told("a share, Wilson's, in the mean of rates", f"{n:,} deals", INTERVAL, mean)


def _covered(low: np.ndarray, high: np.ndarray, n: int, p: float) -> float:
    return float(binom.pmf(np.arange(n + 1), n, p)[(low <= p) & (p <= high)].sum())


def _told(family: str, where: str, column: str, rate: float) -> Point:
    def run(_: Rng, __: int) -> Rates:
        return {column: Rate(rate, 0)}

    return Point(family, where, run)


def signs() -> Iterator[Point]:
    """Two equal players, by how often they draw."""
    for n, drawn in product(DEALS, (0.0, 0.1, 0.3, 0.6, 0.9)):
        rejected = 0.0
        for decisive in range(n + 1):
            ahead = np.arange(decisive + 1)
            wrong = sign_test(ahead, decisive - ahead) < 0.05
            size = float(binom.pmf(ahead, decisive, 0.5)[wrong].sum())
            rejected += float(binom.pmf(decisive, n, 1 - drawn)) * size
        yield _told("decisive matches", f"{n:,} deals, {drawn:.0%} drawn", SIGN, rejected)


def even() -> Mapping[str, Draw]:
    """Chips of two equal players over both seats of a deal: around 0."""

    def all_in(rng: Rng, size: tuple[int, int]) -> np.ndarray:
        small = rng.normal(0, 3, size)
        return np.where(rng.random(size) < 0.04, rng.choice((-200.0, 200.0), size), small)

    return {
        "normal": lambda rng, size: rng.normal(size=size),
        "t(3)": lambda rng, size: rng.standard_t(3, size),
        "all in 1 in 25": all_in,
        "-1, 0, 1": lambda rng, size: rng.integers(-1, 2, size).astype(float),
    }


def uneven() -> Mapping[str, Draw]:
    """Of mean 0, and not evenly around it."""
    return {
        "exponential": lambda rng, size: rng.exponential(size=size) - 1.0,
        "lognormal(.5)": lambda rng, size: rng.lognormal(0, 0.5, size) - np.exp(0.125),
        "a +5 in 20": lambda rng, size: (
            5.0 * ((rng.random(size) < 0.05) - 0.05) + rng.normal(size=size)
        ),
        "9 or -1": lambda rng, size: 10.0 * (rng.random(size) < 0.1) - 1.0,
    }


def chips() -> Iterator[Point]:
    for name, draws in (("even", even()), ("uneven", uneven())):
        for n, (kind, draw) in product(DEALS, draws.items()):
            some = f"{LEAST} deals and more" if n >= LEAST else f"fewer than {LEAST} deals"
            run = partial(_flipped, draw, BOUNDLESS, 0.0, n)
            yield Point(f"chips, {name}, {some}", f"{n:,} deals, {kind}", run)


def bounded() -> Iterator[Point]:
    for n, (kind, (draw, mean)) in product(DEALS, scores().items()):
        run = partial(_flipped, draw, (-mean, 1.0 - mean), mean, n)
        yield Point("a score from 0 to 1", f"{n:,} deals, {kind}", run)


def _flipped(
    draw: Draw, span: tuple[float, float], mean: float, n: int, rng: Rng, runs: int
) -> Rates:
    found = []
    for size in batches(min(runs, MOST), n):
        for row in draw(rng, (size, n)) - mean:
            found.append(permutation(row, span, 0, resamples=RESAMPLES)[0])
    return {FLIPPED: share(np.array(found) < 0.05)}


def robins() -> Iterator[Point]:
    """A player over three opponents, both seats of a deal each: its wins with all of them hang on
    the deal in part."""
    for n, p, tied in product(DEALS, (0.05, 0.3, 0.5, 0.9), (0.0, 0.5, 1.0)):
        where = f"{n:,} deals, {p}, tied by {tied}"
        run = partial(_standing, p, tied, n)
        yield Point(f"mean over {PLAYERS - 1} opponents", where, run)


def _standing(p: float, tied: float, n: int, rng: Rng, runs: int) -> Rates:
    matches, covered = 2 * (PLAYERS - 1), []
    for size in batches(min(runs, MOST), n * matches):
        common = rng.random((size, n, 1)) < p
        own = rng.random((size, n, matches)) < p
        wins = np.where(rng.random((size, n, matches)) < tied, common, own).sum(-1)
        counts = np.stack([(wins == k).sum(-1) for k in range(matches + 1)], -1)
        low, high = limits(np.arange(matches + 1) / matches, SHARE, counts=counts)
        covered.append((low <= p) & (p <= high))
    return {INTERVAL: share(np.concatenate(covered))}


FAMILIES: tuple[Callable[[], Iterator[Point]], ...] = (shares, signs, chips, bounded, robins)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found = measured(FAMILIES, args.runs)
    print(table(found))
    if args.json:
        args.json.write_text(json.dumps([worst._asdict() for worst in found], indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
