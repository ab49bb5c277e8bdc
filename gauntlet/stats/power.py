"""Power analysis: how many deals detect a difference of a given size.

`one_proportion`: a cell against a known baseline (the test of `stats.proportions.binomial_test`).
Differences and rates are fractions of 1, not percentage points.

`cells` is the number of tests that Holm's correction will cover. Planning uses alpha / cells,
Holm's strictest step, so that the power holds for each test even where no other one succeeds.
`side` is the test's: a two-sided one ("either") uses half of alpha on each side.
"""

from __future__ import annotations

from math import ceil, nan, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from gauntlet.stats import checks
from gauntlet.stats.checks import Floats, Side

EXACT = 200_000
"""Deals from which on the normal approximation plans, as it is exact enough."""
SAFE = 0.8
"""Confidence of the spread that `deals_from_pilot` plans for."""


def power_one_proportion(
    deals: int,
    rate: float,
    baseline: float,
    alpha: float = 0.05,
    cells: int = 1,
    side: Side = "above",
) -> float:
    """Return the probability that the exact test finds a true win rate `rate` to be above
    `baseline`.

    It rejects from the fewest wins that `baseline` reaches with a probability of at most alpha, so
    few deals may show nothing. Raises ValueError for deals or cells below 1 and for rate, baseline
    or alpha outside (0, 1).
    """
    n = checks.at_least_one(deals, "deals")
    for value, name in ((baseline, "baseline"), (rate, "rate")):
        checks.inside(value, name)
    return float(_power(n, rate, baseline, _step(alpha, cells, side)))


def deals_one_proportion(
    rate: float,
    baseline: float,
    power: float = 0.8,
    alpha: float = 0.05,
    cells: int = 1,
    side: Side = "above",
) -> int:
    """Return the fewest deals from which on `power_one_proportion` is at least `power`; some fewer
    may reach it too, as it goes up and down (M. R. Chernick and C. Y. Liu (2002), The
    American Statistician 56, 149-155).

    Sought between 0.8 and 1.5 times what the normal approximation gives, (z_alpha sqrt(p0(1-p0)) +
    z_power sqrt(p1(1-p1)))^2 / (p1-p0)^2 (J. L. Fleiss, B. Levin and M. C. Paik, Statistical
    Methods for Rates and Proportions, 3rd edition, section 2.5), which is returned above EXACT
    deals. Raises ValueError for a rate that is not above the baseline, and for values outside
    (0, 1).
    """
    null, alternative = (
        sqrt(value * (1.0 - value))
        for value in (checks.inside(baseline, "baseline"), checks.inside(rate, "rate"))
    )
    if rate <= baseline:
        raise ValueError(f"rate must lie above the baseline {baseline:g}, got {rate:g}")
    checks.inside(power, "power")
    step = _step(alpha, cells, side)
    spread = float(ndtri(1 - step) * null + ndtri(power) * alternative)
    near = max(spread / (rate - baseline), 0.0) ** 2
    if near > EXACT:
        return ceil(near)
    tried = np.arange(max(1, int(0.8 * near) - 20), int(1.5 * near) + 100)
    too_few = _power(tried, rate, baseline, step) < power
    return int(tried[-1] - np.argmax(too_few[::-1]) + 1) if too_few.any() else int(tried[0])


def detectable_one_proportion(
    deals: int,
    baseline: float,
    power: float = 0.8,
    alpha: float = 0.05,
    cells: int = 1,
    side: Side = "above",
) -> float:
    """Return the smallest true gain over `baseline` that `deals` deals detect with this power.

    Solves `power_one_proportion` for rate - baseline; nan where even winning all of them shows
    nothing. Raises ValueError as `power_one_proportion`, and for power outside (alpha/cells, 1).
    """
    from scipy.optimize import brentq

    step = _step(alpha, cells, side)
    checks.inside(power, "power", low=step)
    n = checks.at_least_one(deals, "deals")
    if _power(n, 1.0, checks.inside(baseline, "baseline"), step) < power:
        return nan
    rate = brentq(lambda rate: _power(n, rate, baseline, step) - power, baseline, 1.0)
    return float(rate) - baseline


def _power(n: ArrayLike, rate: float, baseline: float, step: float) -> Floats:
    """The exact one-sided binomial test's power for each number of deals."""
    from scipy.stats import binom

    return np.asarray(binom.sf(binom.isf(step, n, baseline), n, rate))


def detectable_mean(
    error: float, power: float = 0.8, alpha: float = 0.05, cells: int = 1, side: Side = "above"
) -> float:
    """Return the smallest true difference that an estimate with this standard error detects with
    this power: error (z_alpha + z_power), by the normal approximation.

    Raises ValueError for cells below 1, alpha outside (0, 1) and power outside (alpha/cells, 1).
    """
    step = _step(alpha, cells, side)
    checks.inside(power, "power", low=step)
    return error * float(ndtri(1 - step) + ndtri(power))


def deals_from_pilot(
    pilot: int,
    spread: float,
    gain: float,
    power: float = 0.8,
    alpha: float = 0.05,
    cells: int = 1,
    side: Side = "either",
) -> tuple[int, int]:
    """Return the fewest deals that detect a difference of `gain` with this power, by a pilot of
    `pilot` deals in which a deal's difference has the standard deviation `spread`: with that
    spread, and with its upper 80% confidence limit.

    The limit: R. H. Browne (1995), Statistics in Medicine 14, 1933-1940; for normal differences.
    Raises ValueError for pilot below 2, gain or spread not above 0, and as `detectable_mean`.
    """
    from scipy.stats import chi2

    if checks.at_least_one(pilot, "pilot") < 2 or not (gain > 0 and spread > 0):
        raise ValueError(f"pilot {pilot}, spread {spread:g}, gain {gain:g}: 2, above 0, above 0")
    limit = spread * sqrt((pilot - 1) / float(chi2.ppf(1 - SAFE, pilot - 1)))
    needed = [
        ceil((detectable_mean(each, power, alpha, cells, side) / gain) ** 2)
        for each in (spread, limit)
    ]
    return max(1, needed[0]), max(1, needed[1])


def _step(alpha: float, cells: int, side: Side) -> float:
    """Return Holm's strictest alpha, one-sided."""
    checks.side(side)
    step = checks.inside(alpha, "alpha") / checks.at_least_one(cells, "cells")
    return step / 2 if side == "either" else step
