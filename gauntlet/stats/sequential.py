"""Sequential analysis: when to stop, with error rates that account for repeated looks.

One value per deal, in the order of the deals, from the first on without gaps.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import ArrayLike

from gauntlet.stats import checks
from gauntlet.stats.checks import Floats

FIRST_LOOK = 200
"""Minimum deals before an asymptotic confidence sequence may be used."""

LOOK_AGAIN = 1.05
"""Factor by which the number of deals grows between looks."""

TIGHT_AT = 500
"""Number of deals at which confidence sequences are tuned to be tightest."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Where a rule stopped: after how many deals, and whether the value is above the null."""

    deals: int
    above: bool


@dataclass(frozen=True, slots=True)
class Sequence:
    """A running mean with its confidence sequence, one entry per deal; nan where undefined."""

    estimate: Floats
    low: Floats
    high: Floats


def sprt(
    wins: ArrayLike, baseline: float, rate: float, alpha: float = 0.05, beta: float = 0.1
) -> Stop | None:
    """Return where the sequential probability ratio test of a win rate stops, None if it does not.

    wins: 0 or 1 per deal, or between (1/2 for a draw), in which case means are tested: such a deal
    counts as that share of a win and the rest of a loss. Null: the win rate is at most `baseline`;
    alternative: at least `rate`.

    After each deal the likelihood ratio of `rate` to `baseline` is compared with 1/alpha (above)
    and beta (not above): A. Wald (1945), Annals of Mathematical Statistics 16, 117-186, with
    boundaries valid for any number of deals, by Ville's inequality: a win rate of `baseline` or
    less is called above with probability at most `alpha`, one of `rate` or more is called not above
    with at most `beta`. Values between 0 and 1 keep both bounds, since a ratio to a power below 1
    has at most the expectation of the linear interpolation between win and loss. Raises ValueError
    for a rate that is not above the baseline, and values outside (0, 1).
    """
    p0, p1 = checks.inside(baseline, "baseline"), checks.inside(rate, "rate")
    if p1 <= p0:
        raise ValueError(f"rate must lie above the baseline {p0:g}, got {p1:g}")
    won, win, loss = np.asarray(wins, float), log(p1 / p0), log((1 - p1) / (1 - p0))
    ratio = np.cumsum(won * win + (1 - won) * loss)
    upper, lower = -log(checks.inside(alpha, "alpha")), log(checks.inside(beta, "beta"))
    crossed = np.flatnonzero((ratio >= upper) | (ratio <= lower))
    if crossed.size == 0:
        return None
    return Stop(int(crossed[0]) + 1, bool(ratio[crossed[0]] >= upper))


def confidence_sequence(values: ArrayLike, alpha: float = 0.05) -> Sequence:
    """Return the running mean with an asymptotic confidence sequence: limits that hold
    simultaneously, for values of any spread.

    I. Waudby-Smith, D. Arbour, R. Sinha, E. H. Kennedy and A. Ramdas (2024), Time-uniform central
    limit theory and asymptotic confidence sequences, Annals of Statistics 52, theorem 2.2: after t
    values with standard deviation s, the mean is within

        s sqrt(2 (t r^2 + 1) / (t^2 r^2) log(sqrt(t r^2 + 1) / alpha))

    at every t with probability 1 - alpha, where r, by their equation 2.8, makes this tightest at
    TIGHT_AT deals. Asymptotic: entries before FIRST_LOOK values are nan. Raises ValueError for
    values not finite and an alpha outside (0, 1).
    """
    x = checks.finite(np.asarray(values, float), "values")
    strength = -2 * log(checks.inside(alpha, "alpha"))
    r2 = (strength + log(strength) + 1) / TIGHT_AT
    t = np.arange(1, x.size + 1, dtype=float)
    mean = np.cumsum(x) / t
    spread = np.sqrt(np.maximum(np.cumsum(x**2) / t - mean**2, 0.0))
    half_width = spread * np.sqrt(
        2 * (t * r2 + 1) / (t**2 * r2) * (0.5 * np.log(t * r2 + 1) - log(alpha))
    )
    half_width[: FIRST_LOOK - 1] = np.nan
    return Sequence(mean, mean - half_width, mean + half_width)


def bounded_sequence(values: ArrayLike, alpha: float = 0.05) -> Sequence:
    """Return the running mean of values from 0 to 1 with a confidence sequence: limits that hold
    simultaneously, exactly and from the first value on.

    I. Waudby-Smith and A. Ramdas (2024), Estimating means of bounded random variables by betting,
    Journal of the Royal Statistical Society B 86, 1-27, theorem 2: the predictable plug-in
    empirical Bernstein sequence, with bets of at most 1/2. The limits lie around a weighted mean,
    so the estimate need not be in their middle. Raises ValueError for values outside 0 to 1 and an
    alpha outside (0, 1).
    """
    x = checks.finite(np.asarray(values, float), "values")
    if x.size and not 0 <= x.min() <= x.max() <= 1:
        raise ValueError(f"values must be from 0 to 1, got {x.min():g} to {x.max():g}")
    strength = log(2 / checks.inside(alpha, "alpha"))
    t = np.arange(1, x.size + 1, dtype=float)
    means = (0.5 + np.cumsum(x)) / (t + 1)
    before = np.concatenate([[0.5], means[:-1]])
    spread = (0.25 + np.cumsum((x - means) ** 2)) / (t + 1)
    known = np.concatenate([[0.25], spread[:-1]])[: x.size]
    bets = np.minimum(np.sqrt(2 * strength / (known * t * np.log1p(t))), 0.5)
    risk = np.cumsum((x - before[: x.size]) ** 2 * (-np.log1p(-bets) - bets))
    centre, radius = np.cumsum(bets * x) / np.cumsum(bets), (strength + risk) / np.cumsum(bets)
    low = np.maximum.accumulate(np.clip(centre - radius, 0, 1))
    high = np.minimum.accumulate(np.clip(centre + radius, 0, 1))
    return Sequence(np.cumsum(x) / t, low, high)


def looks(deals: int) -> list[int]:
    """Return the numbers of deals, up to `deals`, at which to check a confidence sequence."""
    look_deals, at = [], float(FIRST_LOOK)
    while at <= deals:
        look_deals.append(int(at))
        at = max(at * LOOK_AGAIN, at + 1)
    return look_deals


def precision(
    values: ArrayLike, null: float, half_width: float, alpha: float = 0.05
) -> Stop | None:
    """Return where the confidence sequence of `values` is first seen to be within +-`half_width`,
    None if never; `above` is whether it then lies entirely above `null`.

    Raises ValueError for a half-width that is not positive, and as `confidence_sequence` does.
    """
    checks.inside(half_width, "half_width", 0.0, np.inf)
    sequence = confidence_sequence(values, alpha)
    for deals in looks(sequence.estimate.size):
        low = sequence.low[deals - 1]
        if sequence.estimate[deals - 1] - low <= half_width:
            return Stop(deals, bool(low > null))
    return None
