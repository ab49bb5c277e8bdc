"""The mean of independent deals: limits and tests valid for few deals and near the ends of a range.

With a range, the mean is drawn as in the Bayesian bootstrap (D. B. Rubin (1981), Annals of
Statistics 9, 130-134), every deal weighted by an exponential number, with one more deal at the end
of the range that counts against the claim: N. Gaffke (2005), Three test statistics for a
nonparametric one-sided hypothesis on the mean of a nonnegative variable, Mathematical Methods of
Statistics 14, 451-467; M. Phan, P. Thomas and E. Learned-Miller (2021), Towards practical mean
bounds for small samples, ICML. That it is always valid is a conjecture without a known
counterexample. For deals that are won or lost it gives Clopper and Pearson's limits and the exact
binomial test, and for differences of such deals, against 0, McNemar's exact test: all to within the
few percent of a p-value of the saddlepoint approximation in `_root`.

Where one deal at the end would move the mean by less than a quarter of a standard error (NEAR),
only that fraction of a deal is added: a whole one covers what few deals have not shown, and would
needlessly widen the intervals of many. `benchmarks/intervals.py` measures the remaining errors:
docs/validation.md has the table.

Without a range, from LEAST deals on each limit is the wider of two, Student's t and Student's t
with P. Hall's correction for skewness (1992), J. Royal Statistical Society B 54, 221-228: the first
fails where values are skewed, the second where large ones are rare on both sides. With fewer deals
a rare large value may be unseen, and all results are nan.

Values are one per deal along the last axis; `counts`, of a shape that broadcasts with them, is the
number of deals with each value (default 1). Undefined results are nan, never a warning.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtr, ndtri, stdtr, stdtrit

from gauntlet.stats import checks
from gauntlet.stats.checks import Floats, Side

NEAR = 0.25
"""Standard errors by which a deal at the end of the range must move the mean to count fully."""

STEPS, SETTLED = 48, 1e-10
"""Search for a tilt: maximum number of steps, and tolerance as a fraction of its range."""

EDGE = 1e-12
"""Relative distance to an extreme value that may be entirely rounding."""

FLAT = 1e-4
"""Signed roots below this are 0 up to rounding."""

FEW, KEPT = 64, 4096
"""Largest number of distinct values for which results are cached, and cache size: for deals that
are won or lost, cells and pairs of cells repeat the same calls."""

Array = tuple[tuple[int, ...], bytes]
"""Shape and bytes of an array of floats."""


def remembered(find: Callable[..., Floats]) -> Callable[..., Floats]:
    """Cache the results of `find`, a function of float arrays, for small arrays."""

    @lru_cache(maxsize=KEPT)
    def cached(*question: Array) -> Floats:
        found = find(*(np.frombuffer(data).reshape(shape) for shape, data in question))
        found.setflags(write=False)
        return found

    @wraps(find)
    def answered(*question: ArrayLike) -> Floats:
        arrays = [np.asarray(one, float) for one in question]
        if arrays[0].size > FEW:
            return find(*arrays)
        return cached(*((one.shape, one.tobytes()) for one in arrays))

    return answered


@remembered
def lower(x: Floats, n: Floats, end: Floats, tail: Floats) -> Floats:
    """Return the `tail` quantile of the weighted means with a deal at the low end."""
    y, w, mean = _with_end(x, n, end)
    interior = y.min(-1) < 0  # else every deal lies at the end
    aim = np.full(mean.shape, ndtri(tail))
    tilt = solved(lambda tilt: _root(y, w, tilt), aim, *_tilts(y, interior))
    found: Floats = mean + np.where(interior, _tilted(y, w, tilt)[0], 0.0)
    return found[()]


@remembered
def chance(x: Floats, n: Floats, end: Floats, null: Floats) -> Floats:
    """Return the share of weighted means, with a deal at the low end, that are at most `null`."""
    y, w, mean = _with_end(x, n, end)
    aim = null - mean
    least, most = ((1.0 - EDGE) * np.broadcast_to(m, aim.shape) for m in (y.min(-1), y.max(-1)))
    within = (least < aim) & (aim < most)
    y, aim = np.where(within[..., None], y, 0.0), np.where(within, aim, 0.0)
    tilt = solved(lambda tilt: _tilted(y, w, tilt), aim, *_tilts(y, within))
    p = np.where(within, ndtr(_root(y, w, tilt)[0]), np.where(null - mean >= most, 1.0, 0.0))
    settled = (least == most) & (null - mean == most)
    p = np.where(np.isnan(null - mean) | settled, np.nan, p)
    return p[()]


def mean_of(x: Floats, n: Floats) -> Floats:
    """Return the mean; nan without deals."""
    deals = n.sum(-1)
    mean: Floats = np.where(deals > 0, (n * x).sum(-1) / np.maximum(deals, 1.0), np.nan)
    return mean


def moments(x: Floats, n: Floats) -> tuple[Floats, Floats, Floats]:
    """Return deals, mean, and its standard error, 0 where values differ by rounding only."""
    deals, mean = n.sum(-1), mean_of(x, n)
    off = x - mean[..., None]
    spread = (n * off**2).sum(-1) / np.maximum(deals, 1.0)
    rounding = (1e-12 * np.abs(x).max(-1, initial=0.0)) ** 2
    error = np.where(spread > rounding, np.sqrt(spread / np.maximum(deals - 1.0, 1.0)), 0.0)
    return deals, mean, error


def _with_end(x: Floats, n: Floats, end: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return the centred deals plus the one added at the low end, their weights, and the mean."""
    deals, mean, error = moments(x, n)
    off = np.where(error[..., None] > 0, x - mean[..., None], 0.0)
    last = np.minimum(np.subtract(end, mean), off.min(-1, initial=0.0))
    moved = -last / np.maximum(deals, 1.0)
    part = np.minimum(1.0, moved / np.where(error > 0, NEAR * error, moved + 1e-300))
    y = np.concatenate((off, last[..., None]), -1)
    return y, np.concatenate((n, part[..., None]), -1), mean


