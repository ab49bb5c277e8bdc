"""Ratings: encoding of matches, coverage of limits, and unbounded cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import logit
from scipy.stats import t

from benchmarks.leagues import coverage, table
from gauntlet.papers.gamebench.bootstrap import draw_by_match
from gauntlet.stats import means, profile
from gauntlet.stats.bradley_terry import beats, penalised
from gauntlet.stats.matches import Matches, Ties
from gauntlet.stats.ratings import By, rated, without_each

Row = tuple[int, int, float, int, int]
"""First and second player, the first one's score, game, deal."""


def matches(rows: Sequence[Row], players: int = 4) -> Matches:
    first, second, scores, games, deals = (np.array(column) for column in zip(*rows, strict=True))
    return Matches(players, first, second, scores.astype(float), games, deals)


SOME = matches([
    (0, 1, 1.0, 0, 0), (1, 0, 0.25, 0, 0), (0, 2, 0.5, 0, 1), (2, 1, 0.0, 0, 1),
    (0, 1, 0.0, 1, 0), (1, 2, 1.0, 1, 1), (2, 0, 0.5, 1, 1), (0, 2, 1.0, 1, 2),
])  # fmt: skip
"""Three of four players, four matches in each of two games."""


def test_each_game_weighs_the_same() -> None:
    rows = [(0, 1, 1.0, 0, deal) for deal in range(8)] + [(0, 1, 0.0, 5, 0), (0, 1, 0.0, 5, 1)]
    own = matches(rows, 2)
    assert own.weights.tolist() == [10 / 16] * 8 + [10 / 4] * 2
    assert own.wins("half") == pytest.approx(np.array([[0, 5], [5, 0]]))
    assert rated(own).fitted == pytest.approx([0, 0])


def test_a_tie_is_half_a_win_for_each_or_does_not_count() -> None:
    half, drop = SOME.wins("half"), SOME.wins("drop")
    assert half[0, 2] - drop[0, 2] == half[2, 0] - drop[2, 0] == 1.0
    assert half[0, 1] == drop[0, 1]


def test_ratings_are_of_scores_not_of_wins_where_matches_tie() -> None:
    """30 won, 12 lost, 8 tied: the chance is the mean score, 34 of 50; without ties, 30 of 42. A
    model with ties of its own (R. R. Davidson, 1970) has 30 to 12 for either."""
    scores = [1.0] * 30 + [0.0] * 12 + [0.5] * 8
    own = matches([(0, 1, score, 0, deal) for deal, score in enumerate(scores)], 2)
    assert rated(own).chances[0][0, 1] == pytest.approx(34 / 50, abs=1e-3)
    assert rated(own, ties="drop").chances[0][0, 1] == pytest.approx(30 / 42, abs=1e-3)


@pytest.mark.parametrize("ties", ["half", "drop"])
def test_draws_are_the_matches_in_the_mean(ties: Ties) -> None:
    tables = np.concatenate([*draw_by_match(SOME, ties, 40_000, np.random.default_rng(0))])
    assert tables.shape == (40_000, 4, 4)
    error = tables.std(0) / 200 + 1e-12
    assert (np.abs(tables.mean(0) - SOME.wins(ties)) < 5 * error).all()


@pytest.mark.parametrize("by", ["deal", "match"])
def test_who_has_not_played_has_no_rating(by: By) -> None:
    found = rated(SOME, by=by)
    assert np.isnan(found.fitted).tolist() == [False, False, False, True]
    assert np.isnan(found.limits)[:, 3].all()
    assert found.matches.tolist() == [6, 5, 5, 0]
    assert np.isnan(found.chances).all(0)[3].all()


def test_ratings_lie_around_the_opponent_of_a_mean_match() -> None:
    found = rated(SOME)
    assert np.nansum(found.fitted * [6, 5, 5, 0]) == pytest.approx(0, abs=1e-9)
    without = rated(SOME, ties="drop")  # leaves player 2 without a win
    assert without.zero[2].tolist() == pytest.approx([4 / 9, 5 / 9, 0, 0])
    assert without.limits[0][2] == -np.inf


