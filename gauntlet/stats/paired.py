"""Comparisons of two cells on the same deals, and means where a deal has several matches.

The deal is the unit of inference: deals are independent, matches of one deal are not. Entry i of
both lists of a pair belongs to the same deal. Undefined results are nan, never a warning.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from gauntlet.stats import checks
from gauntlet.stats.checks import Floats, Side
from gauntlet.stats.means import Span, limits
from gauntlet.stats.means import p_value as by_interval
from gauntlet.stats.proportions import sign_test

FEW, BLOCK = 200, 256
"""Number of distinct amounts up to which binomial counts are drawn, and deals per batch of random
bits."""
BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(float)
"""The eight bits of every byte, to sum the deals that each byte keeps, eight at a time."""


@dataclass(frozen=True, slots=True)
class PairCounts:
    """Deals by who won them, cell A, cell B, both or neither: non-negative integers."""

    both: int
    a_only: int
    b_only: int
    neither: int

    def __post_init__(self) -> None:
        for name in self.__slots__:
            count = getattr(self, name)
            if count < 0 or count != int(count):
                raise ValueError(f"{name} must be a whole number from 0, got {count}")

    @property
    def deals(self) -> int:
        return self.both + self.a_only + self.b_only + self.neither


@dataclass(frozen=True, slots=True)
class McNemar:
    """Difference of two cells on the same deals; without deals everything is nan.

    difference: win rate of A minus win rate of B, in [-1, 1]; low, high: its interval. phi:
    correlation of the two results over deals, in [-1, 1]; nan where a cell won all or none.
    p_value: two-sided, exact.
    """

    difference: float
    low: float
    high: float
    phi: float
    p_value: float


@dataclass(frozen=True, slots=True)
class ClusteredMean:
    """A mean over matches with an interval clustered by deal.

    error: standard error of the estimate; deals: number of distinct deals. With fewer than two
    deals error, low and high are nan.
    """

    estimate: float
    low: float
    high: float
    error: float
    deals: int


@dataclass(frozen=True, slots=True)
class SignFlip:
    """A permutation test: mean of A minus B, p-value, and whether it uses all sign patterns (exact)
    or a random sample of them; error: its standard error from sampling, 0 if exact."""

    difference: float
    p_value: float
    exact: bool
    error: float


def count_pairs(a_won: ArrayLike, b_won: ArrayLike) -> PairCounts:
    """Count deals by who won them, from two lists of 0/1 (or bool) of equal length.

    Raises ValueError for lists of different lengths or values other than 0 and 1.
    """
    a, b = checks.one_per_deal(a_won, b_won)
    values = np.concatenate((a, b))
    other = values[(values != 0) & (values != 1)]
    if other.size:
        raise ValueError(f"a deal is won (1) or not (0), got {other[0]:g}")
    cells = np.bincount((2 * (1 - a) + (1 - b)).astype(int), minlength=4)
    return PairCounts(*map(int, cells))


def mcnemar(counts: PairCounts, level: float = 0.95) -> McNemar:
    """McNemar's exact test of equal win rates, with an interval for their difference.

    Test: given the deals that only one cell won, A's share is Binomial(1/2) when the win rates are
    equal; the p-value is two-sided (Q. McNemar (1947), Psychometrika 12, 153-157, in its binomial
    form), 1 where no deal separates the cells. Interval: `stats.means.limits` of the deals'
    differences. While few deals separate the cells, this is the same test inverted; for many it is
    slightly narrower, so the two may disagree at the edge of significance. Raises ValueError for a
    level outside (0, 1).
    """
    checks.inside(level, "level")
    if counts.deals == 0:
        return McNemar(nan, nan, nan, nan, nan)
    p_value = float(sign_test(counts.a_only, counts.b_only))
    told = (counts.b_only, counts.both + counts.neither, counts.a_only)
    low, high = limits((-1.0, 0.0, 1.0), (-1.0, 1.0), level, told)
    difference = (counts.a_only - counts.b_only) / counts.deals
    n, a, b = counts.deals, counts.both + counts.a_only, counts.both + counts.b_only
    margins = float(a) * (n - a) * b * (n - b)  # 0 where a cell won all or none
    agreed = counts.both * counts.neither - counts.a_only * counts.b_only
    phi = agreed / sqrt(margins) if margins else nan
    return McNemar(difference, float(low), float(high), phi, p_value)


def clustered_mean(values: ArrayLike, deals: ArrayLike, level: float = 0.95) -> ClusteredMean:
    """Return the mean of `values` (one per match) with an interval that clusters matches by deal.

    values: finite numbers (wins as 0/1, returns, ...); deals: the deal of each match, any labels.

    The mean is the ratio of two totals over deals. Its variance, with e the deal's sum of
    deviations from the mean, N matches and G deals, is G/(G-1) * sum(e^2) / N^2, and the interval
    uses Student's t with G-1 degrees of freedom: the ratio estimator of W. G. Cochran, Sampling
    Techniques (3rd edition, section 6.3), equal to the cluster-robust standard error of A. C.
    Cameron and D. L. Miller (2015), J. Human Resources 50, 317-372.

    An approximation for dozens of deals, and for more near the ends of a range; the width is 0
    where no deal deviates from the mean. `stats.means.limits` is valid there too. Raises ValueError
    for lists of different lengths, values not finite, a level outside (0, 1).
    """
    y, labels = np.asarray(values, float), np.asarray(deals)
    checks.inside(level, "level")
    if y.ndim != 1 or y.shape != labels.shape:
        raise ValueError(f"each value needs its deal, got {y.size} values and {labels.size} deals")
    if y.size == 0:
        return ClusteredMean(nan, nan, nan, nan, 0)
    mean = float(checks.finite(y, "values").mean())
    deviations = np.bincount(np.unique(labels, return_inverse=True)[1], weights=y - mean)
    g = deviations.size
    if g < 2:
        return ClusteredMean(mean, nan, nan, nan, g)
    error = sqrt(g / (g - 1) * float(deviations @ deviations)) / y.size
    reach = float(stdtrit(g - 1, (1 + level) / 2)) * error
    return ClusteredMean(mean, mean - reach, mean + reach, error, g)


def sign_flip(
    a: ArrayLike, b: ArrayLike, seed: int, resamples: int = 9_999, side: Side = "either"
) -> SignFlip:
    """Permutation test of "swapping A and B within a deal changes nothing".

    a, b: one finite number per deal (a return, or a mean over the deal's matches). With a single
    number b it is R. A. Fisher's one-sample test (1935, The Design of Experiments, section 21),
    which requires results symmetric around b: so are a player's over both seats of a deal in a
    zero-sum game, if both play alike. side: the alternative for A.

    Deals with equal values do not change under a swap and drop out. If the other m deals have no
    more than `resamples` sign patterns, all 2**m are counted (13 deals by default); otherwise
    `resamples` random ones are, and the observed pattern counts as one more, so that p is never 0
    (B. Phipson and G. K. Smyth (2010), Stat. Appl. Genet. Mol. Biol. 9, 39).

    The same seed gives the same p-value. No deals give nan; no difference at all gives p 1. Raises
    ValueError for lists of different lengths, values not finite, resamples below 1, and another
    side.
    """
    x, y = checks.one_per_deal(a, np.broadcast_to(b, np.shape(a)) if np.ndim(b) == 0 else b)
    checks.at_least_one(resamples, "resamples")
    checks.side(side)
    if x.size == 0:
        return SignFlip(nan, nan, True, nan)
    differences = (y - x if side == "below" else x - y)[x != y]
    exact = 2**differences.size <= resamples
    if exact:
        totals = np.zeros(1)
        for d in differences:
            totals = np.concatenate((totals + d, totals - d))
    else:
        totals = _random_totals(differences, resamples, np.random.default_rng(seed))
    rounding = 1e-12 * float(np.abs(differences).sum())  # totals this close count as ties
    observed = differences.sum()
    if side == "either":
        totals, observed = np.abs(totals), abs(observed)
    reached = int(np.count_nonzero(totals >= observed - rounding))
    p_value = reached / totals.size if exact else (reached + 1) / (resamples + 1)
    error = 0.0 if exact else sqrt(p_value * (1 - p_value) / resamples)
    return SignFlip(float((x - y).mean()), p_value, exact, error)


def permutation(
    differences: ArrayLike,
    span: Span,
    seed: int,
    side: Side = "either",
    null_error: float = 0.0,
    resamples: int = 9_999,
) -> tuple[float, float]:
    """Return the p-value of `sign_flip` of differences against 0, one per deal, with its sampling
    error; or that of `stats.means.p_value`, with error 0, where it is larger.

    Sign flips test for symmetry around 0, and reject too often where the mean is 0 without
    symmetry: of samples of ten deals that win 9 one time in ten and otherwise lose 1, a third show
    only losses. So there is no p-value where there is no interval (see `stats.means.limits`),
    except 1 where no deal differs. span: the range of the differences. null_error: as for
    `stats.means.p_value`, of the value subtracted to get the differences.
    """
    p = float(by_interval(differences, span, 0.0, side, null_error))
    if np.isnan(p) and np.any(differences):
        return nan, nan
    flips = sign_flip(differences, 0.0, seed, resamples, side)
    return (p, 0.0) if p > flips.p_value else (flips.p_value, flips.error)


def _random_totals(differences: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Return totals under n random sign patterns. For k deals that differ by the same amount, one
    Binomial(k, 1/2) number replaces k signs. With more than FEW amounts, each deal draws a bit: a
    bit is cheaper than a binomial number."""
    sizes, counts = np.unique(np.abs(differences), return_counts=True)
    totals = np.zeros(n)
    if sizes.size <= FEW:
        for size, k in zip(sizes, counts, strict=True):
            totals += size * (2.0 * rng.binomial(k, 0.5, n) - k)
        return totals
    for start in range(0, differences.size, BLOCK):
        block = differences[start : start + BLOCK]
        drawn = np.frombuffer(rng.bytes(n * BLOCK // 8), np.uint8).reshape(n, BLOCK // 8)
        eights = np.append(block, np.zeros(-block.size % 8)).reshape(-1, 8)
        for eight, byte in zip(eights, drawn.T, strict=False):
            totals += (BITS @ (2.0 * eight) - eight.sum())[byte]
    return totals
