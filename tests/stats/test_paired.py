"""Paired cells and clustered means: textbook tables, exact enumeration, coverage by simulation.

Outside numbers: the airway table (Bentur 2009) and the complete-response table (Cavo 2012) as
analysed by Fagerland, Lydersen and Laake, Statistics in Medicine 33 (2014), 2850-2875; the
thallium table of Altman et al., Statistics with Confidence (2nd edition, 2000), table 6.2.
"""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm, permutation_test, ttest_1samp
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.contingency_tables import mcnemar as mcnemar_of_statsmodels

from gauntlet.stats.checks import Side
from gauntlet.stats.means import p_value
from gauntlet.stats.paired import (
    PairCounts,
    clustered_mean,
    count_pairs,
    mcnemar,
    permutation,
    sign_flip,
)
from gauntlet.stats.proportions import wilson

AIRWAY = PairCounts(both=1, a_only=1, b_only=7, neither=12)
RESPONSE = PairCounts(both=59, a_only=6, b_only=16, neither=80)
THALLIUM = PairCounts(both=14, a_only=5, b_only=0, neither=22)

TABLES = st.builds(PairCounts, *[st.integers(0, 200)] * 4).filter(lambda c: c.deals > 0)


def within(hits: int, trials: int, rate: float) -> bool:
    """Whether a simulated rate is compatible with `rate`, with one false alarm in 10,000."""
    low, high = binom.interval(0.9999, trials, rate)
    return bool(low <= hits <= high)


# --- counting ---


def test_deals_are_counted_by_who_won_them() -> None:
    a = [1, 1, 1, 0, 0, 1]
    b = [1, 0, 0, 1, 0, 0]
    assert count_pairs(a, b) == PairCounts(both=1, a_only=3, b_only=1, neither=1)
    assert count_pairs(np.array(a, bool), np.array(b, bool)).deals == 6
    assert count_pairs([], []).deals == 0


# --- McNemar's test and its interval ---


@pytest.mark.parametrize(
    ("table", "p"),
    [
        (AIRWAY, 2 * (comb(8, 0) + comb(8, 1)) / 2**8),  # 0.070
        (RESPONSE, 2 * sum(comb(22, k) for k in range(7)) / 2**22),  # 0.052
        (THALLIUM, 2 / 2**5),  # 0.063
    ],
)
def test_mcnemar_is_the_binomial_tail_of_the_discordant_deals(table: PairCounts, p: float) -> None:
    assert mcnemar(table).p_value == pytest.approx(p, rel=1e-12)


@pytest.mark.parametrize(
    ("table", "low", "high"),
    [(AIRWAY, -0.507, -0.026), (RESPONSE, -0.119, -0.005), (THALLIUM, 0.011, 0.226)],
)
def test_the_interval_is_near_newcombes_of_published_tables(
    table: PairCounts, low: float, high: float
) -> None:
    """Method 10 of Newcombe (1998); all three exclude 0, where the exact test (above) does not."""
    result = mcnemar(table)
    assert result.low == pytest.approx(low, abs=0.07)
    assert result.high == pytest.approx(high, abs=0.07)


@given(TABLES)
def test_mcnemar_agrees_with_statsmodels(c: PairCounts) -> None:
    if c.a_only + c.b_only:
        table = [[c.both, c.a_only], [c.b_only, c.neither]]
        expected = mcnemar_of_statsmodels(table, exact=True).pvalue
        assert mcnemar(c).p_value == pytest.approx(expected)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2))
def test_phi_is_the_correlation_of_the_two_results(deals: list[tuple[bool, bool]]) -> None:
    a, b = np.array(deals, float).T
    phi = mcnemar(count_pairs(a, b)).phi
    if a.std() == 0 or b.std() == 0:
        assert np.isnan(phi)
    else:
        assert phi == pytest.approx(np.corrcoef(a, b)[0, 1])


def test_identical_cells_and_no_deals_have_defined_answers() -> None:
    same = mcnemar(PairCounts(40, 0, 0, 60))
    assert (same.difference, same.p_value, same.phi) == (0, 1, 1)
    none = mcnemar(PairCounts(0, 0, 0, 0))
    assert np.isnan([none.difference, none.low, none.high, none.phi, none.p_value]).all()


def test_the_interval_covers_95_times_in_100_and_the_test_keeps_its_level() -> None:
    rng = np.random.default_rng(7)
    trials, deals = 1500, 200
    unequal = [
        mcnemar(PairCounts(*t)) for t in rng.multinomial(deals, [0.3, 0.25, 0.15, 0.3], trials)
    ]
    assert within(sum(r.low <= 0.10 <= r.high for r in unequal), trials, 0.95)
    equal = [mcnemar(PairCounts(*t)) for t in rng.multinomial(deals, [0.3, 0.2, 0.2, 0.3], trials)]
    false_alarms = sum(r.p_value < 0.05 for r in equal)
    assert false_alarms <= binom.isf(1e-4, trials, 0.05)


# --- means that cluster by deal ---


