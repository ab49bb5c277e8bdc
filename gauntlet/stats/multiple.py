"""Multiple tests: adjusted p-values that control the family-wise error rate."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gauntlet.stats import checks
from gauntlet.stats.checks import Floats

ALPHA = 0.05
"""The chance of any wrong claim in a family of tests, wherever one is planned, made or stated: the
intervals beside them are 95%."""


def holm(p_values: ArrayLike) -> Floats:
    """Return Holm's step-down adjusted p-values for one list, as a list of the same length.

    The i-th smallest of m p-values is multiplied by m - i + 1, and no result may lie below an
    earlier one or above 1; a result below alpha is significant at alpha for the family as a whole,
    whatever the dependence between the tests. Source: S. Holm (1979), Scandinavian Journal of
    Statistics 6, 65-70.

    nan marks a test that was not made: it stays nan and does not count in m. Raises ValueError for
    more than one axis or a p-value outside [0, 1].
    """
    p = checks.probabilities(p_values, "p-values")
    if p.ndim != 1:
        raise ValueError(f"p-values must be one list, got an array with {p.ndim} axes")
    adjusted = np.full(p.shape, np.nan)
    # Not statsmodels' multipletests: it runs the garbage collector over the whole process.
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]  # nan sorts last
    raised = np.maximum.accumulate(p[order] * np.arange(order.size, 0, -1))
    adjusted[order] = np.minimum(raised, 1.0)
    return adjusted
