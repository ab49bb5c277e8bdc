"""Intervals from intervals, against published ones and ones computed from the samples."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import t

from gauntlet.papers.talaga.ends import effective_games
from gauntlet.stats.intervals import all_equal, change, difference, running_mean
from gauntlet.stats.paired import clustered_mean
from gauntlet.stats.proportions import wilson


@given(st.integers(1, 500), st.floats(0, 1))
def test_units_that_all_agree_have_limits_between_them_and_the_ends(n: int, value: float) -> None:
    low, high = all_equal(value, n, (0.0, 1.0))
    assert 0 <= low <= value <= high <= 1
    assert high - low == pytest.approx(float(wilson(0, n).high))
    assert all_equal(0.0, n, (0.0, 1.0)) == (0.0, float(wilson(0, n).high))


@given(arrays(np.float64, (12, 2), elements=st.floats(-1, 1).map(lambda x: round(x, 3))))
def test_one_value_a_deal_is_the_paired_t_interval(values: np.ndarray) -> None:
    deals = np.arange(12)
    found, limits = change((values[:, 0], deals), (values[::-1, 1], deals[::-1]), 2.0)
    differences = values[:, 0] - values[:, 1]
    assert found == pytest.approx(differences.mean(), abs=1e-12)
    if differences.std() > 1e-6:
        reach = t.ppf(0.975, 11) * differences.std(ddof=1) / sqrt(12)
        assert limits == pytest.approx((found - reach, found + reach), abs=1e-9)


def test_pairing_is_worth_what_a_bootstrap_of_deals_says() -> None:
    """Two sides that share the luck of 40 deals, with different numbers of values per deal."""
    rng = np.random.default_rng(2)
    luck = rng.random(40)
    sizes = rng.integers(2, 6, size=(2, 40))
    sides = [
        (rng.random(size.sum()) < np.repeat(luck, size) + 0.1 * at, np.repeat(np.arange(40), size))
        for at, size in enumerate(sizes)
    ]
    found, (low, high) = change(*sides, 1.0)
    sums = np.array([[np.bincount(d, v, 40), np.bincount(d, minlength=40)] for v, d in sides])
    picked = rng.multinomial(40, np.full(40, 1 / 40), size=20_000).T
    (new, new_n), (old, old_n) = sums @ picked
    spread = (new / new_n - old / old_n).std()
    assert found == pytest.approx(sides[0][0].mean() - sides[1][0].mean())
    assert (high - low) / 2 == pytest.approx(t.ppf(0.975, 39) * spread, rel=0.1)
    apart = [(v, d + 40 * at) for at, (v, d) in enumerate(sides)]
    _, (least, most) = change(*apart, 1.0)
    assert most - least > 1.3 * (high - low)


def test_two_sides_that_no_deal_tells_apart_could_still_differ() -> None:
    one = ([0.0, 1.0, 1.0, 0.0], [0, 0, 1, 2])
    assert change(one, one, 1.0) == (0.0, all_equal(0.0, 3, (-1.0, 1.0)))


def test_a_change_of_one_deal_or_of_nothing_has_no_limits() -> None:
    found, limits = change(([1.0], [0]), ([0.0], [0]), 1.0)
    assert (found, *map(isnan, limits)) == (1.0, True, True)
    found, limits = change(([1.0, 0.0], [0, 1]), ([], []), 1.0)
    assert all(map(isnan, (found, *limits)))


def test_a_difference_of_shares_is_newcombes() -> None:
    """56/70 less 48/80, from Newcombe (1998), Table II, case a, method 10: .0524 to .3339."""
    sides = [(float(one.estimate), float(one.low), float(one.high))
             for one in (wilson(56, 70), wilson(48, 80))]  # fmt: skip
    assert difference(*sides) == pytest.approx((0.0524, 0.3339), abs=5e-5)


@pytest.mark.parametrize(("ours", "theirs", "rate"), [(2_000, 10_000, 0.35), (20, 200, 0.05)])
def test_a_difference_holds_the_true_one_as_often_as_promised(
    ours: int, theirs: int, rate: float
) -> None:
    rng = np.random.default_rng(0)
    sides = [wilson(rng.binomial(n, rate, 2000), n) for n in (ours, theirs)]
    limits = [zip(one.estimate, one.low, one.high, strict=True) for one in sides]
    found = np.array([difference(*pair) for pair in zip(*limits, strict=True)])
    assert 0.93 < ((found[:, 0] <= 0) & (found[:, 1] >= 0)).mean() < 0.99


@pytest.mark.parametrize(
    ("values", "deals", "games"),
    [
        ([1, 0, 1, 1, 0, 0], range(6), 6),  # a deal each
        ([1, 0, 0, 1, 1, 0], [0, 0, 1, 1, 2, 2], 6),  # each deal won once: no less than games
        ([0] * 6, [0, 0, 1, 1, 2, 2], 6),  # nothing varies
        ([1, 1, 0, 0, 1, 1, 0, 0] * 25, np.repeat(range(100), 2), 98),  # each deal is one game
    ],
)
def test_games_that_share_deals_tell_as_much_as_fewer(
    values: list[int], deals: Sequence[int], games: int
) -> None:
    assert effective_games(values, deals) == games


def test_a_running_mean_ends_where_the_whole_does() -> None:
    values = np.random.default_rng(2).normal(1e6, 1, 50)
    mean, low, high = running_mean(values)
    for n in (2, 17, 50):
        whole = clustered_mean(values[:n], np.arange(n))
        found = (mean[n - 1], low[n - 1], high[n - 1])
        assert found == pytest.approx((whole.estimate, whole.low, whole.high), rel=1e-12)
    assert np.isnan([low[0], high[0]]).all()
    assert running_mean([])[0].size == 0
