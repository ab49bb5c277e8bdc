"""Control variates: corrections of known mean 0 that take luck out of a mean.

AIVAT (N. Burch et al., 2018, AAAI, arXiv:1612.06915) adds the corrections as they are. Any
coefficients keep the mean if they are fixed without the observation that they correct, and fitted
ones repair a value function that is off in scale.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gauntlet.stats import checks
from gauntlet.stats.checks import Floats
from gauntlet.stats.means import Span, limits, reaching, with_error

FIRST, GROWTH = 5, 2
"""Observations before anything is fitted, and the factor between two fits."""
PRIOR = 3.0
"""Observations that a coefficient of 1, that of a perfect value function, is worth."""
LEAST = 0.3
"""The least weight of that coefficient, in variances of what it leaves. With it, a coefficient from
n observations is off 1 by at most sqrt(n / LEAST), as 1 itself would fit better than more."""
ROUNDING = 1e-9
"""Relative difference of two standard deviations that may be rounding."""


def corrected(values: ArrayLike, corrections: ArrayLike) -> Floats:
    """Return values + corrections @ coefficients, float64 of shape (n,).

    values: one per independent observation, in order, shape (n,). corrections: shape (n, groups),
    each of mean 0 given everything before it. Coefficients come from earlier observations alone, by
    least squares shrunk towards 1, so a sequence may be looked at after any of them. Raises
    ValueError for shapes that do not fit and numbers that are not finite.
    """
    y, c = np.asarray(values, float), np.asarray(corrections, float)
    checks.finite(y, "values")
    checks.finite(c, "corrections")
    if c.ndim != 2 or len(c) != len(y):
        raise ValueError(f"{len(y)} values need as many rows of corrections, got {c.shape}")
    found, start, coefficients = y.copy(), 0, np.ones(c.shape[1])
    while start < len(y):
        end = FIRST if start == 0 else start * GROWTH
        coefficients = _fitted(y[:start], c[:start]) if start else coefficients
        # Not a product of matrices: its last bits depend on the number of rows.
        found[start:end] += (c[start:end] * coefficients).sum(axis=1)
        start = end
    return found


def leads(
    raw: ArrayLike, adjusted: ArrayLike, span: Span, seatings: int = 1, error: float = 0.0
) -> bool:
    """Whether luck-adjusted results are to be reported instead of the raw ones of the same deals:
    if they vary less, and their 95% interval for all deals will be narrower, as far as the first
    half of the deals tells.

    The second half, whose mean is as good, has no say, and a choice by widths does not know which
    way a result lies: the limits of mirrored results are the mirrored limits. So a test of the
    chosen results rejects about as often as one that was chosen in advance (`python -m
    benchmarks.chance --table leads`). span, seatings: as for `stats.means.reaching`. error: the
    standard error that all adjusted results share. Raises ValueError as `limits` does.
    """
    y, x = np.asarray(raw, float), np.asarray(adjusted, float)
    half = len(y) // 2
    counts = len(y) / max(half, 1)
    y, x = y[:half], x[:half]
    if half < 2 or not x.std() < (1.0 - ROUNDING) * y.std():
        return False
    low, high = limits(y, span, counts=counts)
    ends = limits(x, reaching(x, span, seatings), counts=counts)
    adjusted_low, adjusted_high = with_error(x.mean(), *ends, error)
    # Without a range, few deals have no limits at all.
    return not adjusted_high - adjusted_low >= high - low


def _fitted(y: Floats, c: Floats) -> Floats:
    """Least squares of -y on the corrections, with PRIOR observations' weight on 1.

    Without LEAST, a correction that the first observations hardly have, or have as rounding errors
    alone, could get any coefficient.
    """
    inner = (c - c.mean(axis=0)).T @ (c - c.mean(axis=0))
    outer = -(c - c.mean(axis=0)).T @ (y - y.mean())
    weight = np.maximum(PRIOR * np.diag(inner) / len(y), LEAST * (y + c.sum(axis=1)).var())
    weight = np.where(weight > 0, weight, 1.0)
    solution: Floats = np.linalg.solve(inner + np.diag(weight), outer + weight)
    return solution
