"""Regressions clustered by deal, against closed forms, and their coverage; correlations."""

from __future__ import annotations

from math import atanh, isnan, nan, sqrt, tanh

import numpy as np
import pytest
from scipy.stats import norm

from gauntlet.stats.regression import clustered_linear, clustered_logit, pearson

RNG = np.random.default_rng(5)


def two_cells(a: int, b: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """`n` matches of each of two cells, `a` and `b` of them won; an intercept and the cell."""
    won = np.r_[np.arange(n) < a, np.arange(n) < b].astype(float)
    return won, np.c_[np.ones(2 * n), np.r_[np.zeros(n), np.ones(n)]]


def test_the_coefficient_and_its_error_are_those_of_the_log_odds_ratio() -> None:
    """Woolf's error: 1/40 + 1/60 + 1/55 + 1/45 (the sandwich equals it in a saturated model), times
    the small-sample factor G/(G-1) (n-1)/(n-k)."""
    won, design = two_cells(40, 55, 100)
    fit = clustered_logit(won, design, np.arange(200))
    assert fit.coefficients[1] == pytest.approx(np.log(55 / 45) - np.log(40 / 60))
    assert fit.coefficients[0] == pytest.approx(np.log(40 / 60))
    woolf = 1 / 40 + 1 / 60 + 1 / 55 + 1 / 45
    factor = 200 / 199 * 199 / 198
    assert fit.errors[1] ** 2 == pytest.approx(woolf * factor)
    assert fit.high[1] - fit.low[1] == pytest.approx(2 * 1.971957 * fit.errors[1])


def test_shared_deals_are_not_more_evidence() -> None:
    """Every match written down twice, in its own deal: only the factor changes."""
    won, design = two_cells(40, 55, 100)
    once = clustered_logit(won, design, np.arange(200))
    twice = clustered_logit(np.tile(won, 2), np.tile(design, (2, 1)), np.tile(np.arange(200), 2))
    assert twice.coefficients == pytest.approx(once.coefficients)
    assert twice.errors == pytest.approx(once.errors, rel=0.01)


def test_luck_that_two_cells_share_makes_their_difference_sharper() -> None:
    """Two cells that nearly always win the same deals: pairing by deal must shrink the error."""
    deals = np.arange(400)
    lucky = RNG.random(400) < 0.5
    other = np.where(RNG.random(400) < 0.05, ~lucky, lucky)
    won = np.r_[lucky, other].astype(float)
    design = np.c_[np.ones(800), np.r_[np.zeros(400), np.ones(400)]]
    shared = clustered_logit(won, design, np.r_[deals, deals])
    apart = clustered_logit(won, design, np.arange(800))
    assert shared.errors[1] < 0.5 * apart.errors[1]


def test_no_effect_is_found_no_more_often_than_promised() -> None:
    """Two rotations a deal that share its luck; half the deals under one condition. 300 sweeps."""
    found = 0
    for _ in range(300):
        luck = np.repeat(RNG.random(150) < 0.5, 2)
        won = np.where(RNG.random(300) < 0.3, RNG.random(300) < 0.5, luck).astype(float)
        condition = np.repeat(RNG.random(150) < 0.5, 2)
        design = np.c_[np.ones(300), condition]
        found += clustered_logit(won, design, np.repeat(np.arange(150), 2)).p_values[1] < 0.05
    assert 0.02 < found / 300 < 0.09


@pytest.mark.parametrize(
    "case", ["every match of a condition is won", "a condition determines another", "one deal"]
)
def test_what_the_data_do_not_settle_is_nan(case: str) -> None:
    won, design = two_cells(40, 55, 100)
    deals = np.arange(200)
    if case.startswith("every"):
        won, design = two_cells(40, 100, 100)
    elif case.startswith("a condition"):
        design = np.c_[design, design[:, 1]]
    else:
        deals = np.zeros(200)
    fit = clustered_logit(won, design, deals)
    assert np.isnan(fit.p_values).all()
    assert fit.coefficients.shape == (design.shape[1],)


def test_the_linear_coefficient_is_the_difference_of_means() -> None:
    """Two groups of 50 with their own scatter: error^2 is the sum of s^2 (n-1)/n^2 of both, times
    the small-sample factor G/(G-1) (n-1)/(n-k) = 100/98."""
    values = np.r_[RNG.normal(3, 1, 50), RNG.normal(5, 2, 50)]
    design = np.c_[np.ones(100), np.r_[np.zeros(50), np.ones(50)]]
    fit = clustered_linear(values, design, np.arange(100))
    first, second = values[:50], values[50:]
    assert fit.coefficients[1] == pytest.approx(second.mean() - first.mean())
    assert fit.errors[1] ** 2 == pytest.approx((first.var() + second.var()) / 50 * 100 / 98)


def test_a_linear_fit_of_what_one_condition_determines_is_unknown() -> None:
    design = np.ones((10, 2))
    assert np.isnan(clustered_linear(np.arange(10), design, np.arange(10)).coefficients).all()


def test_a_correlation_is_that_of_numpy_without_pairs_of_which_a_side_is_unknown() -> None:
    x, y = [55.8, 63.2, 53.8, nan, 53.6], [57.3, 61.5, 53.9, 50.0, 53.7]
    found = pearson(x, y)
    assert found.n == 4
    assert found.estimate == pytest.approx(np.corrcoef(x[:3] + x[4:], y[:3] + y[4:])[0, 1])


def test_the_limits_of_a_correlation_are_fishers() -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_normal(20)
    y = x + rng.standard_normal(20)
    found = pearson(x, y)
    middle, error = atanh(found.estimate), 1 / sqrt(17)
    assert found.low == pytest.approx(tanh(middle - norm.ppf(0.975) * error))
    assert found.high == pytest.approx(tanh(middle + norm.ppf(0.975) * error))
    assert pearson(x, y, 0.5).low > found.low


def test_three_points_have_a_correlation_and_no_limits() -> None:
    found = pearson([1, 2, 3], [1, 3, 2])
    assert found.estimate == pytest.approx(0.5)
    assert isnan(found.low)
    assert isnan(found.high)


@pytest.mark.parametrize(("x", "y"), [([1, 2], [3, 3]), ([1], [3]), ([nan, 2], [3, 4]), ([], [])])
def test_a_correlation_of_too_little_is_nan(x: list[float], y: list[float]) -> None:
    found = pearson(x, y)
    assert isnan(found.estimate)
    assert isnan(found.low)