def _tilts(y: Floats, bounded: ArrayLike) -> tuple[Floats, Floats]:
    """Return the range of tilts in which no weight is negative."""
    floor, most = 1.0 / np.where(bounded, y.min(-1), -1.0), y.max(-1)
    return floor, np.where(most > 0, 1.0 / np.where(most > 0, most, 1.0), -floor)


def _tilted(y: Floats, w: Floats, tilt: Floats) -> tuple[Floats, Floats]:
    """Return the mean of y with weights w / (1 - tilt y), increasing in the tilt, and its slope."""
    rest = 1.0 - tilt[..., None] * y
    own = w / rest
    total = own.sum(-1)
    mean = (own * y).sum(-1) / total
    off = (y - mean[..., None]) / rest
    return mean, (w * off * off).sum(-1) / w.sum(-1)  # total (1 - tilt mean) is the sum of w


def _root(y: Floats, w: Floats, tilt: Floats) -> tuple[Floats, Floats]:
    """Return the normal deviate of the share of weighted means below the tilted one, and
    approximately its slope.

    With E independent, E_i Gamma(w_i), that share is P(sum E_i (y_i - mean) <= 0), by the
    saddlepoint approximation of R. Lugannani and S. Rice (1980), Advances in Applied Probability
    12, 475-490, in O. E. Barndorff-Nielsen's form r + log(u / r) / r. Its saddlepoint is the tilt.
    For deals that are won or lost the relative error of the share is at most 2.5% (compared with
    the Beta distribution), mostly .1%; for other values, such as chips, 4%: for 10 to 120 deals
    (pots, lognormal and Beta values) a nominal share of .05 was .0484 to .0511 by the closed form.
    """
    rest = 1.0 - tilt[..., None] * y
    own, weight = w / rest, w.sum(-1)
    total = own.sum(-1)
    mean = (own * y).sum(-1) / total
    off = (y - mean[..., None]) / rest
    spread = (w * off * off).sum(-1)
    power = (w * np.log(rest)).sum(-1) - weight * np.log(weight / total)
    r = np.sign(tilt) * np.sqrt(np.maximum(2.0 * power, 0.0))
    flat = np.abs(r) < FLAT
    safe, u = np.where(flat, 1.0, r), np.where(flat, 1.0, tilt * np.sqrt(spread))
    skewness = 2.0 * (w * off * off * off).sum(-1) / np.where(spread > 0, spread, 1.0) ** 1.5
    root = np.where(flat, r + skewness / 6.0, safe + np.log(u / safe) / safe)
    slope = np.where(flat, np.sqrt(spread), tilt * spread * total / (safe * weight))
    return root, slope


def solved(
    curve: Callable[[Floats], tuple[Floats, Floats]], aim: Floats, low: Floats, high: Floats
) -> Floats:
    """Solve curve(x) = `aim` for an increasing curve (value, slope) between `low` < 0 and `high` >
    0, by Newton's method with bisection where a step would leave the bracket."""
    near, at = SETTLED * np.minimum(high, -low), 0.0 * aim
    for _ in range(STEPS):
        value, slope = curve(at)
        below = value < aim
        low, high = np.where(below, at, low), np.where(below, high, at)
        step = at + (aim - value) / np.where(slope > 0, slope, 1.0)
        middle = (low + high) / 2.0
        moved = np.where((low < step) & (step < high), step, middle)
        settled = bool(np.all(np.abs(moved - at) <= near))
        at = moved
        if settled:
            break
    return at


