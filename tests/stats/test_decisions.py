"""Decision metrics against hand calculations and closed forms."""

from __future__ import annotations

import tracemalloc
from math import isnan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm, rankdata

from gauntlet.papers.uno_arena.changes import scaled_change
from gauntlet.stats import decisions
from gauntlet.stats.decisions import (
    Decisions,
    by_chance,
    critical,
    ranks,
    score,
    won_together,
)
from gauntlet.stats.proportions import wilson

shares = arrays(
    np.int64, st.tuples(st.integers(1, 6), st.integers(2, 5)), elements=st.integers(0, 9)
)


def decided(values: list[list[float]], chosen: list[int], playouts: int = 10**8) -> Decisions:
    """Decisions whose values are almost exactly known, each in a separate game."""
    p = np.array(values)
    both = p[:, :, None] * p[:, None, :]
    at = np.arange(p.shape[1])
    both[:, at, at] = p
    together = np.rint(both * playouts).astype(np.int64)
    return Decisions(together, np.array(chosen), np.arange(len(chosen)), playouts)


@given(shares)
def test_ranks_are_those_of_scipy(values: np.ndarray) -> None:
    for tie, method in (("min", "min"), ("average", "average"), ("strict_index", "ordinal")):
        theirs = rankdata(-values, method=method, axis=1)
        for option in range(values.shape[1]):
            mine = ranks(values / 10, np.full(len(values), option), tie)  # type: ignore[arg-type]
            assert (mine == theirs[:, option]).all()


def test_a_decision_is_critical_from_the_threshold_on() -> None:
    values = np.array([[650, 500, 600], [649, 500, 600], [500, 500, 500]]) / 1000
    assert critical(values, 0.15).tolist() == [True, False, False]
    assert critical(values, 0.0).all()


def test_hit_rate_and_mean_rank_of_a_hand_case() -> None:
    """Ranks 1, 2, 3 and one of an uncritical decision, 1."""
    values = [[0.6, 0.4, 0.2], [0.6, 0.4, 0.2], [0.6, 0.4, 0.2], [0.5, 0.45, 0.45]]
    played = decided(values, [0, 1, 2, 0])
    every, few = score(played, 0.0), score(played, 0.15)
    assert (every.decisions, every.hit_rate.estimate, every.mean_rank.estimate) == (4, 0.5, 1.75)
    assert (few.decisions, few.hit_rate.estimate, few.mean_rank.estimate) == (3, 1 / 3, 2.0)
    assert every.hit_rate.low <= 0.5 <= every.hit_rate.high
    assert every.hit_rate.denoised == pytest.approx(0.5)


def test_a_player_that_takes_every_option_alike() -> None:
    """Hits one in K of different options, and its ranks are 1 to K; ties share the best place."""
    found = decided([[0.9, 0.5, 0.1], [0.2, 0.7, 0.4]], [0, 0])
    assert by_chance(found, 0.0) == pytest.approx((1 / 3, 2.0))
    tied = decided([[0.9, 0.9, 0.1], [0.5, 0.5, 0.5]], [0, 0])
    assert by_chance(tied, 0.0) == pytest.approx((5 / 6, 8 / 6))
    assert by_chance(tied, 0.5) == pytest.approx((2 / 3, 5 / 3)), "the critical ones alone"
    assert by_chance(tied, 0.0, "average") == pytest.approx((0.0, 2.0))
    assert all(isnan(one) for one in by_chance(tied, 0.9))


def test_no_decisions_tell_nothing() -> None:
    found = score(decided([[0.5, 0.45]], [0]), 0.15)
    assert found.decisions == 0
    assert isnan(found.hit_rate.estimate)
    assert isnan(found.mean_rank.high)


def test_playouts_won_together_are_counted() -> None:
    won = np.array([[1, 1, 0, 1], [0, 1, 0, 1], [0, 0, 1, 0]], bool)
    assert won_together(won).tolist() == [[3, 2, 0], [2, 2, 0], [0, 0, 1]]


