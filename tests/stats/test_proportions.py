"""Win rates: published intervals, the printed figures of an UNO paper, edge cases.

Outside numbers: Newcombe (1998), Statistics in Medicine 17, 857-872, table I; the win rates printed
in a study of language models at UNO, with z and p recomputed by hand from them.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, hypergeom
from statsmodels.stats.descriptivestats import sign_test as sign_test_of_statsmodels
from statsmodels.stats.proportion import proportions_ztest

from gauntlet.stats.checks import Side
from gauntlet.stats.proportions import (
    clopper_pearson,
    fisher_test,
    one_sample_z,
    sign_test,
    two_sample_z,
    wilson,
)


@st.composite
def tallies(draw: st.DrawFn, fewest: int = 1) -> tuple[int, int]:
    games = draw(st.integers(fewest, 100_000))
    return draw(st.integers(0, games)), games


# --- Wilson's interval ---


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
    test = one_sample_z([3, 0, 4, 5, 0], [5, 5, 5, 5, 0], [0.0, 0.0, 1.0, 1.0, 0.5])
    np.testing.assert_array_equal(test.z, [np.inf, np.nan, -np.inf, np.nan, np.nan])
    np.testing.assert_array_equal(test.p_value, [0.0, np.nan, 1.0, np.nan, np.nan])


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


# --- the z test against a fixed baseline ---


@pytest.mark.parametrize(
    ("wins", "baseline", "z", "p"),
    [
        (5144, 0.4896, 4.961, 3.5e-7),  # LLaMA 1B, solo
        (5003, 0.4896, 2.141, 0.0162),  # LLaMA 8B, solo
        (5210, 0.4896, 6.281, 1.7e-10),  # Mistral 24B, solo
        (3576, 0.35, 1.593, 0.0555),  # LLaMA 1B, helping
        (3574, 0.35, 1.552, 0.0604),  # Mistral 24B, helping
    ],
)
def test_one_sample_z_of_printed_win_rates_over_10000_games(
    wins: int, baseline: float, z: float, p: float
) -> None:
    test = one_sample_z(wins, 10_000, baseline)
    assert test.z == pytest.approx(z, abs=1e-3)
    assert test.p_value == pytest.approx(p, rel=0.015)  # two digits
    assert test.difference == pytest.approx(wins / 10_000 - baseline)


@pytest.mark.parametrize(
    ("fewer", "baseline", "z"),
    [(3615, 0.4896, 4.502), (2517, 0.35, 1.684)],  # 51.65% and 35.96% printed for 7,000 games
)
def test_printed_70b_rates_fall_between_two_possible_counts(
    fewer: int, baseline: float, z: float
) -> None:
    low, high = one_sample_z([fewer, fewer + 1], 7000, baseline).z
    assert low < z < high


@pytest.mark.parametrize(
    ("wins", "baseline", "z", "p"),
    [
        (5144, 0.4957, 3.73, None),
        (5003, 0.4957, 0.91, 0.181),
        (3576, 0.3531, 0.95, 0.172),
        (3574, 0.3531, 0.90, 0.183),
    ],
)
def test_one_sample_z_against_a_baseline_of_300000_games(
    wins: int, baseline: float, z: float, p: float | None
) -> None:
    """The baseline is known to four decimals, so z and p are known to an interval."""
    low, high = one_sample_z(wins, 10_000, [baseline + 5e-5, baseline - 5e-5]).z
    assert low - 0.005 <= z <= high + 0.005
    if p is not None:
        least, most = one_sample_z(wins, 10_000, [baseline - 5e-5, baseline + 5e-5]).p_value
        assert least - 5e-4 <= p <= most + 5e-4


@given(tallies(), st.floats(0.01, 0.99))
def test_one_sample_z_agrees_with_statsmodels(tally: tuple[int, int], baseline: float) -> None:
    wins, games = tally
    z, p = proportions_ztest(wins, games, baseline, alternative="larger", prop_var=baseline)
    test = one_sample_z(wins, games, baseline)
    assert (test.z, test.p_value) == (pytest.approx(z), pytest.approx(p))


# --- the sign test ---

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


def test_the_sign_test_of_a_papers_table() -> None:
    """Wins and losses of 100 games a pair, the rest drawn; the p-values are an independent
    reader's, one-sided."""
    wins, losses = [56, 52, 50, 60, 59], [35, 35, 37, 34, 30]
    found = sign_test(wins, losses, "above")
    assert found == pytest.approx([0.018, 0.043, 0.099, 0.0048, 0.0014], rel=0.03)


# --- the z test against a measured baseline ---


@pytest.mark.parametrize(("baseline_games", "p"), [(10_000, 0.099), (100_000, 0.0518)])
def test_70b_helping_is_not_significant_against_a_measured_baseline(
    baseline_games: int, p: float
) -> None:
    baseline_wins = baseline_games * 35 // 100
    most, least = two_sample_z([2517, 2518], 7000, baseline_wins, baseline_games).p_value
    assert most > 0.05
    assert least < p < most


@pytest.mark.parametrize(("ablated", "z"), [(105, 0.80), (107, 0.60)])
def test_two_sample_z_of_ablations_over_200_games(ablated: int, z: float) -> None:
    assert two_sample_z(113, 200, ablated, 200).z == pytest.approx(z, abs=0.005)


@given(tallies(), tallies())
def test_two_sample_z_agrees_with_statsmodels(a: tuple[int, int], b: tuple[int, int]) -> None:
    test = two_sample_z(*a, *b)
    if a[0] + b[0] in (0, a[1] + b[1]):
        assert np.isnan([test.z, test.p_value]).all()
        return
    z, p = proportions_ztest([a[0], b[0]], [a[1], b[1]], alternative="larger")
    assert (test.z, test.p_value) == (pytest.approx(z), pytest.approx(p))


# --- Fisher's test ---


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


# --- imports ---


@pytest.mark.parametrize("module", ["proportions", "paired", "multiple", "power"])
def test_importing_stats_leaves_the_heavy_libraries_alone(module: str) -> None:
    code = (
        f"import sys, stats.{module}; "
        "print([m for m in ('statsmodels', 'pandas', 'scipy.stats', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
