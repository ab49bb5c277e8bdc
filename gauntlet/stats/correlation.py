"""Pearson's correlation with confidence limits."""

from __future__ import annotations

from math import nan
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gauntlet.stats import checks


class Correlation(NamedTuple):
    """Pearson's correlation over `n` pairs, with its confidence limits, all in [-1, 1]; nan where
    undefined."""

    estimate: float
    n: int
    low: float
    high: float


def pearson(x: ArrayLike, y: ArrayLike, level: float = 0.95) -> Correlation:
    """Return Pearson's correlation over the pairs without nan.

    The limits are R. A. Fisher's (1921), from the normal approximation of atanh(r) with standard
    error 1 / sqrt(n - 3), so they need four pairs. All fields are nan with fewer than two pairs or
    where one variable is constant. Raises ValueError for a level outside (0, 1).
    """
    from scipy.stats import pearsonr

    checks.inside(level, "level")
    a, b = np.asarray(x, float), np.asarray(y, float)
    known = np.isfinite(a) & np.isfinite(b)
    a, b = a[known], b[known]
    n = len(a)
    if n < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return Correlation(nan, n, nan, nan)
    found = pearsonr(a, b)
    low, high = found.confidence_interval(level) if n > 3 else (nan, nan)
    return Correlation(float(found.statistic), n, float(low), float(high))