def playouts(rng: np.random.Generator, values: np.ndarray, n: int, alike: float) -> Decisions:
    """Playouts of options with these true values; a share `alike` of each playout is common."""
    d, k = values.shape
    own = rng.random((d, k, n), np.float32)
    if alike:
        shared = rng.random((d, k, n), np.float32) < alike
        own = np.where(shared, rng.random((d, 1, n), np.float32), own)
    together = np.stack([won_together(won) for won in own < values[:, :, None]])
    return Decisions(together, rng.integers(k, size=d), np.arange(d) // 5, n)


def test_the_noise_is_that_of_the_playouts() -> None:
    """Of two options, the second comes out ahead in a redraw from the normal distribution. Six
    deciders in ten take the first; the hits that they lose to added noise, divided by sqrt(2) - 1,
    are those that they would gain without any."""
    n, p, q, both = 400, 0.52, 0.50, 0.40
    together = np.rint(n * np.array([[p, both], [both, q]])).astype(np.int64)
    chosen = (np.arange(4000) % 10 >= 6).astype(int)
    many = Decisions(np.tile(together, (4000, 1, 1)), chosen, np.arange(4000), n)
    found = score(many, 0.0).hit_rate
    error = sqrt((p + q - 2 * both - (p - q) ** 2) / n)
    noisy = 0.4 + 0.2 * norm.cdf((p - q) / error)
    assert found.estimate == 0.6
    assert found.denoised == pytest.approx(0.6 + (0.6 - noisy) / (sqrt(2) - 1), abs=0.005)
    assert found.low < 0.6 < found.denoised < found.high


def test_options_that_always_win_together_stay_tied() -> None:
    together = np.full((10, 3, 3), 70)
    tied = Decisions(together, np.full(10, 2), np.arange(10), 200)
    found = score(tied, 0.0).hit_rate
    assert (found.estimate, found.denoised, found.high) == (1, 1, 1)
    assert found.low == pytest.approx(float(wilson(10, 10).low))
    assert score(tied, 0.0, "strict_index").mean_rank.estimate == 3


def test_one_decision_that_counts_in_a_hundred_games_has_no_interval() -> None:
    values = [[0.9, 0.1]] + [[0.5, 0.5]] * 99
    found = score(decided(values, [0] * 100), 0.15)
    assert (found.decisions, found.hit_rate.estimate) == (1, 1)
    assert isnan(found.hit_rate.low)
    assert isnan(found.mean_rank.high)
    two = score(decided([[0.9, 0.1], *values], [0] * 101), 0.15).hit_rate
    assert two.low == pytest.approx(float(wilson(2, 2).low))


def test_where_all_games_agree_the_far_limit_is_wilsons() -> None:
    """And one game that does not agree brings no limit back towards the edge."""
    values = [[0.9, 0.1]] * 169
    every = score(decided(values, [0] * 169), 0.15)
    assert every.hit_rate.low == pytest.approx(float(wilson(169, 169).low))
    assert every.hit_rate.high == 1
    assert every.mean_rank.low == 1
    assert every.mean_rank.high == pytest.approx(2 - every.hit_rate.low)
    none = score(decided(values, [1] * 169), 0.15).hit_rate
    assert (none.low, none.high) == (0, pytest.approx(float(wilson(0, 169).high)))
    almost = score(decided(values, [1] + [0] * 168), 0.15).hit_rate
    assert almost.low <= every.hit_rate.low


@pytest.mark.parametrize(
    ("spread", "alike", "skill"), [(0.03, 0.6, 0.4), (0.03, 0.0, 0.4), (0.02, 0.0, 1.0)]
)
def test_the_interval_covers_the_truth(spread: float, alike: float, skill: float) -> None:
    """A decider that takes the best of three with some skill and else chooses blindly: its true
    hit rate, whatever the noise, lies in nearly all 95% intervals. So does a perfect one's."""
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(30):
        values = np.clip(0.5 + spread * rng.standard_normal((200, 3)), 0, 1)
        played = playouts(rng, values, 1000, alike)
        best = rng.random(200) < skill
        chosen = np.where(best, values.argmax(1), played.chosen)
        played = Decisions(played.together, chosen, played.games, 1000)
        found = score(played, 0.0, draws=50)
        covered += found.hit_rate.low <= skill + (1 - skill) / 3 <= found.hit_rate.high
    assert covered >= 26, covered


def test_a_bootstrap_is_the_same_however_it_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    played = playouts(np.random.default_rng(4), np.full((60, 2), 0.5), 100, 0.0)
    found = []
    for block in (decisions.REPLICATES, 50, 8):
        monkeypatch.setattr(decisions, "BLOCK", block)
        found.append(score(played, 0.0, draws=5).mean_rank)
    for other in found[1:]:
        assert (other.low, other.high) == pytest.approx((found[0].low, found[0].high))


def test_many_games_take_little_memory() -> None:
    """Far less than the counts of every game in every replicate."""
    games = 4000
    together = np.tile([[600, 400], [400, 500]], (games, 1, 1))
    many = Decisions(together, np.arange(games) % 2, np.arange(games), 1000)
    tracemalloc.start()
    score(many, 0.0, draws=2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * games * decisions.REPLICATES / 4


def test_more_of_the_same_within_a_game_makes_no_interval_narrower() -> None:
    """Games are resampled, not decisions: the information is that of forty games."""
    values, chosen = [[0.6, 0.2]] * 40, [0] * 26 + [1] * 14
    once = decided(values, chosen)
    nine = np.repeat(np.arange(40), 9)
    often = Decisions(once.together[nine], once.chosen[nine], once.games[nine], once.playouts)
    few, many = score(once, 0.0).hit_rate, score(often, 0.0).hit_rate
    assert (many.low, many.high) == pytest.approx((few.low, few.high), abs=0.03)
    half = norm.ppf(0.975) * sqrt(0.65 * 0.35 / 40)
    assert (few.low, few.high) == pytest.approx((0.65 - half, 0.65 + half), abs=0.03)


def test_changes_in_percent_of_the_span() -> None:
    """Table 5 of UNO Arena: from 2.3482 to 2.3824 with K = 4 is +1.14%."""
    assert scaled_change(2.3824, 2.3482, 4) == pytest.approx(1.14, abs=0.005)
    assert scaled_change([1.4567], [1.4636], 2) == pytest.approx([-0.69])
