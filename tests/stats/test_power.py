"""Power analysis: closed forms, exact enumeration of the planned test, simulation."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, norm
from statsmodels.stats.power import normal_sample_size_one_tail

from gauntlet.stats.checks import Side
from gauntlet.stats.power import (
    deals_one_proportion,
    detectable_mean,
    detectable_one_proportion,
    power_one_proportion,
)

RANDOM_SEAT = 0.4954
"""Win rate of the second of two random players at UNO."""


def enumerated(deals: int, rate: float, baseline: float, step: float) -> float:
    """The power by every number of wins and scipy's test of each."""
    wins = np.arange(deals + 1)
    p = [binomtest(int(won), deals, baseline, alternative="greater").pvalue for won in wins]
    return float(binom.pmf(wins, deals, rate)[np.array(p) <= step].sum())


def test_400_deals_show_6_4_points() -> None:
    detectable = detectable_one_proportion(400, RANDOM_SEAT, power=0.8)
    assert detectable == pytest.approx(0.0642, abs=5e-5)
    assert enumerated(400, RANDOM_SEAT + detectable, RANDOM_SEAT, 0.05) == pytest.approx(0.8)


def test_five_deals_of_an_even_game_show_nothing() -> None:
    """Winning all has p = 1/16, two-sided; with six it is 1/32."""
    assert np.isnan(detectable_one_proportion(5, 0.5, side="either"))
    least = detectable_one_proportion(6, 0.5, side="either")
    assert (0.5 + least) ** 6 == pytest.approx(0.8)
    assert deals_one_proportion(0.99, 0.5, side="either") == 6


@given(
    st.integers(1, 300),
    st.floats(0.01, 0.98),
    st.floats(0.01, 0.5),
    st.floats(0.06, 0.99),
    st.integers(1, 16),
    st.sampled_from(("above", "either")),
)
@settings(max_examples=40)
def test_plans_of_one_cell_are_those_of_the_enumerated_test(
    deals: int, baseline: float, gain: float, power: float, cells: int, side: Side
) -> None:
    rate, alpha = min(baseline + gain, 0.99), 0.05
    step = alpha / cells / (2 if side == "either" else 1)
    found = power_one_proportion(deals, rate, baseline, alpha, cells, side)
    assert found == pytest.approx(enumerated(deals, rate, baseline, step), abs=1e-9)
    least = detectable_one_proportion(deals, baseline, power, alpha, cells, side)
    if np.isnan(least):
        assert baseline**deals > step
    else:
        assert enumerated(deals, baseline + least, baseline, step) == pytest.approx(power)


@given(
    st.floats(0.05, 0.9),
    st.floats(0.02, 0.5),
    st.floats(0.3, 0.99),
    st.integers(1, 16),
    st.sampled_from(("above", "either")),
)
def test_the_planned_deals_are_near_statsmodels_normal_ones(
    baseline: float, gain: float, power: float, cells: int, side: Side
) -> None:
    rate, alpha = min(baseline + gain, 0.99), 0.05
    step = alpha / cells / (2 if side == "either" else 1)
    spreads = {
        "std_null": sqrt(baseline * (1 - baseline)),
        "std_alternative": sqrt(rate * (1 - rate)),
    }
    normal = normal_sample_size_one_tail(rate - baseline, power, step, **spreads)
    planned = deals_one_proportion(rate, baseline, power, alpha, cells, side)
    assert power_one_proportion(planned, rate, baseline, alpha, cells, side) >= power
    if planned > 1:
        fewer = power_one_proportion(planned - 1, rate, baseline, alpha, cells, side)
        assert fewer < power
    assert planned <= 1.2 * normal + 40 / rate
    if normal > 200:
        assert planned >= 0.9 * normal


def test_an_effect_that_no_rate_reaches_is_nan() -> None:
    assert np.isnan(detectable_one_proportion(2, 0.9))


def test_the_least_mean_is_found_with_the_power_promised() -> None:
    """Error 1, alpha .05: 1.6449 + .8416; and a normal mean that far off is found in 80%."""
    least = detectable_mean(1.0)
    assert least == pytest.approx(2.4865, abs=1e-4)
    assert norm.sf(norm.isf(0.05) - least) == pytest.approx(0.8)
    assert detectable_mean(0.5, cells=8) == pytest.approx(0.5 * (norm.isf(0.05 / 8) + 0.84162))
