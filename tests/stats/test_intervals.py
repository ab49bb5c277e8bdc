"""Intervals from intervals, against published ones and ones computed from the samples."""

from __future__ import annotations

from math import isnan, nan, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from stats.intervals import difference, prediction
from stats.prediction import prediction_interval
from stats.proportions import wilson

Z = norm.ppf(0.975)


def limits(wins: int, games: int) -> tuple[float, tuple[float, float]]:
    found = wilson(wins, games)
    return float(found.estimate), (float(found.low), float(found.high))


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((56, 70, 48, 80), (0.0524, 0.3339)),
        ((9, 10, 3, 10), (0.1705, 0.8090)),
        ((10, 10, 0, 10), (0.6075, 1.0000)),
    ],
)
def test_of_two_proportions_it_is_newcombes(
    counts: tuple[int, int, int, int], expected: tuple[float, float]
) -> None:
    """Method 10 of R. G. Newcombe (1998), Statistics in Medicine 17, 873-890, table II."""
    new, old = limits(*counts[:2]), limits(*counts[2:])
    assert difference(*new, *old) == pytest.approx(expected, abs=5e-5)


@given(*[st.floats(-5, 5)] * 2, *[st.floats(0, 3)] * 2)
def test_of_symmetric_intervals_the_reaches_add_in_squares(
    new: float, old: float, one: float, other: float
) -> None:
    low, high = difference(new, (new - one, new + one), old, (old - other, old + other))
    assert (low + high) / 2 == pytest.approx(new - old, abs=1e-9)
    assert (high - low) / 2 == pytest.approx(sqrt(one**2 + other**2), abs=1e-9)


def test_an_unknown_limit_is_no_limit() -> None:
    low, high = difference(1.0, (nan, 2.0), 0.0, (-1.0, 1.0))
    assert isnan(low)
    assert high == pytest.approx(1 + sqrt(2))


@pytest.mark.parametrize(("wins", "games", "others"), [(300, 500, 200), (100, 250, 10_000)])
def test_a_prediction_is_that_of_the_proportion(wins: int, games: int, others: int) -> None:
    rate = wins / games
    reach = Z * sqrt(rate * (1 - rate) / games)
    found = prediction(rate, (rate - reach, rate + reach), games, others)
    assert found == pytest.approx(prediction_interval(wins, games, others))


def test_a_prediction_needs_games() -> None:
    with pytest.raises(ValueError, match="other_games"):
        prediction(0.5, (0.4, 0.6), 100, 0)
