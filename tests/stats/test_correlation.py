"""Pearson's correlation against numpy, and its limits against Fisher's."""

from __future__ import annotations

from math import atanh, isnan, nan, sqrt, tanh

import numpy as np
import pytest
from scipy.stats import norm

from gauntlet.stats.correlation import pearson


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
