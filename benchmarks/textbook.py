"""Textbook formulas where the tables use others: coverage of 95% intervals and rejection rates.

    python -m benchmarks.textbook

Rejection rates are at .05 under the null hypothesis. Everything is computed exactly over all
results, except the two for a measure without a range: simulated, 20,000 runs each.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from scipy.special import stdtr, stdtrit
from scipy.stats import binom, multinomial, norm

from benchmarks.populations import chips
from gauntlet.stats.paired import sign_flip
from gauntlet.stats.proportions import binomial_test, wilson

RUNS, SEED = 20_000, 7

Row = tuple[str, str, str, float]
"""The formula, the case, whether it covers or rejects, and how often."""


def rows() -> Iterator[Row]:
    yield "Wilson's interval", "10 deals, its worst rate", "covers", wilsons(10)[0]
    yield "Wilson's interval", "10 deals, in the mean of rates", "covers", wilsons(10)[1]
    for n in (10, 30):
        where = f"{n} deals, each won throughout or not at all, 2%"
        yield "Student's t over deals", where, "covers", students(n, 0.02)
    yield "Student's t of two cells", "10 such deals, 10% and 2%", "covers", students_pair()
    for n, p in ((10, 0.02), (50, 0.5)):
        wins = np.arange(n + 1)
        rejected = _chance(norm.sf((wins / n - p) / np.sqrt(p * (1 - p) / n)) < 0.05, n, p)
        yield "z of one cell", f"{n} deals, {100 * p:g}%", "rejects", rejected
    exact = _chance(binomial_test(np.arange(401), 400, 0.4954) < 0.05, 400, 0.4954)
    yield "exact binomial test (as printed)", "400 deals, 49.54%", "rejects", exact
    yield "sign flips", "10 deals that win 9 in 1 of 10 and lose 1 else", "rejects", flips(10)
    for kind, where in (("all in 1 in 25", "rare pots on both sides"), ("exponential", "skewed")):
        plain, corrected = without_range(kind, 100)
        yield "Student's t", f"100 deals, {where}", "rejects", plain
        yield "Student's t, by Hall's skewness", f"100 deals, {where}", "rejects", corrected


def wilsons(n: int) -> tuple[float, float]:
    """The coverage at the worst rate from 2% to 98%, which is next to a limit, and the mean."""
    found = wilson(np.arange(n + 1), n)
    grid = np.linspace(0.02, 0.98, 97)
    edges = np.clip(np.concatenate((found.low - 1e-9, found.high + 1e-9)), 0.02, 0.98)
    each = [_chance((found.low <= p) & (p <= found.high), n, p) for p in (*grid, *edges)]
    return min(each), float(np.mean(each[: len(grid)]))


def students(n: int, p: float) -> float:
    wins = np.arange(n + 1)
    mean = wins / n
    reach = stdtrit(n - 1, 0.975) * np.sqrt(mean * (1 - mean) / (n - 1))
    return _chance(np.abs(mean - p) <= reach, n, p)


def students_pair(n: int = 10, a: float = 0.1, b: float = 0.02) -> float:
    chances, covered = (a * (1 - b), b * (1 - a), a * b + (1 - a) * (1 - b)), 0.0
    for first in range(n + 1):
        for second in range(n + 1 - first):
            mean, squares = (first - second) / n, (first + second) / n
            reach = stdtrit(n - 1, 0.975) * np.sqrt((squares - mean**2) / (n - 1))
            chance = multinomial.pmf((first, second, n - first - second), n, chances)
            covered += float(chance) * (abs(mean - (a - b)) <= reach)
    return covered


def flips(n: int) -> float:
    wins = np.arange(n + 1)
    found = [sign_flip([9.0] * k + [-1.0] * (n - k), 0.0, 0).p_value for k in wins]
    return _chance(np.array(found) < 0.05, n, 0.1)


def without_range(kind: str, n: int) -> tuple[float, float]:
    """Return the rejection rate of Student's test on the worse side, plain and corrected."""
    draw, truth = chips()[kind]
    values = draw(np.random.default_rng(SEED), (RUNS, n)) - truth
    mean, sd = values.mean(-1), values.std(-1)
    skewness = ((values - mean[:, None]) ** 3).mean(-1) / sd**3
    s = mean / sd * np.sqrt((n - 1) / n)
    cubic = s + skewness * s**2 / 3 + skewness**2 * s**3 / 27 + skewness / (6 * n)
    plain, bent = (stdtr(n - 1, np.sqrt(n) * t) for t in (s, cubic))
    worst = [max((p < 0.05).mean(), (p > 0.95).mean()) for p in (plain, bent)]
    return float(worst[0]), float(worst[1])


def _chance(hits: np.ndarray, n: int, p: float) -> float:
    return float(binom.pmf(np.arange(n + 1), n, p)[hits].sum())


def main() -> int:
    print("| formula | where | of runs | |\n|---|---|---|---|")
    for formula, where, what, value in rows():
        print(f"| {formula} | {where} | {what} | {value:.3f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
