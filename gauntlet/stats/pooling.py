"""Partial pooling: shrink similar estimates towards their common mean, according to their noise.

The best of many cells is partly lucky; on average partial pooling removes that bias.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri, stdtrit

from gauntlet.stats import checks
from gauntlet.stats.checks import Floats

LEAST = 3
"""Minimum number of estimates to estimate the spread of the true values."""
VARIED, CORRELATED = 10.0, 5.0
"""Observations that the mean variance is worth to each, and, for each mean, the mean correlation to
all."""
GRID, POINTS = 200, 400
"""Grid sizes: standard deviations tried, and points at which a distribution is evaluated."""
FARTHEST = 10.0
"""Largest standard deviation tried, in units of the observed spread."""


@dataclass(frozen=True, slots=True)
class Pooled:
    """Partially pooled estimates, one per input: the posterior mean of each true value with limits.

    mean: of the population of true values; spread: their standard deviation. Both are posterior
    means. kept: share of an estimate's distance from the mean that remains, 0 to 1, averaged over
    the estimates.
    """

    estimates: Floats
    low: Floats
    high: Floats
    mean: float
    spread: float
    kept: float


def partially_pooled(estimates: ArrayLike, covariance: ArrayLike, level: float = 0.95) -> Pooled:
    """Pool k >= 3 estimates whose errors have this (k, k) covariance.

    The hierarchical normal model: true values from N(mean, spread^2), estimates around them with
    the covariance, flat priors on mean and spread, the spread integrated out on a grid (D. B. Rubin
    (1981), J. Educ. Stat. 6, 377-401; A. Gelman et al. (2013), Bayesian Data Analysis, section 5.4,
    with a covariance instead of variances). So the limits include the uncertainty of the spread,
    unlike empirical Bayes with a point estimate of it (DerSimonian and Laird). Raises ValueError
    for shapes that do not fit, fewer than three estimates, an estimate without an error, and a
    level outside (0, 1).
    """
    y, s = np.asarray(estimates, float), np.asarray(covariance, float)
    checks.inside(level, "level")
    if y.ndim != 1 or s.shape != (y.size, y.size) or y.size < LEAST:
        raise ValueError(
            f"{LEAST} estimates or more need a covariance of each two, got shapes {y.shape} and "
            f"{s.shape}"
        )
    checks.finite(np.append(s.ravel(), y), "estimates and their covariance")
    if (np.diag(s) <= 0).any():
        raise ValueError("each estimate needs an error above 0")
    decorrelated = _decorrelate(y, s)
    means, errors = _conditional(y, decorrelated)
    shares = 1 - (decorrelated.values / decorrelated.total_values).mean(axis=1)
    weights, centres, spreads = decorrelated.weights, decorrelated.centres, decorrelated.spreads
    low, high = _limits(means, errors, weights, level)
    mean, spread, share = (float(weights @ each) for each in (centres, spreads, shares))
    return Pooled(weights @ means, low, high, mean, spread, share)


def moderated(covariance: ArrayLike, n: ArrayLike, shared: ArrayLike) -> Floats:
    """An estimated covariance of the errors of k means, (k, k), made fit for `partially_pooled`,
    which takes it as known.

    n: observations of each mean, 2 or more. shared: (k, k), the observations that two share over
    the root of the product of both n.

    With few observations an estimated covariance is close to singular, and pooling would exploit
    its weakest directions. So correlations are drawn towards one for all that is shared (O. Ledoit
    and M. Wolf (2004), Journal of Portfolio Management 30(4), 110-119), as if it were known from
    CORRELATED k observations, and variances towards their mean, as if that were known from VARIED
    (G. K. Smyth (2004), Stat. Appl. Genet. Mol. Biol. 3, 3). Errors are then widened as Student's t
    is. The weights are ours: benchmarks/robustness.py measures what they give.
    """
    raw, n, overlap = (np.asarray(each, float) for each in (covariance, n, shared))
    errors, k = np.sqrt(np.diag(raw)), len(raw)
    correlations, others = raw / np.outer(errors, errors), ~np.eye(k, dtype=bool)
    common = correlations[others].sum() / max(overlap[others].sum(), 1e-12)
    weight = (n.min() - 1) / (n.min() - 1 + CORRELATED * k)
    target = np.clip(common, 0.0, 0.95) * overlap
    mixed = np.where(others, weight * correlations + (1 - weight) * target, 1.0)
    spread = n * errors**2  # of one observation
    squares = ((n - 1) * spread + VARIED * spread.mean()) / (n - 1 + VARIED) / n
    wider = np.sqrt(squares) * stdtrit(n - 1 + VARIED, 0.975) / ndtri(0.975)
    return np.asarray(mixed * np.outer(wider, wider))


@dataclass(frozen=True, slots=True)
class _Decorrelated:
    """The estimates along the eigenvectors of their covariance, where errors are independent.

    values: eigenvalues; ones, rotated: the vector of ones and the estimates in that basis. spreads:
    grid of standard deviations of the true values, denser near 0; weights: posterior weight of
    each. Given each spread: total_values, eigenvalues of the estimates' own covariance (GRID, k);
    precision and centres: of the common mean.
    """

    values: Floats
    vectors: Floats
    ones: Floats
    rotated: Floats
    spreads: Floats
    weights: Floats
    total_values: Floats
    precision: Floats
    centres: Floats


def _decorrelate(y: Floats, s: Floats) -> _Decorrelated:
    values, vectors = np.linalg.eigh(s)
    top = FARTHEST * max(float(y.std()), float(np.sqrt(np.diag(s).max())))
    steps = (np.arange(GRID) + 0.5) / GRID
    spreads = top * steps**2
    ones, rotated = vectors.sum(axis=0), vectors.T @ y
    variances = values + spreads[:, None] ** 2
    precision = (ones**2 / variances).sum(axis=1)
    centres = (ones * rotated / variances).sum(axis=1) / precision
    far = ((rotated - centres[:, None] * ones) ** 2 / variances).sum(axis=1)
    logs = -0.5 * (np.log(variances).sum(axis=1) + np.log(precision) + far) + np.log(steps)
    weights = np.exp(logs - logs.max())
    shares = weights / weights.sum()
    return _Decorrelated(
        values, vectors, ones, rotated, spreads, shares, variances, precision, centres
    )


def _conditional(y: Floats, decorrelated: _Decorrelated) -> tuple[Floats, Floats]:
    """Return means and errors of the true values given each spread: shape (GRID, k)."""
    pull = decorrelated.values / decorrelated.total_values
    around = decorrelated.rotated - decorrelated.centres[:, None] * decorrelated.ones
    means = y - (pull * around) @ decorrelated.vectors.T
    variance = (pull * decorrelated.spreads[:, None] ** 2) @ (decorrelated.vectors**2).T
    shared = ((pull * decorrelated.ones) @ decorrelated.vectors.T) ** 2 / decorrelated.precision[
        :, None
    ]
    return means, np.sqrt(np.maximum(variance + shared, 0.0))


def _limits(means: Floats, errors: Floats, weights: Floats, level: float) -> tuple[Floats, Floats]:
    """Return quantiles of the mixtures of normals, shape (GRID, k)."""
    tail = (1 - level) / 2
    limits = []
    used = weights > 1e-6
    shares = weights[used] / weights[used].sum()
    for mean, error in zip(means[used].T, errors[used].T, strict=True):
        error = np.maximum(error, 1e-12)
        places = np.linspace((mean - 8 * error).min(), (mean + 8 * error).max(), POINTS)
        below = shares @ ndtr((places - mean[:, None]) / error[:, None])
        limits.append(np.interp([tail, 1 - tail], below, places))
    low, high = np.array(limits).T
    return low, high
