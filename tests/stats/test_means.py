"""Means of deals: closed forms, the classical exact tests as special cases, edge cases.

Outside numbers: scipy's Beta and binomial distributions, exact tests and Student's t; the sample
limits of Clopper and Pearson by statsmodels.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom, binomtest, fisher_exact, norm, ttest_1samp

from gauntlet.stats import means
from gauntlet.stats.checks import Side
from gauntlet.stats.means import LEAST, limits, p_value, per_deal, reaching, with_error

SHARE, DIFFERENCE, BOUNDLESS = (0.0, 1.0), (-1.0, 1.0), (-math.inf, math.inf)

SHARES = st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=1, max_size=40)
FEW = settings(max_examples=30, deadline=None)


def test_the_value_of_a_deal_is_the_mean_of_its_matches() -> None:
    assert per_deal([1, 0, 1, 1], ["x", "x", "y", "y"]).tolist() == [0.5, 1.0]
    assert per_deal([], []).size == 0


def test_deals_of_unequal_size_keep_the_mean_and_the_error_of_the_matches() -> None:
    """Ratio of totals: mean 3/4 of four matches, e = 1/4 and -1/4 over mean size 2."""
    found = per_deal([1, 1, 0, 1], [5, 5, 5, 6])
    assert found.mean() == 0.75
    assert found.tolist() == [0.75 - 0.25 / 2, 0.75 + 0.25 / 2]


def below(values: list[Fraction], null: Fraction) -> Fraction:
    """P(weighted mean <= null) with an exponential weight each, all values different: the closed
    form of a sum of exponentials of different means."""
    off = [value - null for value in values]
    above = [math.prod(x / (x - y) for y in off if y != x) for x in off if x > 0]
    return 1 - sum(above, Fraction(0))


@pytest.mark.parametrize("deals", [10, 20, 60])
@pytest.mark.parametrize("tail", [0.05, 0.005])
def test_shares_of_chips_are_right_to_4_percent(deals: int, tail: float) -> None:
    """Mostly small pots lost, seldom a large one won; a whole deal is added at the low end."""
    rng = np.random.default_rng(deals)
    pots = rng.gamma(0.4, 20, deals) * rng.choice([1, -0.6], deals, p=[0.45, 0.55])
    low = limits(pots, (-100, 200), level=1 - 2 * tail)[0]
    exact = below([Fraction(x) for x in (*pots, -100.0)], Fraction(float(low)))
    assert float(exact) == pytest.approx(tail, rel=0.04)


def part(wins: int, deals: int, end: float) -> float:
    """How much of a deal is added at an end: the errors by which one moves the mean, over 1/4."""
    rate = wins / deals
    error = math.sqrt(rate * (1 - rate) / (deals - 1))
    return min(1.0, abs(end - rate) / deals / error / 0.25) if error else 1.0


@pytest.mark.parametrize(("wins", "deals"), [(1, 10), (2, 14), (13, 14), (1, 1000), (300, 400)])
def test_limits_of_wins_are_quantiles_of_beta_distributions(wins: int, deals: int) -> None:
    """Clopper and Pearson's, with the part of a deal that is added in place of a whole one."""
    low, high = limits(SHARE, SHARE, counts=[deals - wins, wins])
    losses = deals - wins
    assert beta.cdf(low, wins, losses + part(wins, deals, 0)) == pytest.approx(0.025, rel=0.025)
    assert beta.sf(high, wins + part(wins, deals, 1), losses) == pytest.approx(0.025, rel=0.025)


def test_the_test_of_few_losses_is_the_exact_binomial_one() -> None:
    for wins in (10, 11, 12):
        found = p_value(SHARE, SHARE, 0.7, "above", counts=[12 - wins, wins])
        assert found == pytest.approx(binom.sf(wins - 1, 12, 0.7), rel=0.04)


