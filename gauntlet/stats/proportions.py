"""Win rates of one cell: intervals, and tests against a baseline.

Every function takes counts of any shapes that broadcast and returns arrays of that shape (numpy
scalars for scalars). A game is one independent trial here: where several matches share a deal, use
`stats.means`. Undefined results are nan, never a warning.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtrc, betaincinv

from gauntlet.stats import checks
from gauntlet.stats.checks import Floats, Side


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimated proportion with its confidence limits, all in [0, 1]; nan without games."""

    estimate: Floats
    low: Floats
    high: Floats


def wilson(wins: ArrayLike, games: ArrayLike, level: float = 0.95) -> Interval:
    """Wilson's score interval for a proportion, without continuity correction.

    Source: E. B. Wilson (1927), J. Am. Stat. Assoc. 22, 209-212; method 3 of R. G. Newcombe (1998),
    Statistics in Medicine 17, 857-872. The lower limit with no wins is exactly 0, the upper limit
    with only wins exactly 1, and no games give nan throughout. Raises ValueError for counts that
    are not integers with 0 <= wins <= games, and for a level outside (0, 1).
    """
    from statsmodels.stats.proportion import proportion_confint

    k, n = checks.counts(wins, games)
    alpha = 1.0 - checks.inside(level, "level")
    low, high = proportion_confint(k, np.where(n > 0, n, 1.0), alpha=alpha, method="wilson")
    low = np.where(k == 0, 0.0, low)
    high = np.where(k == n, 1.0, high)
    return Interval(_ratio(k, n), _where_defined(n > 0, low), _where_defined(n > 0, high))


def clopper_pearson(wins: ArrayLike, games: ArrayLike, level: float = 0.95) -> Interval:
    """Clopper and Pearson's exact interval: its coverage is at least nominal.

    Source: C. J. Clopper and E. S. Pearson (1934), Biometrika 26, 404-413. The lower limit with no
    wins is exactly 0, the upper limit with only wins exactly 1, and no games give nan. Raises
    ValueError as `wilson` does.
    """
    k, n = checks.counts(wins, games)
    tail = (1.0 - checks.inside(level, "level")) / 2.0
    at_zero, all_ = k == 0, k == n
    low = betaincinv(np.where(at_zero, 1.0, k), n - k + 1.0, tail)
    high = betaincinv(k + 1.0, np.where(all_, 1.0, n - k), 1.0 - tail)
    low, high = np.where(at_zero, 0.0, low), np.where(all_, 1.0, high)
    return Interval(_ratio(k, n), _where_defined(n > 0, low), _where_defined(n > 0, high))


def binomial_test(wins: ArrayLike, games: ArrayLike, baseline: ArrayLike) -> Floats:
    """Return the probability of at least this many wins at the known baseline win rate: the exact
    binomial test, upper side (C. J. Clopper and E. S. Pearson (1934), Biometrika 26, 404-413).

    It never rejects more often than its level. nan without games or baseline, and where a
    baseline of 0 or 1 is met exactly. Raises ValueError for impossible counts or a baseline outside
    [0, 1].
    """
    k, n = checks.counts(wins, games)
    p0, rate = checks.probabilities(baseline, "baseline"), _ratio(k, n)
    p = np.where(k > 0, bdtrc(np.maximum(k - 1, 0), n.astype(int), p0), 1)
    return _where_defined(~np.isnan(rate - p0) & ((p0 * (1.0 - p0) > 0) | (rate != p0)), p)


def fisher_test(
    wins: ArrayLike, games: ArrayLike, baseline_wins: ArrayLike, baseline_games: ArrayLike
) -> Floats:
    """Return the probability of at least this many of all wins on this side if both sides win
    alike: R. A. Fisher's exact test, upper side (1935, J. Royal Statistical Society 98, 39-82).

    It never rejects more often than its level. nan without games on either side, and where both
    won all or none. Raises ValueError for impossible counts.
    """
    k, n = checks.counts(wins, games)
    k0, n0 = checks.counts(baseline_wins, baseline_games, "baseline wins")
    testable = (n > 0) & (n0 > 0) & (k + k0 > 0) & (k + k0 < n + n0)
    if not testable.any():  # importing scipy.stats takes half a second
        return _where_defined(testable, testable)
    from scipy.stats import hypergeom

    shape = (np.where(testable, side, 1) for side in (n + n0, k + k0, n))
    return _where_defined(testable, hypergeom.sf(np.where(testable, k, 1) - 1, *shape))


def sign_test(ahead: ArrayLike, behind: ArrayLike, side: Side = "either") -> Floats:
    """The exact sign test: each of `ahead` + `behind` units (games or deals without draws) is
    equally likely to be ahead or behind, if neither side is better. "above" is the probability of
    at least this many ahead, "below" of at most this many, "either" twice the smaller of both, at
    most 1.

    J. Arbuthnott (1710); W. J. Conover, Practical Nonparametric Statistics (3rd edition), section
    3.4. Ties carry no information and are left out (J. Hemelrijk (1952), Indagationes Mathematicae
    14, 322-326). Without units p is 1. Raises ValueError for counts that are not non-negative
    integers and for another side.
    """
    k, n = checks.counts(ahead, np.add(ahead, behind), "units ahead")
    checks.side(side)
    above = np.where(k > 0, bdtrc(np.maximum(k - 1, 0), n.astype(int), 0.5), 1.0)
    below = np.where(k < n, bdtrc(np.maximum(n - k - 1, 0), n.astype(int), 0.5), 1.0)
    both: Floats = np.minimum(2.0 * np.minimum(above, below), 1.0)
    found: Floats = {"above": above, "below": below, "either": both}[side][()]
    return found


def _ratio(top: ArrayLike, bottom: Floats) -> Floats:
    """Return top / bottom, nan where `bottom` is 0."""
    return _where_defined(bottom > 0, np.asarray(top, float) / np.where(bottom > 0, bottom, 1.0))


def _where_defined(defined: ArrayLike, values: ArrayLike) -> Floats:
    """Return `values` where defined, else nan; an array without axes becomes a scalar."""
    result: Floats = np.where(defined, values, np.nan)[()]
    return result
