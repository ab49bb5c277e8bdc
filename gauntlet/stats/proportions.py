"""Win rates of one cell: intervals, and tests against a baseline.

Every function takes counts of any shapes that broadcast and returns arrays of that shape (numpy
scalars for scalars). A game is one independent trial here: where several matches share a deal, use
`stats.means`. Undefined results are nan, never a warning.

The z tests are what papers print. Their p-values are approximations that reject too often where few
wins or few losses are expected; `binomial_test` and `fisher_test` never do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtrc, betaincinv, ndtr

from gauntlet.stats import checks
from gauntlet.stats.checks import Floats, Side


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimated proportion with its confidence limits, all in [0, 1]; nan without games."""

    estimate: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class ProportionTest:
    """A one-sided test of "the win rate is above the baseline".

    difference: win rate minus baseline, in [-1, 1]. z: the difference in standard errors under the
    null hypothesis. p_value: probability under the null hypothesis of a z at least this large.
    """

    difference: Floats
    z: Floats
    p_value: Floats


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


def one_sample_z(wins: ArrayLike, games: ArrayLike, baseline: ArrayLike) -> ProportionTest:
    """Test a win rate against a known baseline p0: z = (wins/games - p0) / sqrt(p0(1-p0)/games).

    The one-proportion z test, upper side, no continuity correction (A. Agresti, Categorical Data
    Analysis, section 1.3.3). `baseline` lies in [0, 1] and is taken as exact; where it was itself
    estimated from games, use `two_sample_z`.

    No games or a nan baseline give nan. A baseline of 0 or 1 allows no variation: data that differ
    from it give an infinite z (p 0 above, 1 below), data equal to it give z and p nan. Raises
    ValueError for impossible counts or a baseline outside [0, 1].
    """
    k, n = checks.counts(wins, games)
    p0 = checks.probabilities(baseline, "baseline")
    return _test(_ratio(k, n) - p0, _ratio(p0 * (1.0 - p0), n))


def two_sample_z(
    wins: ArrayLike, games: ArrayLike, baseline_wins: ArrayLike, baseline_games: ArrayLike
) -> ProportionTest:
    """Test a win rate against a baseline measured in other games, with a pooled variance.

    z = (p - b) / sqrt(q(1-q)(1/games + 1/baseline_games)), q = all wins / all games; upper side, no
    continuity correction (A. Agresti, Categorical Data Analysis, section 3.1). The two sets of
    games are assumed independent; for cells that share deals use `stats.paired.mcnemar`.

    No games on either side give nan, and so do z and p where both sides won all or none. Raises
    ValueError for impossible counts.
    """
    k, n = checks.counts(wins, games)
    k0, n0 = checks.counts(baseline_wins, baseline_games, "baseline wins")
    pooled = _ratio(k + k0, n + n0)
    variance = pooled * (1.0 - pooled) * (_ratio(1.0, n) + _ratio(1.0, n0))
    return _test(_ratio(k, n) - _ratio(k0, n0), variance)


def binomial_test(wins: ArrayLike, games: ArrayLike, baseline: ArrayLike) -> Floats:
    """Return the probability of at least this many wins at the known baseline win rate: the exact
    binomial test, upper side (C. J. Clopper and E. S. Pearson (1934), Biometrika 26, 404-413).

    It never rejects more often than its level. nan where `one_sample_z` has no z. Raises ValueError
    for impossible counts or a baseline outside [0, 1].
    """
    k, n = checks.counts(wins, games)
    z = one_sample_z(k, n, baseline).z
    p = np.where(k > 0, bdtrc(np.maximum(k - 1, 0), n.astype(int), np.asarray(baseline, float)), 1)
    return _where_defined(~np.isnan(z), p)


def fisher_test(
    wins: ArrayLike, games: ArrayLike, baseline_wins: ArrayLike, baseline_games: ArrayLike
) -> Floats:
    """Return the probability of at least this many of all wins on this side if both sides win
    alike: R. A. Fisher's exact test, upper side (1935, J. Royal Statistical Society 98, 39-82).

    It never rejects more often than its level. nan where `two_sample_z` has no z. Raises ValueError
    for impossible counts.
    """
    k, n = checks.counts(wins, games)
    k0, n0 = checks.counts(baseline_wins, baseline_games, "baseline wins")
    testable = ~np.isnan(two_sample_z(k, n, k0, n0).z)
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


def _test(difference: Floats, variance: Floats) -> ProportionTest:
    with np.errstate(divide="ignore", invalid="ignore"):
        z = difference / np.sqrt(variance)
    return ProportionTest(difference, z, ndtr(-z))


def _ratio(top: ArrayLike, bottom: Floats) -> Floats:
    """Return top / bottom, nan where `bottom` is 0."""
    return _where_defined(bottom > 0, np.asarray(top, float) / np.where(bottom > 0, bottom, 1.0))


def _where_defined(defined: ArrayLike, values: ArrayLike) -> Floats:
    """Return `values` where defined, else nan; an array without axes becomes a scalar."""
    result: Floats = np.where(defined, values, np.nan)[()]
    return result