def test_differences_of_wins_against_0_are_mcnemars_test() -> None:
    for a_only, b_only in ((9, 2), (7, 0), (3, 3)):
        found = p_value((-1, 0, 1), DIFFERENCE, 0, "either", counts=[b_only, 20, a_only])
        assert found == pytest.approx(binomtest(a_only, a_only + b_only).pvalue, rel=0.04)


def test_a_measured_baseline_gives_about_fishers_exact_test() -> None:
    expected = fisher_exact([[9, 1], [4_000, 6_000]], alternative="greater").pvalue
    error = math.sqrt(0.4 * 0.6 / 10_000)
    found = p_value(SHARE, SHARE, 0.4, "above", error, counts=[1, 9])
    assert found == pytest.approx(expected, rel=0.02)


@FEW
@given(SHARES, st.floats(0.05, 0.99))
def test_a_limit_is_where_its_test_is_at_the_level(values: list[float], level: float) -> None:
    low, high = limits(values, SHARE, level)
    tail = (1 - level) / 2
    if low > 0:
        assert p_value(values, SHARE, low, "above") == pytest.approx(tail, rel=1e-5)
    if high < 1:
        assert p_value(values, SHARE, high, "below") == pytest.approx(tail, rel=1e-5)


@FEW
@given(SHARES)
def test_limits_hold_the_mean_stay_in_the_range_and_mirror(values: list[float]) -> None:
    low, high = limits(values, SHARE)
    assert 0 <= low <= np.mean(values) <= high <= 1
    assert (high - low) > 0
    turned = limits(1 - np.array(values), SHARE)
    assert turned == (pytest.approx(1 - high, abs=1e-8), pytest.approx(1 - low, abs=1e-8))


def test_many_deals_within_a_range_have_students_interval() -> None:
    values = np.random.default_rng(3).beta(4, 4, 20_000)
    expected = ttest_1samp(values, 0).confidence_interval(0.95)
    width = expected.high - expected.low
    assert limits(values, SHARE) == pytest.approx((expected.low, expected.high), abs=0.01 * width)
    found = p_value(values, SHARE, 0.498, "above")
    assert found == pytest.approx(ttest_1samp(values, 0.498, alternative="greater").pvalue, rel=0.1)


def test_deals_all_alike_leave_room_for_what_was_not_seen() -> None:
    """Ten deals of 4: a weight of Beta(1, 10) may lie at an end; 1 - .025 ** (1 / 10) = .3085."""
    low, high = limits([4.0] * 10, (0, 10))
    assert low == pytest.approx(4 - 4 * 0.3085, rel=5e-3)
    assert high == pytest.approx(4 + 6 * 0.3085, rel=5e-3)


def test_luck_adjusted_results_reach_a_blunder_in_one_seating() -> None:
    """Half of the span from the mean, or its end, in one of the matches of a deal; for results that
    differ more, two standard deviations."""
    x = [0.3, 0.4, 0.5]
    assert reaching(x, SHARE) == pytest.approx((-0.1, 1.0))
    assert reaching(x, SHARE, 2) == pytest.approx((0.15, 0.7))
    assert reaching(x, SHARE, 4) == pytest.approx((0.2, 0.6)), "two standard deviations of 0.1"
    assert reaching([x, x], (-100.0, 100.0), 2)[0] == pytest.approx([-49.8, -49.8])
    assert reaching([0.3], SHARE) == pytest.approx((-0.2, 1.0))
    assert reaching(x, BOUNDLESS) == BOUNDLESS


def test_errors_of_two_sides_add_in_squares() -> None:
    z = float(norm.ppf(0.975))
    assert with_error(5.0, 2.0, 5.0, 4 / z) == (pytest.approx(0.0), pytest.approx(9.0))
    assert with_error(5.0, 2.0, 6.0, 0.0) == (2.0, 6.0)


