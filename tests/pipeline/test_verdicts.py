"""When our result agrees with a published one, and when it must not."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np
import pandas as pd
import pytest

from gauntlet.papers.published import alone, counted, exact, frame, measured, not_run, proven
from gauntlet.papers.verdicts import (
    Estimate,
    Gap,
    headline,
    judged,
    of_counts,
    of_draws,
    of_known,
    of_means,
    tally,
)
from gauntlet.stats.proportions import clopper_pearson

CHANCE = 43.65
"""Win rate of random players against each other in Tic-Tac-Toe, in percent."""


def share(wins: int, games: int) -> Estimate:
    found = clopper_pearson(wins, games)
    return Estimate(100 * wins / games, 100 * float(found.low), 100 * float(found.high))


def printed(value: float, n: int, without: float = CHANCE) -> dict[str, object]:
    return {"id": "x", "value": value, "n": n, "without": without}


@pytest.mark.parametrize(
    ("value", "theirs", "wins", "games", "verdict", "p"),
    [
        (31.58, 1200, 4, 120, "differs", 7.6e-14),  # TALAGA's random.avg_win_rate
        (36.5, 200, 1, 20, "differs", 0.0027),  # its random.vs.cot, of so few games
        (33.5, 1200, 36, 120, "uninformative", 0.48),  # cot-sc.avg_win_rate: 10 points from chance
        (86.0, 200, 18, 20, "agrees", 1.0),  # minmax.vs.random: 42 points from chance
        (86.0, 200, 4, 4, "agrees", 1.0),
        (60.0, 200, 12, 20, "uninformative", 1.0),  # the same share, and much could be hidden
        (43.65, 10_000, 4365, 10_000, "uninformative", 1.0),  # no effect: nothing to agree on
    ],
)
def test_two_shares_are_tested_and_the_gap_must_hide_nothing(
    value: float, theirs: int, wins: int, games: int, verdict: str, p: float
) -> None:
    row = counted(printed(value, theirs), share(wins, games), games, games, 100)
    assert (row.verdict, row.n, row.deals, row.published_n) == (verdict, games, games, theirs)
    assert row.p_value == pytest.approx(p, rel=0.02)
    assert row.matters == pytest.approx(abs(value - CHANCE))
    assert row.gap_low < row.gap < row.gap_high


def test_minimax_never_loses_however_few_games_were_played() -> None:
    """4.5% of 200 in print agrees with 0 of 20; it differs from a proven 0."""
    assert of_counts(0, 20, 9, 200).p_value == 1
    row = proven(printed(4.5, 200), 0.0, 100)
    assert (row.verdict, row.p_value) == ("differs", 0)
    assert (row.gap, row.ci_low, row.ci_high) == (-4.5, 0, 0)
    assert proven(printed(0.0, 200), 0.0, 100).verdict == "agrees"


def test_a_known_share_is_tested_by_the_error_of_theirs_alone() -> None:
    assert of_known(0.5, 30, 50).p_value == pytest.approx(0.2026, abs=1e-4)
    assert of_known(0.5, 36, 50).p_value == pytest.approx(0.0026, abs=1e-4)


@pytest.mark.parametrize(
    ("reach", "off", "verdict"),
    [
        (2.0, 0.0, "agrees"),
        (2.0, 3.1, "differs"),  # 2 sqrt(2) is 2.83
        (2.0, 2.7, "uninformative"),  # not rejected, but 5.5 off is not excluded either
        (8.0, 0.0, "uninformative"),  # so wide that nothing could have differed
    ],
)
def test_means_over_deals_have_both_errors(reach: float, off: float, verdict: str) -> None:
    """The published 55 is 5 from no effect, from as many games as ours."""
    ours = Estimate(55 + off, 55 + off - reach, 55 + off + reach)
    row = measured(printed(55, 500, 50), ours, 500, 100)
    assert row.verdict == verdict
    assert row.gap_high - row.gap == pytest.approx(reach * sqrt(2))


def test_p_is_at_the_level_where_the_interval_of_the_gap_ends_at_nothing() -> None:
    for degrees in (9, 99, inf):
        found = of_means(Estimate(10, 7, 12), degrees, 7, their_error=0.0)
        assert found.p_value == pytest.approx(0.05)
        assert found.low == pytest.approx(0)


def test_a_share_of_games_that_share_deals_is_a_mean_over_deals() -> None:
    """10 decks from both seats, all alike: 20 games that are no 20 coins."""
    entry, own = printed(57, 200, 50), Estimate(90, 40, 99)
    assert counted(entry, own, 20, 10, 100) == measured(entry, own, 20, 10)
    found = counted(entry, own, 20, 10, 100, independent=12)
    assert found.p_value == pytest.approx(of_counts(11, 12, 114, 200).p_value)
    assert found.gap == pytest.approx(90 - 57), "whatever whole count of 12 is nearest"


def test_an_unknown_number_of_their_games_is_no_test() -> None:
    row = measured({"id": "x", "value": 53.8, "without": 50}, Estimate(54, 50, 58), 45, 5)
    assert (row.verdict, row.published_n) == ("not_computable", 0)
    assert np.isnan(row.p_value)


@pytest.mark.parametrize(
    ("value", "ours", "rounding", "verdict"),
    [
        (0.49, 0.4876, 0.005, "agrees"),
        (0.49, 0.4849, 0.005, "differs"),
        (277, 277, 0.0, "agrees"),
        (277, 276, 0.0, "differs"),
    ],
)
def test_exact_figures_are_equal_to_the_digits_in_print(
    value: float, ours: float, rounding: float, verdict: str
) -> None:
    assert exact({"id": "x", "value": value}, ours, rounding).verdict == verdict


def test_a_mean_of_draws_is_as_near_as_its_own_noise() -> None:
    """Of a standard deviation of 1 the error is sqrt(1/1000 + 1/10000) = .0332: .07 and half a
    digit may lie between, where .1 may not; of .1 not even .02."""
    for gap, sd, same in ((0.069, 1.0, True), (0.1, 1.0, False), (0.02, 0.1, False)):
        found = of_draws(1 + gap, 10_000, 1.0, 1000, sd, 0.005)
        assert (found.p_value >= 0.05) == (found.low <= 0 <= found.high) == same
        assert judged(found, 1.0) == ("agrees" if same else "differs")
    assert judged(of_draws(0.01, 10_000, 0.01, 1000, 1.0, 0.005), 0.01) == "uninformative"


def test_only_results_are_in_the_headline() -> None:
    result = measured(printed(55, 500, 50), Estimate(55, 54, 56), 500, 500)
    wide = measured(printed(55, 500, 50), Estimate(55, 35, 75), 500, 500)
    kinds = ("setting", "recount", "own_derivation", "own_earlier")
    others = [exact({"id": "x", "kind": kind, "value": 1}, 1) for kind in kinds]
    others += [exact({"id": "x", "kind": kind, "value": 1}, 2) for kind in kinds]
    others += [not_run({"id": "x"}), alone({"id": "x"}, Estimate(1, 0, 2))]
    assert headline(frame([result, wide, *others])).startswith(
        "2 results are compared with the paper's: 1 agree, 0 differ, 1 uninformative."
    )
    assert headline(frame(others)).startswith("No result")
    found = tally(frame([result, wide, *others]))
    assert list(found.index) == ["result", *kinds]
    assert found.loc["own_earlier"].to_dict() == {
        "agrees": 1, "differs": 1, "uninformative": 0, "not_run": 0, "no_reference": 0
    }  # fmt: skip


def test_a_true_line_differs_one_time_in_twenty_at_most() -> None:
    rng = np.random.default_rng(0)
    wins, theirs = rng.binomial(20, 0.4, 2000), rng.binomial(200, 0.4, 2000)
    gaps = [of_counts(a, 20, b, 200) for a, b in zip(wins, theirs, strict=True)]
    assert np.mean([judged(gap, 0.1) == "differs" for gap in gaps]) < 0.05
    assert np.mean([gap.low <= 0 <= gap.high for gap in gaps]) > 0.93
    assert isinstance(gaps[0], Gap)
    assert pd.Series([gap.value for gap in gaps]).mean() == pytest.approx(0, abs=0.01)
