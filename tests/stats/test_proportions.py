"""Win rates: published intervals, the printed figures of an UNO paper, defined edge cases.

Outside numbers: Newcombe (1998), Statistics in Medicine 17, 857-872, table I; the win rates that
a study of language models at UNO prints, with z and p recomputed by hand from them.
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
    ("wins", "games", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_newcombes_published_limits(
    wins: int, games: int, low: float, high: float
) -> None:
    interval = wilson(wins, games)
    assert interval.low == pytest.approx(low, abs=5e-5)
    assert interval.high == pytest.approx(high, abs=5e-5)


@pytest.mark.parametrize(
    ("wins", "games", "low", "high"),
    [
        (81, 263, 0.2527, 0.3676),
        (15, 148, 0.0578, 0.1617),
        (0, 20, 0.0000, 0.1684),
        (1, 29, 0.0009, 0.1776),
    ],
)
def test_clopper_pearson_gives_newcombes_published_limits(
    wins: int, games: int, low: float, high: float
) -> None:
    """His method 5."""
    interval = clopper_pearson(wins, games)
    assert interval.low == pytest.approx(low, abs=5e-5)
    assert interval.high == pytest.approx(high, abs=5e-5)


@given(tallies(), st.floats(0.5, 0.999))
def test_clopper_pearson_is_that_of_scipy(tally: tuple[int, int], level: float) -> None:
    theirs = binomtest(*tally).proportion_ci(level, "exact")
    mine = clopper_pearson(*tally, level=level)
    assert (mine.low, mine.high) == pytest.approx(theirs, abs=1e-9)


def test_clopper_pearson_is_exact_at_the_ends_and_nan_without_games() -> None:
    interval = clopper_pearson([0, 7, 0], [7, 7, 0])
    assert interval.low[0] == 0
    assert interval.high[1] == 1
    assert np.isnan([interval.estimate[2], interval.low[2], interval.high[2]]).all()


def test_wilson_limits_are_where_the_score_test_just_rejects() -> None:
    interval = wilson(37, 90, level=0.9)
    assert one_sample_z(37, 90, interval.low).z == pytest.approx(1.644854, abs=1e-6)
    assert one_sample_z(37, 90, interval.high).z == pytest.approx(-1.644854, abs=1e-6)


@given(tallies(), st.floats(0.5, 0.999))
def test_wilson_contains_the_estimate_and_stays_in_range(
    tally: tuple[int, int], level: float
) -> None:
    interval = wilson(*tally, level=level)
    assert 0 <= interval.low <= interval.estimate <= interval.high <= 1


@given(tallies())
def test_wilson_of_the_losses_mirrors_wilson_of_the_wins(tally: tuple[int, int]) -> None:
    wins, games = tally
    won, lost = wilson(wins, games), wilson(games - wins, games)
    assert won.low == pytest.approx(1 - lost.high, abs=1e-12)
    assert won.high == pytest.approx(1 - lost.low, abs=1e-12)


def test_wilson_is_exact_at_the_ends_and_nan_without_games() -> None:
    interval = wilson([0, 7, 0], [7, 7, 0])
    assert interval.low[0] == 0.0
    assert interval.high[1] == 1.0
    assert np.isnan([interval.estimate[2], interval.low[2], interval.high[2]]).all()


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


@pytest.mark.parametrize(("games", "last_miss"), [(10_000, 3578), (7000, 2515)])
def test_the_smallest_significant_count_against_35_percent(games: int, last_miss: int) -> None:
    p = one_sample_z([last_miss, last_miss + 1], games, 0.35).p_value
    assert p[0] > 0.05 > p[1]


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


def test_one_sample_z_has_its_level_for_true_baselines() -> None:
    """The exact chance of p < 0.05 for 400 deals; below 100 deals it can reach 6.4%."""
    wins = np.arange(401)
    for baseline in (0.35, 0.4954):
        significant = one_sample_z(wins, 400, baseline).p_value < 0.05
        assert binom.pmf(wins, 400, baseline)[significant].sum() == pytest.approx(0.05, abs=0.005)


def test_a_baseline_that_allows_no_chance_has_defined_answers() -> None:
    test = one_sample_z([3, 0, 4, 5], 5, [0.0, 0.0, 1.0, 1.0])
    np.testing.assert_array_equal(test.z, [np.inf, np.nan, -np.inf, np.nan])
    np.testing.assert_array_equal(test.p_value, [0.0, np.nan, 1.0, np.nan])


def test_no_games_or_no_baseline_give_nan() -> None:
    test = one_sample_z([0, 3], [0, 5], [0.5, np.nan])
    for column in (test.difference, test.z, test.p_value):
        assert np.isnan(column).all()


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


def test_the_sign_test_refuses_what_is_no_count_and_no_side() -> None:
    with pytest.raises(ValueError, match="units ahead must be whole numbers"):
        sign_test(-1, 3)
    with pytest.raises(ValueError, match="side is one of above, below, either, got 'greater'"):
        sign_test(1, 3, "greater")  # type: ignore[arg-type]


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


@given(tallies(), tallies())
def test_two_sample_z_changes_sign_when_the_samples_swap(
    a: tuple[int, int], b: tuple[int, int]
) -> None:
    there, back = two_sample_z(*a, *b), two_sample_z(*b, *a)
    np.testing.assert_allclose(there.z, -back.z)
    np.testing.assert_allclose(there.p_value, 1 - back.p_value, atol=1e-12)


def test_a_large_measured_baseline_is_as_good_as_a_known_one() -> None:
    known = one_sample_z(5210, 10_000, 0.4896).z
    measured = two_sample_z(5210, 10_000, 489_600_000, 1_000_000_000).z
    assert measured == pytest.approx(known, rel=1e-3)


def test_two_sample_z_without_games_on_either_side_is_nan() -> None:
    test = two_sample_z([0, 3], [0, 5], [3, 0], [5, 0])
    assert np.isnan(test.z).all()
    assert np.isnan(test.p_value).all()


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


# --- shapes and errors ---


def test_counts_broadcast_and_scalars_stay_scalars() -> None:
    assert wilson([[1], [2]], [5, 6, 7]).low.shape == (2, 3)
    assert isinstance(one_sample_z(1, 5, 0.5).p_value, float)


@pytest.mark.parametrize(("wins", "games"), [(6, 5), (-1, 5), (2.5, 5), (float("nan"), 5), (1, 0)])
def test_impossible_counts_are_refused(wins: float, games: int) -> None:
    with pytest.raises(ValueError, match="wins must be whole numbers"):
        wilson(wins, games)


def test_other_arguments_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1, got 95"):
        wilson(1, 2, level=95)
    with pytest.raises(ValueError, match=r"baseline must lie between 0 and 1, got 49\.5"):
        one_sample_z(1, 2, 49.5)
    with pytest.raises(ValueError, match=r"baseline wins must be whole numbers .* got 3 of 2"):
        two_sample_z(1, 2, 3, 2)


@pytest.mark.parametrize("module", ["proportions", "paired", "multiple", "power"])
def test_importing_stats_leaves_the_heavy_libraries_alone(module: str) -> None:
    code = (
        f"import sys, stats.{module}; "
        "print([m for m in ('statsmodels', 'pandas', 'scipy.stats', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