def test_parts_that_never_met_are_rated_apart() -> None:
    rows = [(0, 1, 1.0, 0, deal) for deal in range(4)] + [(2, 3, 0.0, 0, deal) for deal in range(4)]
    rows += [(1, 0, 1.0, 0, 4), (3, 2, 0.0, 0, 4)]
    found = rated(matches(rows))
    assert found.parts.tolist() == [0, 0, 1, 1]
    assert found.fitted[:2].sum() == pytest.approx(0) == pytest.approx(found.fitted[2:].sum())
    chance, low, high = found.chances
    assert np.isnan(chance[:2, 2:]).all()
    assert low[0, 1] < chance[0, 1] < high[0, 1]


def test_one_deal_of_a_game_has_no_limits() -> None:
    found = rated(SOME.where((SOME.games == 1) | (SOME.deals == 0)))
    assert np.isnan(found.limits).all()
    assert np.isfinite(found.fitted[:3]).all()
    assert np.isnan(found.chances[1]).all()


def test_chances_follow_from_the_ratings() -> None:
    found = rated(SOME)
    chance, low, high = found.chances
    assert chance[0, 2] == pytest.approx(beats(found.fitted)[0, 2])
    assert chance + chance.T == pytest.approx(np.where(np.isnan(chance), np.nan, 1), nan_ok=True)
    assert low + high.T == pytest.approx(np.where(np.isnan(low), np.nan, 1), nan_ok=True)
    assert np.nanmin(chance - low) > 0 < np.nanmin(high - chance)


def test_without_each_game() -> None:
    found = dict(without_each(SOME, rated))
    assert list(found) == [0, 1]
    only = penalised(SOME.where(SOME.games == 1).wins("half")[:3, :3])
    assert found[0].fitted[:3] == pytest.approx(only - only @ found[0].zero[0, :3])


def duel(won: int, deals: int, times: int = 1) -> Matches:
    """Player 0 wins `won` of the deals, each with `times` matches that all end alike."""
    return matches(
        [(0, 1, float(deal < won), 0, deal) for deal in range(deals) for _ in range(times)], 2
    )


def profile_limit(won: int, deals: int, aim: float, side: Callable[[float, float], float]) -> float:
    """Where the binomial likelihood ratio is `aim`, in log odds, with scipy's root finder."""

    def ratio(p: float) -> float:
        rate = won / deals
        told = won * np.log(rate / p) + (deals - won) * np.log((1 - rate) / (1 - p))
        return float(2 * told - aim)

    return float(logit(brentq(ratio, won / deals, side(1e-9, 1 - 1e-9))))


def test_of_two_players_the_limits_are_those_of_the_binomial_likelihood() -> None:
    """Matches alone on their deals have no design effect; 20 of them and 4 shared: t of 23."""
    low, high = (end[0] for end in rated(duel(15, 20)).limits)
    aim = t.ppf(0.95, 23) ** 2
    assert 2 * low == pytest.approx(profile_limit(15, 20, aim, min), abs=1e-6)
    assert 2 * high == pytest.approx(profile_limit(15, 20, aim, max), abs=1e-6)


def test_matches_of_a_deal_that_end_alike_count_as_one() -> None:
    once, thrice = (rated(duel(15, 20, times)).limits for times in (1, 3))
    assert thrice[0] == pytest.approx(once[0], abs=0.02)
    by_match = rated(duel(15, 20, 3), by="match").limits
    assert by_match[0][0] > thrice[0][0] + 0.1


@pytest.mark.parametrize("by", ["deal", "match"])
@pytest.mark.parametrize(("deals", "level"), [(20, 0.9), (2, 0.9), (300, 0.95)])
def test_who_won_everything_has_a_limit_on_one_side(deals: int, level: float, by: By) -> None:
    """Santorini: 20 wins of 20 have half a chance of the tail where a win has .1^(1/20)."""
    found = rated(duel(deals, deals), by=by, level=level)
    least = (1 - level) ** (1 / deals)
    assert found.limits[0] == pytest.approx([logit(least) / 2, -np.inf], abs=0.01)
    assert found.limits[1] == pytest.approx([np.inf, -logit(least) / 2], abs=0.01)
    chance, low, high = (table[0, 1] for table in found.chances)
    assert (low, high) == (pytest.approx(least, abs=0.002), 1)
    assert low < chance < high


