"""Regressions of wins or returns on conditions, with standard errors clustered by deal; and
Pearson's correlation.

Matches of one deal share their cards, so they are not independent; the covariance is the sandwich
estimator summed by deal.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gauntlet.stats import checks
from gauntlet.stats.checks import Floats


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted regression; every array has one entry per column of the design.

    coefficients: log odds ratios, or differences of the mean. errors: their cluster-robust standard
    errors. p_values: two-sided Wald tests of "no effect". low, high: limits of the coefficients.
    All nan where there is no finite solution: a condition won or lost every match, or is determined
    by another one.
    """

    coefficients: Floats
    errors: Floats
    p_values: Floats
    low: Floats
    high: Floats


def clustered_logit(
    won: ArrayLike, design: ArrayLike, clusters: ArrayLike, level: float = 0.95
) -> Fit:
    """Maximum likelihood of P(won) = 1 / (1 + exp(-design @ coefficients)), errors by cluster.

    won: 0 or 1 per match, shape (matches,). design: shape (matches, columns); include a column of
    ones for an intercept. clusters: the deal of each match.

    Covariance: K.-Y. Liang and S. L. Zeger (1986), Biometrika 73, 13-22, with independence as the
    working correlation and the small-sample factor G/(G-1) (n-1)/(n-k) of statsmodels; limits and
    p-values by Student's t with G-1 degrees of freedom (Cameron and Miller 2015, section VI.D).
    Raises ValueError for shapes that do not fit, outcomes other than 0 and 1, numbers that are not
    finite, and a level outside (0, 1).
    """
    from statsmodels.discrete.discrete_model import Logit

    y, x, groups = _check(won, design, clusters, "won")
    if not np.isin(y, (0.0, 1.0)).all():
        raise ValueError("won must be 0 or 1 for each match")
    return _fit(Logit(y, x), groups, level, disp=0)


def clustered_linear(
    values: ArrayLike, design: ArrayLike, clusters: ArrayLike, level: float = 0.95
) -> Fit:
    """Least squares of values = design @ coefficients, errors by cluster.

    values: one finite number per match; other arguments, covariance and errors raised as in
    `clustered_logit`.
    """
    from statsmodels.regression.linear_model import OLS

    y, x, groups = _check(values, design, clusters, "values")
    return _fit(OLS(y, x), groups, level)


def _fit(model: Any, groups: Floats, level: float, **kwargs: Any) -> Fit:
    """Fit a statsmodels model; all nan where there is no finite solution."""
    from statsmodels.tools.sm_exceptions import ModelWarning

    checks.inside(level, "level")
    unknown = np.full(model.exog.shape[1], np.nan)
    no_fit = Fit(unknown, unknown, unknown, unknown, unknown)
    if np.linalg.matrix_rank(model.exog) < len(unknown) or len(np.unique(groups)) < 2:
        return no_fit
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ModelWarning)
            warnings.simplefilter("ignore", RuntimeWarning)  # overflow while diverging
            options = {"cov_kwds": {"groups": groups}, "use_t": True}
            fit = model.fit(cov_type="cluster", **options, **kwargs)
    except (ModelWarning, np.linalg.LinAlgError):
        return no_fit
    low, high = fit.conf_int(1.0 - level).T
    if not np.isfinite([fit.params, fit.bse]).all():
        return no_fit
    return Fit(fit.params, fit.bse, fit.pvalues, low, high)


def _check(
    values: ArrayLike, design: ArrayLike, clusters: ArrayLike, name: str
) -> tuple[Floats, Floats, Floats]:
    y, x, groups = np.asarray(values, float), np.asarray(design, float), np.asarray(clusters)
    if y.ndim != 1 or x.ndim != 2 or groups.shape != y.shape or len(x) != len(y):
        shapes = f"{y.shape}, {x.shape} and {groups.shape}"
        raise ValueError(f"{name}, design and clusters need one row a match, got shapes {shapes}")
    checks.finite(y, name)
    checks.finite(x, "design")
    return y, x, groups


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
