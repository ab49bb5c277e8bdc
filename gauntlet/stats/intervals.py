"""Intervals of differences, running means and samples without spread."""

from __future__ import annotations

from math import hypot, nan, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from gauntlet.stats import checks
from gauntlet.stats.checks import Floats
from gauntlet.stats.proportions import wilson

Limits = tuple[float, float]

ByDeal = tuple[ArrayLike, ArrayLike]
"""Numbers, and the deal that each belongs to."""

NOTHING = 1e-12
"""Differences below this share of the span are rounding errors."""


def all_equal(value: float, units: int, span: Limits, level: float = 0.95) -> Limits:
    """Return limits of the mean of `units` games or deals that all gave `value`.

    Such data have no spread, so the usual intervals have zero width. But a share of units with
    other values could have gone unseen, as large as Wilson's upper limit of 0 in `units`, z^2 /
    (units + z^2), and each of them could lie at an end of the `span` of all possible values. Where
    `value` is itself an end, the far limit is Wilson's. Raises ValueError for no units or a level
    outside (0, 1).
    """
    unseen = float(wilson(0, checks.at_least_one(units, "units"), level).high)
    return value - unseen * (value - span[0]), value + unseen * (span[1] - value)


def running_mean(values: ArrayLike, level: float = 0.95) -> tuple[Floats, Floats, Floats]:
    """Return the mean of the first one, two, ... values (one per deal) with pointwise limits:
    Student's t, n-1 degrees of freedom, nan for the first.

    The limits do not hold simultaneously: to monitor a run use `stats.sequential`. Raises
    ValueError for values not finite and a level outside (0, 1).
    """
    x = checks.finite(np.asarray(values, float), "values")
    checks.inside(level, "level")
    if not x.size:
        return x, x, x
    n, around = np.arange(1, x.size + 1, dtype=float), x - x.mean()
    mean = np.cumsum(around) / n
    spread = np.maximum(np.cumsum(around**2) / n - mean**2, 0.0)
    degrees = np.where(n > 1, n - 1, nan)
    reach = stdtrit(degrees, (1 + level) / 2) * np.sqrt(spread / degrees)
    mean = mean + x.mean()
    return mean, mean - reach, mean + reach


def change(new: ByDeal, old: ByDeal, span: float, level: float = 0.95) -> tuple[float, Limits]:
    """Return mean(new) - mean(old), paired by deal, with its limits; span: its largest possible
    value.

    Each mean is a ratio of totals over deals. With e the deal's sum of deviations from the mean
    over the number of values, new less old, and G deals, the variance is G/(G-1) sum(e^2), and the
    interval uses Student's t with G-1 degrees of freedom: `stats.paired.clustered_mean` for two
    samples at once. What both sides share on a deal cancels; a deal on only one side contributes to
    that side's mean. With fewer than two deals the limits are nan; where the sides agree on every
    deal they are those of `alike`. Raises ValueError for values without deals, and for a level
    outside (0, 1).
    """
    checks.inside(level, "level")
    labels = np.concatenate([np.asarray(side[1]) for side in (new, old)])
    deals, places = np.unique(labels, return_inverse=True)
    split, g = len(np.asarray(new[1])), len(deals)
    after, new_influence = _influence(new[0], places[:split], g)
    before, old_influence = _influence(old[0], places[split:], g)
    difference = after - before
    if g < 2 or np.isnan(difference):
        return difference, (nan, nan)
    e = new_influence - old_influence
    if np.abs(e).max() <= NOTHING * span:
        return difference, all_equal(difference, g, (-span, span), level)
    reach = float(stdtrit(g - 1, (1 + level) / 2)) * sqrt(g / (g - 1) * float(e @ e))
    return difference, (difference - reach, difference + reach)


def _influence(values: ArrayLike, places: NDArray[np.intp], deals: int) -> tuple[float, Floats]:
    """Return the mean, and each deal's contribution to its error; nan without values."""
    x = np.asarray(values, float)
    if x.shape != places.shape:
        raise ValueError(f"each value needs its deal, got {x.size} values and {places.size} deals")
    if not x.size:
        return nan, np.zeros(deals)
    mean = float(x.mean())
    return mean, np.bincount(places, weights=x - mean, minlength=deals) / x.size


Limited = tuple[float, float, float]
"""An estimate and its limits."""


def difference(first: Limited, second: Limited) -> Limits:
    """Return limits of `first` less `second`, two independent estimates with limits.

    For two shares with Wilson's limits this is method 10 of R. G. Newcombe (1998), Statistics in
    Medicine 17, 873-890; in general G. Y. Zou and A. Donner (2008), the same 27, 1693-1702.
    """
    (a, a_low, a_high), (b, b_low, b_high) = first, second
    return a - b - hypot(a - a_low, b_high - b), a - b + hypot(a_high - a, b - b_low)