def test_others_keep_their_limits_beside_who_won_everything() -> None:
    rng = np.random.default_rng(3)
    rows = [
        (a, b, float(rng.random() < 0.6), 0, deal)
        for deal in range(15)
        for a, b in ((0, 1), (1, 2), (0, 2))
    ]
    alone = rated(matches(rows))
    beside = rated(matches([*rows, *((3, deal % 3, 1.0, 0, deal) for deal in range(15))]))
    assert beside.zero[3].tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])
    assert np.array(beside.limits)[:, :3] == pytest.approx(np.array(alone.limits)[:, :3], abs=0.05)
    assert beside.limits[1][3] == np.inf
    assert beside.limits[0][3] > max(beside.fitted[:3])


def test_who_never_met_and_both_won_everything_are_not_told_apart() -> None:
    rows = [(winner, 2, 1.0, 0, deal) for deal in range(9) for winner in (0, 1)]
    found = rated(matches(rows, 3))
    assert [table[0, 1] for table in found.chances] == [pytest.approx(0.5), 0, 1]


def test_limits_include_the_rating_however_wide_the_field() -> None:
    """Ten players in a row, each of whom wins 99 of 100 matches with the next: the prior draws the
    first from where the matches alone have it, 20.7, to 16.9; they exclude less than 18.1."""
    rows = [
        (at, at + 1, float(match > 0), 0, 100 * at + match)
        for at in range(9)
        for match in range(100)
    ]
    found = rated(matches(rows, 10))
    low, high = found.limits
    assert found.fitted[0] == pytest.approx(16.85, abs=0.01)
    assert (low <= found.fitted).all()
    assert (found.fitted <= high).all()
    chance, least, most = found.chances
    assert np.nanmin(np.stack((chance - least, most - chance))) > -1e-12


def test_deals_that_all_end_alike_still_leave_a_width() -> None:
    """The first player always wins: one win for each in every deal."""
    rows = [(seat, 1 - seat, 1.0, 0, deal) for deal in range(20) for seat in (0, 1)]
    low, high = rated(matches(rows, 2)).limits
    assert low[0] < -0.01 < 0.01 < high[0]


@pytest.mark.parametrize("number", [10, 100])
@pytest.mark.parametrize("scores", [[0.5], [1.0, 0.0]])
def test_deals_that_all_tie_have_the_limits_of_their_range(
    number: int, scores: list[float]
) -> None:
    """About those of `means`, where one more deal may end at either end of the range."""
    rows = [(0, 1, score, 0, deal) for deal in range(number) for score in scores]
    low, high = (end[0] * 2 for end in rated(matches(rows, 2)).limits)
    least, most = map(float, means.limits(np.full(number, 0.5), (0.0, 1.0), 0.9))
    assert (low, high) == pytest.approx((logit(least), logit(most)), rel=0.15)


def test_limits_and_p_values_of_alike_deals_agree() -> None:
    played = matches([(0, 1, 0.75, 0, deal) for deal in range(10)], 2)
    (above,), _ = profile.tails(played, "half", played.units, np.array([0]), np.array([[0.0, 1.0]]))
    low, _ = rated(played, level=1 - 2 * above).limits
    assert low[0] == pytest.approx(0.0, abs=1e-6)
    assert above == pytest.approx(float(means.p_value(np.full(10, 0.75), (0, 1), 0.5)), abs=0.02)


CAREFUL = ("two matches, one deal", "two matches, two deals")
"""Players whose limits cover more often than nominal: two matches have three outcomes, and limits
that exclude one of them too often would be too short."""


@pytest.mark.slow
def test_limits_hold_in_leagues_of_every_kind(figure: Callable[[str], None]) -> None:
    """At 90%: .87 to .93, give or take three standard errors; who is CAREFUL may exceed it."""
    found = [*coverage(leagues=400, seed=1)]
    figure(table(found))
    for line in found:
        error = 3 * np.sqrt(0.9 * 0.1 / line.limits)
        most = 1.0 if line.player in CAREFUL else 0.93 + error
        assert 0.87 - error <= line.share <= most, line
