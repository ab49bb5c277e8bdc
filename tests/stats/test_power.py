"""Power analysis: closed forms, exact enumeration of the planned test, simulation."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import binom, multinomial, norm
from statsmodels.stats.power import normal_power_het, normal_sample_size_one_tail

from gauntlet.stats.checks import Side
from gauntlet.stats.paired import PairCounts, mcnemar
from gauntlet.stats.power import (
    deals_one_proportion,
    detectable_mean,
    detectable_one_proportion,
    detectable_paired,
    power_one_proportion,
    power_paired,
)
from gauntlet.stats.proportions import one_sample_z

RANDOM_SEAT = 0.4954
"""Win rate of the second of two random players at UNO."""


def exact_power_of_z(deals: int, rate: float, baseline: float, alpha: float) -> float:
    wins = np.arange(deals + 1)
    significant = one_sample_z(wins, deals, baseline).p_value < alpha
    return float(binom.pmf(wins, deals, rate)[significant].sum())


# --- one cell against a baseline ---


def test_400_deals_show_6_2_points() -> None:
    detectable = detectable_one_proportion(400, RANDOM_SEAT, power=0.8)
    assert detectable == pytest.approx(0.0620, abs=5e-5)
    assert exact_power_of_z(400, RANDOM_SEAT + detectable, RANDOM_SEAT, 0.05) == pytest.approx(
        0.8, abs=0.01
    )


def test_two_cells_need_1065_deals_for_the_rule_players_edge() -> None:
    """54.5% against 49.54%, 90% power, Holm over two cells: about 1,100 deals."""
    z_alpha, z_power = norm.isf(0.025), norm.isf(0.1)
    spread = z_alpha * sqrt(RANDOM_SEAT * (1 - RANDOM_SEAT)) + z_power * sqrt(0.545 * 0.455)
    by_hand = (spread / (0.545 - RANDOM_SEAT)) ** 2
    deals = deals_one_proportion(0.545, RANDOM_SEAT, power=0.9, cells=2)
    assert deals == 1065
    assert deals - 1 < by_hand <= deals
    assert exact_power_of_z(deals, 0.545, RANDOM_SEAT, 0.025) == pytest.approx(0.9, abs=0.01)


@given(
    st.integers(1, 50_000),
    st.floats(0.01, 0.98),
    st.floats(0.01, 0.5),
    st.floats(0.06, 0.99),
    st.integers(1, 16),
    st.sampled_from(("above", "either")),
)
def test_closed_forms_are_statsmodels(
    deals: int, baseline: float, gain: float, power: float, cells: int, side: Side
) -> None:
    rate, alpha = min(baseline + gain, 0.99), 0.05
    step = alpha / cells / (2 if side == "either" else 1)
    spreads = {
        "std_null": sqrt(baseline * (1 - baseline)),
        "std_alternative": sqrt(rate * (1 - rate)),
    }
    found = power_one_proportion(deals, rate, baseline, alpha, cells, side)
    theirs = normal_power_het(rate - baseline, deals, step, alternative="larger", **spreads)
    assert found == pytest.approx(float(theirs), abs=1e-12)
    fewest = normal_sample_size_one_tail(rate - baseline, power, step, **spreads)
    planned = deals_one_proportion(rate, baseline, power, alpha, cells, side)
    assert abs(planned - fewest) <= 1 + 1e-9 * fewest
    least = detectable_one_proportion(deals, baseline, power, alpha, cells, side)

    def surplus(rate: float) -> float:
        return power_one_proportion(deals, rate, baseline, alpha, cells, side) - power

    if surplus(1 - 1e-9) < 0:
        assert np.isnan(least) or least == pytest.approx(1 - baseline, abs=1e-6)
    else:
        assert baseline + least == pytest.approx(brentq(surplus, baseline, 1 - 1e-9), abs=1e-9)


def test_what_no_rate_can_show_is_nan() -> None:
    assert np.isnan(detectable_one_proportion(2, 0.9))


# --- two cells on the same deals ---


def brute_force_power(deals: int, a_only: float, b_only: float, alpha: float) -> float:
    """The chance of every possible table, summed over the tables that the test rejects."""
    total = 0.0
    for a in range(deals + 1):
        for b in range(deals + 1 - a):
            table = PairCounts(0, a, b, deals - a - b)
            if mcnemar(table).p_value < alpha:
                chance = [a_only, b_only, 1 - a_only - b_only]
                total += multinomial.pmf([a, b, table.neither], deals, chance)
    return total


@pytest.mark.parametrize(("a_only", "b_only"), [(0.4, 0.1), (0.5, 0.5), (0.05, 0.6)])
def test_paired_power_is_the_sum_over_all_tables(a_only: float, b_only: float) -> None:
    power = power_paired(14, a_only - b_only, a_only + b_only)
    assert power == pytest.approx(brute_force_power(14, a_only, b_only, 0.05), abs=1e-9)


def test_the_exact_test_needs_a_little_more_than_connors_formula() -> None:
    """Connor (1987), Biometrics 43, 207-211: 23 pairs where one side alone wins 45% and the
    other alone 5%, 391 where they do 30% and 20%."""
    for difference, discordant, connor in ((0.4, 0.5, 23), (0.1, 0.5, 391)):
        spread = norm.isf(0.025) * sqrt(discordant) + norm.isf(0.2) * sqrt(
            discordant - difference**2
        )
        assert np.ceil((spread / difference) ** 2) == connor
        enough = connor + int(np.ceil(3 / difference)) - 1
        few, more = (power_paired(n, difference, discordant) for n in (connor, enough))
        assert few < 0.8 < more


@settings(max_examples=40)
@given(st.integers(1, 5000), st.floats(0.05, 1.0), st.floats(0.3, 0.95))
def test_a_paired_detectable_difference_has_the_power(
    deals: int, discordant: float, power: float
) -> None:
    difference = detectable_paired(deals, discordant, power)
    if np.isnan(difference):
        assert power_paired(deals, discordant, discordant) < power
    else:
        assert power_paired(deals, difference, discordant) == pytest.approx(power, abs=1e-6)


def test_the_least_mean_is_found_with_the_power_promised() -> None:
    """Error 1, alpha .05: 1.6449 + .8416; and a normal mean that far off is found in 80%."""
    least = detectable_mean(1.0)
    assert least == pytest.approx(2.4865, abs=1e-4)
    assert norm.sf(norm.isf(0.05) - least) == pytest.approx(0.8)
    assert detectable_mean(0.5, cells=8) == pytest.approx(0.5 * (norm.isf(0.05 / 8) + 0.84162))