Span = tuple[ArrayLike, ArrayLike]
"""The ends of the range of a deal's value, infinite where there is none."""

LEAST = 100
"""Minimum number of deals for limits and tests of a mean without a range."""

SPREAD = 2.0
"""Standard deviations that the range of luck-adjusted results reaches at least."""

NODES = np.arange(-8.0, 8.01, 0.25)
"""Standard normal deviates at which the baseline's own distribution is evaluated."""


def per_deal(values: ArrayLike, deals: ArrayLike) -> Floats:
    """Reduce one value per match to one per deal, in the order of the deals' labels.

    The mean of the deal's matches; where deals have unequal numbers of matches, the deal's value in
    the linearised ratio of totals, so that the mean over deals remains the mean over matches (R. S.
    Woodruff (1971), J. Am. Stat. Assoc. 66, 411-414). Raises ValueError for lists of different
    lengths and values not finite.
    """
    y, labels = checks.finite(np.asarray(values, float), "values"), np.asarray(deals)
    if y.ndim != 1 or y.shape != labels.shape:
        raise ValueError(f"each value needs its deal, got {y.size} values and {labels.size} deals")
    if not y.size:
        return y
    places = np.unique(labels, return_inverse=True)[1]
    totals, sizes = np.bincount(places, y), np.bincount(places)
    mean = y.mean()
    found: Floats = mean + (totals - mean * sizes) / sizes.mean()
    return found


def limits(
    values: ArrayLike,
    span: Span,
    level: float = 0.95,
    counts: ArrayLike | None = None,
) -> tuple[Floats, Floats]:
    """Return the confidence limits of the mean.

    Values outside the range widen it (see `reaching`). nan without deals, and, without a range, for
    fewer than LEAST deals or identical values. Raises ValueError for a level outside (0, 1) and for
    values not finite.
    """
    tail = (1.0 - checks.inside(level, "level")) / 2.0
    x, n = _checked(values, counts)
    if not _finite(span):
        return _boundless_limit(x, n, tail), -_boundless_limit(-x, n, tail)
    return lower(x, n, span[0], tail), -lower(-x, n, np.negative(span[1]), tail)


def p_value(
    values: ArrayLike,
    span: Span,
    null: ArrayLike,
    side: Side = "above",
    null_error: ArrayLike = 0.0,
    counts: ArrayLike | None = None,
) -> Floats:
    """Return the p-value of "the mean is above (below) `null`", or of either: `limits` inverted.

    null_error: standard error of a null value that was itself measured. The p-value is then
    averaged over the null's distribution: a Beta distribution over the range with that mean and
    error (Jeffreys' posterior for that many games), or a normal one where there is no range. For
    deals that are won or lost this is close to R. A. Fisher's exact test of two samples, which
    averages over slightly wider distributions (P. M. E. Altham (1969), J. R. Stat. Soc. B 31,
    261-269).

    Two-sided values are twice the smaller one-sided one, at most 1. nan as for `limits`, and for a
    null value that is nan or an end of the range at which all deals lie. Raises ValueError for
    another side and for values not finite.
    """
    checks.side(side)
    if side == "either":
        both = (p_value(values, span, null, way, null_error, counts) for way in _WAYS)
        least: Floats = np.minimum(2.0 * np.minimum(*both), 1.0)
        return least
    x, n = _checked(values, counts)
    sign = 1.0 if side == "above" else -1.0
    low = np.multiply(sign, span[0] if side == "above" else span[1])
    test = chance if _finite(span) else _boundless_chance
    null_value, error = np.asarray(null, float), np.asarray(null_error, float)
    if not np.any(error > 0):
        return test(sign * x, n, low, sign * null_value)
    nulls = sign * _null_quantiles(null_value, error, span)
    weights = np.exp(-(NODES**2) / 2) / np.exp(-(NODES**2) / 2).sum()
    lows, x, n = low[..., None], x[..., None, :], n[..., None, :]
    # Rounding may lift an average of ones above 1.
    averaged: Floats = np.minimum(test(sign * x, n, lows, nulls) @ weights, 1.0)
    return averaged


