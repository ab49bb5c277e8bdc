"""Which conditions go with winning, or with a higher figure: regressions with the deal as cluster.

Matches on one deal share their cards, so they are not independent; the covariance is the
sandwich estimator summed by deal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, stdtr, stdtrit

from stats import checks
from stats.checks import Floats

STEPS, CLOSE = 35, 1e-10
"""Newton's steps at most, and the last one's largest: it doubles the digits, from zero in six or so
steps. Where conditions foretell a result, coefficients grow by about 1 a step without end."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A regression; every array has one entry a column of the design.

    coefficients: log odds ratios, or differences of the mean. errors: their cluster-robust standard
    errors. p_values: two-sided Wald tests of "no effect". low, high: limits of the coefficients.
    All nan where the data settle no finite answer: a condition that won or lost every match, or one
    that another condition determines.
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

    won: 0 or 1 a match, shape (matches,). design: shape (matches, columns), with a column of ones
    if there is to be an intercept. clusters: the deal of each match.
    Covariance: K.-Y. Liang and S. L. Zeger (1986), Biometrika 73, 13-22, with independence as the
    working correlation and the small-sample factor G/(G-1) (n-1)/(n-k) of Stata; limits and
    p-values by Student's t with G-1 degrees of freedom (Cameron and Miller 2015, section VI.D).
    Raises ValueError for shapes that do not fit, outcomes other than 0 and 1, numbers that are
    not finite, and a level outside (0, 1).
    """
    y, x, groups = _checked(won, design, clusters, "won")
    if not np.isin(y, (0.0, 1.0)).all():
        raise ValueError("won must be 0 or 1 for each match")
    if not _settled(x, groups):
        return _nothing(x)
    coefficients = np.zeros(x.shape[1])
    for _ in range(STEPS):
        chance = expit(x @ coefficients)
        information = (x.T * (chance * (1 - chance))) @ x
        try:
            step = np.linalg.solve(information, x.T @ (y - chance))
        except np.linalg.LinAlgError:
            break
        coefficients = coefficients + step
        if np.abs(step).max() < CLOSE:
            return _fitted(coefficients, information, x, y - chance, groups, level)
    return _nothing(x)


def clustered_linear(
    values: ArrayLike, design: ArrayLike, clusters: ArrayLike, level: float = 0.95
) -> Fit:
    """Least squares of values = design @ coefficients, errors by cluster.

    values: one finite figure a match; the rest, the covariance and what is raised as in
    `clustered_logit`.
    """
    y, x, groups = _checked(values, design, clusters, "values")
    if not _settled(x, groups):
        return _nothing(x)
    coefficients = np.asarray(np.linalg.lstsq(x, y)[0], np.float64)
    residuals: Floats = y - x @ coefficients
    return _fitted(coefficients, x.T @ x, x, residuals, groups, level)


def _settled(x: Floats, groups: Floats) -> bool:
    """Whether no condition determines another, and there is more than one deal."""
    return bool(np.linalg.matrix_rank(x) == x.shape[1] and len(np.unique(groups)) > 1)


def _nothing(x: Floats) -> Fit:
    unknown = np.full(x.shape[1], np.nan)
    return Fit(unknown, unknown, unknown, unknown, unknown)


def _fitted(
    coefficients: Floats,
    information: Floats,
    x: Floats,
    residuals: Floats,
    groups: Floats,
    level: float,
) -> Fit:
    """The sandwich: the inverse of the information around the scores summed by cluster."""
    checks.inside(level, "level")
    names, own = np.unique(groups, return_inverse=True)
    (n, k), clusters = x.shape, len(names)
    if n == k:
        return _nothing(x)
    scores = np.zeros((clusters, k))
    np.add.at(scores, own, x * residuals[:, None])
    bread = np.linalg.inv(information)
    factor = clusters / (clusters - 1) * (n - 1) / (n - k)
    errors = np.sqrt(factor * np.diag(bread @ (scores.T @ scores) @ bread))
    if not np.isfinite([coefficients, errors]).all():
        return _nothing(x)
    with np.errstate(divide="ignore", invalid="ignore"):  # an exact fit has no error
        p_values = 2 * stdtr(clusters - 1, -np.abs(coefficients / errors))
    reach = stdtrit(clusters - 1, 0.5 + level / 2) * errors
    return Fit(coefficients, errors, p_values, coefficients - reach, coefficients + reach)


def _checked(
    values: ArrayLike, design: ArrayLike, clusters: ArrayLike, what: str
) -> tuple[Floats, Floats, Floats]:
    y, x, groups = np.asarray(values, float), np.asarray(design, float), np.asarray(clusters)
    if y.ndim != 1 or x.ndim != 2 or groups.shape != y.shape or len(x) != len(y):
        shapes = f"{y.shape}, {x.shape} and {groups.shape}"
        raise ValueError(f"{what}, design and clusters need one row a match, got shapes {shapes}")
    checks.finite(y, what)
    checks.finite(x, "design")
    return y, x, groups