def test_without_a_range_symmetric_values_have_students_interval() -> None:
    half = np.random.default_rng(3).normal(0, 2, 60)
    values = 1 + np.concatenate((half, -half))
    expected = ttest_1samp(values, 0).confidence_interval(0.95)
    assert limits(values, BOUNDLESS) == pytest.approx((expected.low, expected.high))
    for side, other in (("above", "greater"), ("below", "less"), ("either", "two-sided")):
        found = p_value(values, BOUNDLESS, 0.8, side)  # type: ignore[arg-type]
        assert found == pytest.approx(ttest_1samp(values, 0.8, alternative=other).pvalue)


def test_skewness_moves_the_limit_of_the_long_side_and_none_is_nearer_than_students() -> None:
    values = np.random.default_rng(4).exponential(size=200)
    plain, found = ttest_1samp(values, 0).confidence_interval(0.95), limits(values, BOUNDLESS)
    assert found[0] == pytest.approx(plain.low)
    assert found[1] > plain.high
    assert p_value(values, BOUNDLESS, found[0], "above") == pytest.approx(0.025)
    assert p_value(values, BOUNDLESS, found[1], "below") == pytest.approx(0.025)


def test_without_a_range_the_interval_covers_despite_rare_large_values() -> None:
    """A pot of 200 in one deal of 25, won as often as lost: corrected for the skewness that was
    seen alone, the interval covers .84 of 100 deals."""
    rng = np.random.default_rng(1)
    pots = rng.normal(0, 3, (2000, 100))
    values = np.where(rng.random(pots.shape) < 0.04, rng.choice((-200.0, 200.0), pots.shape), pots)
    low, high = limits(values, BOUNDLESS)
    assert ((low <= 0) & (high >= 0)).mean() > 0.93


def test_without_a_range_few_deals_or_deals_all_alike_tell_nothing() -> None:
    for values in (np.arange(LEAST - 1.0), np.ones(LEAST)):
        assert np.isnan([*limits(values, BOUNDLESS), p_value(values, BOUNDLESS, 3.0)]).all()


def test_ends_and_nothing_have_defined_answers() -> None:
    assert np.isnan([*limits([], SHARE), p_value([], SHARE, 0.5)]).all()
    assert math.isnan(p_value([0, 1], SHARE, math.nan))
    assert math.isnan(p_value([0, 0], SHARE, 0.0)), "a baseline of 0 that the data equal"
    assert p_value([0, 0.5], SHARE, 0.0) == 0
    assert p_value([0, 0.5], SHARE, 1.0) == 1
    assert p_value([0, 0], SHARE, 0.2) == 1
    assert p_value([0.3] * 5, SHARE, 0.3, "either") == 1


@pytest.mark.parametrize("side", ["above", "below", "either"])
def test_an_error_of_the_null_value_is_averaged_over(side: Side) -> None:
    """Without a range the average over a normal null value is that of the two errors together."""
    values = np.random.default_rng(5).normal(1.0, 1.0, 1_000)
    error = math.hypot(values.std(ddof=1) / math.sqrt(1_000), 0.05)
    z = (values.mean() - 0.9) / error
    expected = {"above": norm.sf(z), "below": norm.cdf(z), "either": 2 * norm.sf(abs(z))}[side]
    assert p_value(values, BOUNDLESS, 0.9, side, 0.05) == pytest.approx(expected, rel=0.05)
    within = p_value(values, (-5.0, 5.0), 0.9, side, 0.05)
    assert expected < within < 1.3 * expected, "a deal at the end that was not seen"


@FEW
@given(SHARES, st.floats(0.0, 1.0))
def test_a_cached_answer_is_the_one_computed_anew(values: list[float], null: float) -> None:
    x, n = (np.asarray(one, float) for one in np.unique(values, return_counts=True))
    for find, last in ((means.lower, 0.025), (means.chance, null)):
        kept = [find(x, n, 0.0, last) for _ in range(2)]
        anew = find.__wrapped__(x, n, np.asarray(0.0), np.asarray(last))
        assert np.array_equal(kept, [anew, anew], equal_nan=True)
