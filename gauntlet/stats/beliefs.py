"""Scores of stated probabilities: by what turned out, and by the exact probabilities.

Forecasts are float64 of shape (n, answers), 0 beyond a question's own answers; each row sums to 1.
`truth` holds the index of the right answer, (n,). The exact probabilities p are those given all
that the forecaster knew. For an outcome y drawn from p, the mean of (q - y)^2 is (q - p)^2 plus the
mean of (p - y)^2, each summed over answers: so the squared distance of a forecast q from p ranks
forecasters as the Brier score does, without the noise of y.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gauntlet.stats import checks
from gauntlet.stats.checks import Floats

FLOOR = 0.001
"""A probability below this counts as this in the log score, which is then at most 6.9."""
ROUNDING = 1e-9
"""By how much a forecast may fail to sum to 1."""
RESAMPLES = 400
STEPS = 1_000
"""Forecasts are rounded to this many steps for a consistency band."""
TIE = 1e-9
"""Options whose worths differ by less than this are equally good."""


def checked(forecasts: ArrayLike) -> Floats:
    """Return the forecasts, without rounding errors beyond 0 or 1. Raises ValueError unless all are
    probabilities that sum to 1."""
    given = np.asarray(forecasts, float)
    inner = np.clip(given, 0, 1)
    near = np.abs(given - inner) <= ROUNDING
    q = checks.probabilities(np.where(near, inner, given), "forecasts")
    sums = q.sum(axis=-1)
    off = ~(np.abs(sums - 1) <= ROUNDING)
    if off.any():
        raise ValueError(f"forecasts must sum to 1, got {sums[off][0]:g}")
    return q


def normalised(scores: ArrayLike) -> Floats:
    """Return weights, (n, answers), each row divided by its sum; nan for a row of zeros. Raises
    ValueError for negative ones."""
    weights = np.asarray(scores, float)
    if (weights < 0).any():
        raise ValueError(f"weights must be 0 or more, got {weights.min():g}")
    mass = weights.sum(axis=-1, keepdims=True)
    found: Floats = np.divide(weights, mass, out=np.full(weights.shape, np.nan), where=mass > 0)
    return found


def one_hot(truth: ArrayLike, answers: int) -> Floats:
    """Return the forecasts that are sure of the truth."""
    return np.asarray(np.asarray(truth)[:, None] == np.arange(answers), float)


def brier(forecasts: ArrayLike, truth: ArrayLike) -> Floats:
    """Return sum (q - y)^2 of each forecast, from 0 to 2 (G. W. Brier (1950), Monthly Weather
    Review 78, 1-3)."""
    q = checked(forecasts)
    return distance(one_hot(truth, q.shape[1]), q)


def distance(forecasts: ArrayLike, exact: ArrayLike) -> Floats:
    """Return sum (q - p)^2 of each forecast from the exact probabilities, from 0 to 2."""
    return np.asarray(np.square(np.subtract(forecasts, exact)).sum(-1), float)


def log_score(forecasts: ArrayLike, truth: ArrayLike, floor: float = FLOOR) -> Floats:
    """Return -ln of the probability of the truth, or of `floor` if that is more; in nats."""
    q = checked(forecasts)
    own = q[np.arange(len(q)), np.asarray(truth)]
    return np.asarray(-np.log(np.maximum(own, checks.inside(floor, "floor"))))


def sharpness(forecasts: ArrayLike) -> Floats:
    """Return sum q^2, from 1 / answers to 1. A calibrated forecaster expects the Brier score 1 less
    this."""
    return np.asarray((checked(forecasts) ** 2).sum(axis=-1))


def excess_movement(before: ArrayLike, after: ArrayLike) -> Floats:
    """Return how much more a probability moved than uncertainty fell: (after - before)^2 less the
    fall of p (1 - p), which is (after - before) (1 - 2 before).

    Its mean is 0 for successive probabilities of one event by Bayes' rule, the event itself, 0 or
    1, being the last; above 0 for one that moves too much (N. Augenblick and M. Rabin (2021),
    Quarterly Journal of Economics 136, 933-985).
    """
    first, second = (checks.probabilities(p, "probabilities") for p in (before, after))
    return np.asarray((second - first) * (1 - 2 * first))


@dataclass(frozen=True, slots=True)
class Decomposition:
    """A mean Brier score of one answer, (p - y)^2, as `miscalibration` - `discrimination` +
    `uncertainty`; all are 0 or more.

    miscalibration: what recalibration by isotonic regression would gain. discrimination: what the
    recalibrated forecasts gain over the mean outcome. uncertainty: the variance of the outcome.
    """

    miscalibration: float
    discrimination: float
    uncertainty: float


def recalibrated(p: ArrayLike, outcome: ArrayLike) -> Floats:
    """Return the isotonic regression of outcomes, 0 or 1, on their probabilities p: the calibrated
    probability of each, nondecreasing in p, equal for equal p. Shapes (n,)."""
    places = np.unique(np.asarray(p, float), return_inverse=True)[1]
    count = np.bincount(places)
    rates = np.bincount(places, np.asarray(outcome, float)) / count
    return _isotonic(rates, count.astype(float))[places]


def _isotonic(rates: Floats, weights: Floats) -> Floats:
    from sklearn.isotonic import isotonic_regression  # a slow import that few runs need

    return np.asarray(isotonic_regression(rates, sample_weight=weights))


def decomposed(p: ArrayLike, outcome: ArrayLike) -> Decomposition:
    """Decompose the mean of (p - y)^2 (CORP: T. Dimitriadis, T. Gneiting and A. Jordan (2021), PNAS
    118, e2016191118). Shapes (n,), n above 0."""
    x, y = np.asarray(p, float), np.asarray(outcome, float)
    score, best = np.mean((x - y) ** 2), np.mean((recalibrated(x, y) - y) ** 2)
    spread = np.mean((y.mean() - y) ** 2)
    return Decomposition(float(score - best), float(spread - best), float(spread))


def flattened(forecasts: ArrayLike, truth: ArrayLike, answers: ArrayLike) -> tuple[Floats, Floats]:
    """Return each probability of a forecast and whether its answer was right, 0 or 1: for every
    question as many as it has answers, (total,)."""
    q = checked(forecasts)
    own = np.arange(q.shape[1]) < np.asarray(answers)[:, None]
    return q[own], one_hot(truth, q.shape[1])[own]


@dataclass(frozen=True, slots=True)
class Band:
    """Where the recalibrated probability of calibrated forecasts would lie, at the probabilities
    `p`; all of shape (points,)."""

    p: Floats
    low: Floats
    high: Floats


def consistency_band(
    forecasts: ArrayLike,
    answers: ArrayLike,
    events: ArrayLike,
    rng: np.random.Generator,
    level: float = 0.95,
    resamples: int = RESAMPLES,
) -> Band:
    """The pointwise band of `recalibrated` if all forecasts were calibrated, by drawing outcomes
    from them (Dimitriadis, Gneiting and Jordan 2021, Sec. 2).

    answers: of each question, (n,). events: a label of what each question asks about, (n,), such as
    a card of a deal. Forecasts of one event are not independent, so its outcomes are drawn with one
    random number. Raises ValueError for a level outside (0, 1).
    """
    q, tail = checked(forecasts), (1 - checks.inside(level, "level")) / 2
    own = np.arange(q.shape[1]) < np.asarray(answers)[:, None]
    values, places = np.unique(np.round(q[own] * STEPS) / STEPS, return_inverse=True)
    count = np.bincount(places).astype(float)
    named = np.unique(np.asarray(events), return_inverse=True)[1]
    sums, drawn = np.cumsum(q, axis=1), np.empty((resamples, len(values)))
    sums[:, -1] = 1.0
    for number in range(resamples):
        shared = rng.random(named.max() + 1)[named]
        truth = (sums <= shared[:, None]).sum(axis=1)
        hits = np.bincount(places, one_hot(truth, q.shape[1])[own], minlength=len(values))
        drawn[number] = _isotonic(hits / count, count)
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0)
    return Band(values, low, high)


def value_lost(
    worths: ArrayLike, stated: ArrayLike, exact: ArrayLike, chosen: int
) -> tuple[float, float]:
    """Return what a decision lost by not knowing, and by not using what was known.

    worths: of each option given each answer, (answers, options). stated, exact: the probability of
    each answer, (answers,). chosen: the option taken. With V(a) the worth of option a under `exact`
    and b the best option under `stated`, the first is max V - V(b), 0 or more, and the second is
    V(b) - V(chosen), below 0 if the player did better than its own belief advised. Together they
    are what the decision gave away. Answers that `exact` rules out are left out of `stated`; nan
    if it gives the others nothing.
    """
    q, p = np.asarray(stated, float), checked(exact)
    possible = p > 0
    worth, q = np.asarray(worths, float)[possible], q[possible]
    if not q.sum() > 0:
        return np.nan, np.nan
    true, believed = p[possible] @ worth, q @ worth / q.sum()
    advised = float(true[believed >= believed.max() - TIE].mean())
    return float(true.max() - advised), float(advised - true[chosen])
