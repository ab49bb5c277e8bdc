"""Power analysis: how many deals detect a difference of a given size.

Two designs with three functions each. `one_proportion`: a cell against a known baseline (the test
of `stats.proportions.one_sample_z`). `paired`: two cells on the same deals (the exact test of
`stats.paired.mcnemar`). Differences and rates are fractions of 1, not percentage points.

`cells` is the number of tests that Holm's correction will cover. Planning uses alpha / cells,
Holm's strictest step, so that the power holds for each test even where no other one succeeds.
`side` is the test's: a two-sided one ("either") uses half of alpha on each side.
"""

from __future__ import annotations

from math import ceil, nan, sqrt

import numpy as np
from scipy.special import ndtr, ndtri

from gauntlet.stats import checks
from gauntlet.stats.checks import Side

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
    """Return the probability that the z test finds a true win rate `rate` to be above `baseline`.

    Normal approximation with each hypothesis' own variance: J. L. Fleiss, B. Levin and M. C. Paik,
    Statistical Methods for Rates and Proportions (3rd edition), section 2.5, without continuity
    correction. Raises ValueError for deals or cells below 1 and for rate, baseline or alpha outside
    (0, 1).
    """
    n = checks.at_least_one(deals, "deals")
    null, alternative = _deviation(baseline, "baseline"), _deviation(rate, "rate")
    # threshold for sqrt(n) times the gain
    least = float(ndtri(1 - _step(alpha, cells, side))) * null
    return float(ndtr((sqrt(n) * (rate - baseline) - least) / alternative))


def deals_one_proportion(
    rate: float,
    baseline: float,
    power: float = 0.8,
    alpha: float = 0.05,
    cells: int = 1,
    side: Side = "above",
) -> int:
    """Return the fewest deals with which `power_one_proportion` reaches `power`.

    n = ((z_alpha sqrt(p0(1-p0)) + z_power sqrt(p1(1-p1))) / (p1-p0))^2, rounded up (Fleiss, Levin
    and Paik, section 2.5). Raises ValueError for a rate that is not above the baseline, and for
    values outside (0, 1).
    """
    null, alternative = _deviation(baseline, "baseline"), _deviation(rate, "rate")
    if rate <= baseline:
        raise ValueError(f"rate must lie above the baseline {baseline:g}, got {rate:g}")
    checks.inside(power, "power")
    spread = float(ndtri(1 - _step(alpha, cells, side)) * null + ndtri(power) * alternative)
    return max(1, ceil((max(spread, 0.0) / (rate - baseline)) ** 2))


def detectable_one_proportion(
    deals: int,
    baseline: float,
    power: float = 0.8,
    alpha: float = 0.05,
    cells: int = 1,
    side: Side = "above",
) -> float:
    """Return the smallest true gain over `baseline` that `deals` deals detect with this power.

    Solves `power_one_proportion` for rate - baseline: with a = sqrt(n), c = a p0 + z_alpha
    sqrt(p0(1-p0)) and z of `power` it is a p - c = z sqrt(p(1-p)), squared a quadratic equation in
    p. nan where even a rate next to 1 is not enough. Raises ValueError as `power_one_proportion`,
    and for power outside (alpha/cells, 1).
    """
    step = _step(alpha, cells, side)
    z = float(ndtri(checks.inside(power, "power", low=step)))
    a = sqrt(checks.at_least_one(deals, "deals"))
    c = a * baseline + float(ndtri(1 - step)) * _deviation(baseline, "baseline")
    if a <= c:
        return nan
    root = z * sqrt(4 * c * (a - c) + z * z)
    return (2 * a * c + z * z + root) / (2 * (a * a + z * z)) - baseline


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


def power_paired(
    deals: int, difference: float, discordant: float, alpha: float = 0.05, cells: int = 1
) -> float:
    """Return the power of McNemar's exact two-sided test of two cells on `deals` shared deals.

    discordant: share of deals that exactly one of the cells wins, in (0, 1]; about 2p(1-p)(1-phi)
    for cells near win rate p whose results correlate by phi. difference: win rate of A minus that
    of B, in [-discordant, discordant].

    Exact: the test's power for each number of discordant deals, weighted by that number's binomial
    probability (S. W. Duffy (1984), Biometrics 40, 1005-1015). Raises ValueError for values outside
    these ranges, deals or cells below 1, alpha outside (0, 1).
    """
    from scipy.stats import binom

    n, half = checks.at_least_one(deals, "deals"), _step(alpha, cells, "either")
    share = _share_of_a(difference, discordant)
    first, last = binom.ppf(1e-13, n, discordant), binom.isf(1e-13, n, discordant)
    m = np.arange(first, last + 1)
    limit = binom.ppf(half, m, 0.5) - 1  # the most wins of the weaker side with p < alpha
    rejects = binom.cdf(limit, m, share) + binom.sf(m - limit - 1, m, share)
    return float(binom.pmf(m, n, discordant) @ rejects)


def detectable_paired(
    deals: int, discordant: float, power: float = 0.8, alpha: float = 0.05, cells: int = 1
) -> float:
    """Return the smallest true difference that `deals` shared deals detect with this power.

    Solves `power_paired` for the difference; nan where even difference = discordant is not enough.
    Arguments and errors as `power_paired`; power must lie in (alpha/cells/2, 1).
    """
    from scipy.optimize import brentq

    checks.inside(power, "power", low=_step(alpha, cells, "either"))

    def surplus(difference: float) -> float:
        return power_paired(deals, difference, discordant, alpha, cells) - power

    return float(brentq(surplus, 0.0, discordant)) if surplus(discordant) >= 0 else nan


def _step(alpha: float, cells: int, side: Side) -> float:
    """Return Holm's strictest alpha, one-sided."""
    checks.side(side)
    step = checks.inside(alpha, "alpha") / checks.at_least_one(cells, "cells")
    return step / 2 if side == "either" else step


def _deviation(rate: float, name: str) -> float:
    checks.inside(rate, name)
    return sqrt(rate * (1.0 - rate))


def _share_of_a(difference: float, discordant: float) -> float:
    """Return A's share of the discordant deals."""
    if not 0 < discordant <= 1:
        raise ValueError(f"discordant must lie above 0 and up to 1, got {discordant:g}")
    if abs(difference) > discordant:
        raise ValueError(
            f"difference must lie between -{discordant:g} and {discordant:g} (the discordant "
            f"share), got {difference:g}"
        )
    return (1.0 + difference / discordant) / 2.0
