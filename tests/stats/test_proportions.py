"""Win rates: published intervals, the tests of other libraries, Holm's correction, edge cases."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, hypergeom
from statsmodels.stats.descriptivestats import sign_test as sign_test_of_statsmodels
from statsmodels.stats.multitest import multipletests

from gauntlet.stats.checks import Side
from gauntlet.stats.multiple import holm
from gauntlet.stats.proportions import (
    binomial_test,
    clopper_pearson,
    fisher_test,
    sign_test,
    wilson,
)


@st.composite
def tallies(draw: st.DrawFn, fewest: int = 1) -> tuple[int, int]:
    games = draw(st.integers(fewest, 100_000))
    return draw(st.integers(0, games)), games


@pytest.mark.parametrize(
    ("wins", "games", "score", "exact"),
    [
        (81, 263, (0.2553, 0.3662), (0.2527, 0.3676)),
        (15, 148, (0.0624, 0.1605), (0.0578, 0.1617)),
        (0, 20, (0.0000, 0.1611), (0.0000, 0.1684)),
        (1, 29, (0.0061, 0.1718), (0.0009, 0.1776)),
    ],
)
def test_newcombes_published_limits(
    wins: int, games: int, score: tuple[float, float], exact: tuple[float, float]
) -> None:
    """His methods 3 and 5."""
    for limits, (low, high) in ((wilson, score), (clopper_pearson, exact)):
        found = limits(wins, games)
        assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)


def test_the_ends_have_exact_limits_and_no_games_none() -> None:
    for limits in (wilson, clopper_pearson):
        found = limits([0, 7, 0], [7, 7, 0])
        assert (found.low[0], found.high[1]) == (0, 1)
        assert np.isnan([found.estimate[2], found.low[2], found.high[2]]).all()
    p = binomial_test([3, 0, 4, 5, 0, 1], [5, 5, 5, 5, 0, 2], [0.0, 0.0, 1.0, 1.0, 0.5, np.nan])
    np.testing.assert_array_equal(p, [0.0, np.nan, 1.0, np.nan, np.nan, np.nan])
    assert sign_test([3, 0], [1, 0], "above") == pytest.approx([5 / 16, 1])


@given(tallies(), st.floats(0.5, 0.999))
def test_clopper_pearson_is_that_of_scipy(tally: tuple[int, int], level: float) -> None:
    theirs = binomtest(*tally).proportion_ci(level, "exact")
    mine = clopper_pearson(*tally, level=level)
    assert (mine.low, mine.high) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("rate", [0.35, 0.4954])
@pytest.mark.parametrize("games", [100, 400, 1000])
def test_wilson_covers_uno_win_rates_95_times_in_100(games: int, rate: float) -> None:
    wins = np.arange(games + 1)
    interval = wilson(wins, games)
    covered = (interval.low <= rate) & (rate <= interval.high)
    assert binom.pmf(wins, games, rate)[covered].sum() == pytest.approx(0.95, abs=0.01)


WAYS = {"above": "greater", "below": "less", "either": "two-sided"}


@pytest.mark.parametrize("side", WAYS)
@given(st.integers(0, 60), st.integers(0, 60))
def test_the_sign_test_is_the_exact_one_of_a_fair_coin(side: Side, ahead: int, behind: int) -> None:
    p = float(sign_test(ahead, behind, side))
    if ahead + behind == 0:
        assert p == 1.0
        return
    assert p == pytest.approx(binomtest(ahead, ahead + behind, 0.5, WAYS[side]).pvalue)
    if side == "either":
        values = [1.0] * ahead + [-1.0] * behind + [0.0] * 3
        assert p == pytest.approx(sign_test_of_statsmodels(values)[1])


@given(tallies(), tallies())
def test_fishers_test_is_the_tail_of_the_hypergeometric_distribution(
    ours: tuple[int, int], base: tuple[int, int]
) -> None:
    (wins, games), (wins0, games0) = ours, base
    found = fisher_test(wins, games, wins0, games0)
    if 0 < wins + wins0 < games + games0:
        expected = hypergeom.sf(wins - 1, games + games0, wins + wins0, games)
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-12)
    else:
        assert np.isnan(found)


def test_importing_stats_imports_no_heavy_library() -> None:
    code = (
        "import sys; from gauntlet.stats import multiple, paired, power, proportions; "
        "print([m for m in ('statsmodels', 'pandas', 'scipy.stats', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=20)


@given(P_VALUES)
def test_holm_agrees_with_statsmodels(family: list[float]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "gc.collect", lambda: 0
        )  # which multipletests calls, and which takes a second
        theirs = multipletests(family, method="holm")[1]
    np.testing.assert_allclose(holm(family), theirs, atol=1e-300)


@given(P_VALUES)
def test_a_test_that_was_not_made_does_not_count(p: list[float]) -> None:
    adjusted = holm([np.nan, *p, np.nan])
    assert np.isnan(adjusted[[0, -1]]).all()
    np.testing.assert_array_equal(adjusted[1:-1], holm(p))


def test_holm_of_nothing_is_nothing() -> None:
    assert holm([]).shape == (0,)
    assert np.isnan(holm([np.nan, np.nan])).all()