@given(st.lists(st.tuples(st.floats(-5, 5), st.integers(0, 6)), min_size=3, max_size=40))
def test_the_interval_is_statsmodels_cluster_robust_one(rows: list[tuple[float, int]]) -> None:
    values, deals = (np.array(column) for column in zip(*rows, strict=True))
    if len(set(deals)) < 2 or np.ptp(values) < 1e-3:
        return
    fit = OLS(values, np.ones(len(values))).fit(
        cov_type="cluster", cov_kwds={"groups": deals, "df_correction": True}, use_t=True
    )
    result = clustered_mean(values, deals)
    low, high = fit.conf_int()[0]
    assert result.low == pytest.approx(low, abs=1e-9)
    assert result.high == pytest.approx(high, abs=1e-9)


def test_clustering_covers_where_counting_matches_does_not() -> None:
    """Four matches a deal whose results share the deal's luck."""
    rng = np.random.default_rng(11)
    trials, deals, matches = 1000, 80, 4
    luck = rng.beta(1, 1, (trials, deals, 1))
    wins = (rng.random((trials, deals, matches)) < luck).reshape(trials, -1).astype(int)
    labels = np.repeat(np.arange(deals), matches)
    clustered = [clustered_mean(w, labels) for w in wins]
    assert within(sum(c.low <= 0.5 <= c.high for c in clustered), trials, 0.95)
    naive = wilson(wins.sum(axis=1), deals * matches)
    assert ((naive.low <= 0.5) & (naive.high >= 0.5)).mean() < 0.9


def test_too_few_deals_leave_the_interval_nan() -> None:
    single = clustered_mean([1, 0], [5, 5])
    assert (single.estimate, single.deals) == (0.5, 1)
    assert np.isnan([single.low, single.high, single.error]).all()
    empty = clustered_mean([], [])
    assert np.isnan(empty.estimate)
    assert empty.deals == 0


# --- sign flips ---


@pytest.mark.parametrize(("side", "alternative"), [("above", "greater"), ("below", "less")])
def test_one_sample_and_one_side_are_enumerated_as_scipy_does(side: Side, alternative: str) -> None:
    """Against one number, by every sign pattern of ten deals, one of which does not differ."""
    chips = np.array([3.0, -1.5, 7.25, 0.5, 2.0, -4.0, 6.0, 0.5, 1.0, -0.5])
    ours = sign_flip(chips, 0.5, seed=0, side=side)
    expected = permutation_test(
        (chips - 0.5,), np.sum, permutation_type="samples", alternative=alternative
    )
    assert ours.exact
    assert ours.error == 0
    assert ours.difference == pytest.approx(chips.mean() - 0.5)
    assert ours.p_value == pytest.approx(expected.pvalue)


def test_the_error_of_sampling_is_what_seeds_differ_by() -> None:
    chips = np.random.default_rng(8).normal(0.2, 1, 40)
    found = [sign_flip(chips, 0.0, seed, resamples=499) for seed in range(200)]
    spread = np.std([one.p_value for one in found], ddof=1)
    assert not found[0].exact
    assert found[0].error == pytest.approx(spread, rel=0.2)  # 4 standard errors of a spread of 200


def test_where_results_need_not_lie_evenly_the_intervals_own_p_bounds_the_flips() -> None:
    """Six deals of +1 in a range of -1 to 1: flips give 2 / 64, but a deal of -1 could be unseen.
    Without a range few deals have no p: a deal of -100 could be; without a difference it is 1."""
    flips = sign_flip(np.ones(6), 0.0, 0).p_value
    assert flips == 2 / 64
    own = float(p_value(np.ones(6), (-1, 1), 0.0, "either"))
    assert permutation(np.ones(6), (-1, 1), 0) == (pytest.approx(max(own, flips)), 0.0)
    assert np.isnan(permutation(np.ones(6), (-np.inf, np.inf), 0)).all()
    assert permutation(np.zeros(6), (-np.inf, np.inf), 0) == (1.0, 0.0)
    many = np.random.default_rng(1).normal(0.05, 1, 300)
    p, error = permutation(many, (-np.inf, np.inf), 0, "above")
    assert p == pytest.approx(ttest_1samp(many, 0, alternative="greater").pvalue, abs=0.02)
    assert 0 <= error < 0.006
    assert np.isnan(permutation([], (-1, 1), 0)).all()


def test_no_difference_and_no_deals_have_defined_answers() -> None:
    assert sign_flip([1, 2, 3], [1, 2, 3], seed=0).p_value == 1
    assert sign_flip([1, 2], [1, 3], seed=0).p_value == 1
    assert np.isnan(sign_flip([], [], seed=0).p_value)


def test_sign_flips_keep_their_level_for_skewed_returns() -> None:
    rng = np.random.default_rng(13)
    trials = 400
    a, b = rng.exponential(size=(2, trials, 8))
    alarms = sum(sign_flip(x, y, seed=0).p_value <= 0.0625 for x, y in zip(a, b, strict=True))
    assert within(alarms, trials, 0.0625)  # 16 of the 256 patterns


@pytest.mark.parametrize("shift", [0.0, 0.01, 0.02])
def test_many_different_amounts_flip_as_the_normal_law_has_it(shift: float) -> None:
    """1,000 differences, no two alike: a total under random signs is normal, of variance sum d^2.
    With 9,999 patterns a p-value is within .016 of it (3.3 standard errors)."""
    d = np.random.default_rng(4).normal(shift, 0.3, 1000)
    expected = 2 * norm.sf(abs(d.sum()) / np.sqrt(d @ d))
    assert sign_flip(d, np.zeros(1000), 0).p_value == pytest.approx(expected, abs=0.016)