def reaching(estimates: ArrayLike, span: Span, seatings: int = 1) -> Span:
    """Return the range for `limits` and `p_value` of luck-adjusted results, one per deal: means
    over `seatings` matches of a deal, each of a measure in `span`.

    They have no range of their own: without luck they lie near their mean, and may lie outside the
    measure's. A rare blunder that was not seen yet may cost as much as half of the span or what is
    left to the span's end, in one of the seatings; where results differ more than that, the range
    extends SPREAD standard deviations to either side of the mean, so that few deals have limits no
    narrower than Student's.
    """
    x = np.asarray(estimates, float)
    mean, spread = x.mean(-1), x.std(-1, ddof=1) if x.shape[-1] > 1 else 0.0
    half, low, high = (np.subtract(span[1], span[0]) / 2.0, mean - span[0], span[1] - mean)
    below, above = (np.maximum(half, end) / seatings for end in (low, high))
    return mean - np.maximum(below, SPREAD * spread), mean + np.maximum(above, SPREAD * spread)


def with_error(
    estimate: ArrayLike, low: ArrayLike, high: ArrayLike, error: float, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Return limits of the sum (or difference) of `estimate`, with limits `low` and `high`, and a
    number with normal standard error `error`: half-widths add in squares (G. Y. Zou and A. Donner
    (2008), Statistics in Medicine 27, 1693-1702)."""
    reach = float(ndtri((1.0 + checks.inside(level, "level")) / 2.0)) * error
    middle = np.asarray(estimate, float)
    below, above = np.hypot(middle - low, reach), np.hypot(high - middle, reach)
    return middle - below, middle + above


_WAYS: tuple[Side, Side] = ("above", "below")


def _finite(span: Span) -> bool:
    return bool(np.isfinite(np.subtract(span[1], span[0])).all())


def _checked(values: ArrayLike, counts: ArrayLike | None) -> tuple[Floats, Floats]:
    x = checks.finite(np.asarray(values, float), "values")
    if counts is not None:
        x, n = np.broadcast_arrays(x, np.asarray(counts, float))
    elif x.ndim == 1:  # thousands of deals that are won or lost have two distinct values
        x, told = np.unique(x, return_counts=True)
        n = told.astype(float)
    else:
        n = np.ones(x.shape)
    return np.where(n > 0, x, mean_of(x, n)[..., None]), n  # a value with count 0 must not matter


def _null_quantiles(null: Floats, error: Floats, span: Span) -> Floats:
    """Return quantiles of a measured null value, at NODES along a new last axis."""
    middle, width = null[..., None], error[..., None]
    points = middle + width * NODES
    if not _finite(span):
        return points
    low, size = (np.asarray(end)[..., None] for end in (span[0], np.subtract(span[1], span[0])))
    rate, scale = (middle - low) / size, width / size
    inner = (rate > 0) & (rate < 1) & (scale > 0)
    rate, scale = np.where(inner, rate, 0.5), np.where(inner, scale, 0.5)
    games = rate * (1.0 - rate) / scale**2
    drawn = betaincinv(rate * games + 0.5, (1.0 - rate) * games + 0.5, ndtr(NODES))
    found: Floats = np.where(inner, low + size * drawn, points)
    return found


def _shape(x: Floats, n: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return deals, mean, standard error and skewness; deals are nan where undefined."""
    deals, mean, error = moments(x, n)
    spread = np.where(error > 0, error, 1.0) * np.sqrt(np.maximum(deals - 1.0, 1.0))
    skewness = (n * (x - mean[..., None]) ** 3).sum(-1) / np.maximum(deals, 1.0) / spread**3
    enough = (deals >= LEAST) & (error > 0)
    return np.where(enough, deals, np.nan), mean, error, skewness


def _boundless_limit(x: Floats, n: Floats, tail: float) -> Floats:
    """Return Hall's cubic inverted, whose root has a closed form, or Student's limit."""
    deals, mean, error, skewness = _shape(x, n)
    quantile = stdtrit(deals - 1.0, 1.0 - tail) / np.sqrt(deals)
    aim = quantile - skewness / (6.0 * deals)
    flat = np.abs(skewness) < 1e-8
    bent = 3.0 * (np.cbrt(1.0 + skewness * aim) - 1.0) / np.where(flat, 1.0, skewness)
    found: Floats = mean - np.sqrt(deals) * error * np.maximum(quantile, np.where(flat, aim, bent))
    return found[()]


def _boundless_chance(x: Floats, n: Floats, _: ArrayLike, null: Floats) -> Floats:
    deals, mean, error, skewness = _shape(x, n)
    s = (mean - null) / (np.sqrt(deals) * np.where(error > 0, error, 1.0))
    cubic = s + skewness * s**2 / 3.0 + skewness**2 * s**3 / 27.0 + skewness / (6.0 * deals)
    found: Floats = stdtr(deals - 1.0, -np.sqrt(deals) * np.minimum(s, cubic))
    return found[()]
