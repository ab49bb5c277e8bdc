"""Matches of several sides and of teams: weights, fits, limits, against scipy; costs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import sem, t

from gauntlet.stats import profile
from gauntlet.stats.bradley_terry import SPREAD, log_likelihood, penalised
from gauntlet.stats.chains import bounded, parts
from gauntlet.stats.front import Costs, Spent, front
from gauntlet.stats.matches import Matches
from gauntlet.stats.ratings import rated

TEAMS = np.array([[1, 0, 0], [0, 1, 0], [0, 0.5, 0.5], [2 / 3, 0, 1 / 3]])
"""Sides of three players: 0, 1, 1 with 2, and 0 twice with 2."""


def duels(rng: np.random.Generator, matches: int = 80) -> Matches:
    """Single players and teams, two matches a deal."""
    strength = TEAMS @ np.array([0.5, 0.0, -0.5])
    one, other = rng.permuted(np.tile(range(4), (matches, 1)), axis=1)[:, :2].T
    won = rng.random(matches) < 1 / (1 + np.exp(strength[other] - strength[one]))
    zero = np.zeros(matches, int)
    return Matches(3, one, other, won.astype(float), zero, np.arange(matches) // 2, teams=TEAMS)


def test_pairs_of_a_match_share_its_weight() -> None:
    """A match of 4 sides and one of 2, in one game; each side has a share of 1."""
    one, other = np.triu_indices(4, 1)
    first, second = np.append(one, 0), np.append(other, 3)
    number, zero = np.array([0] * 6 + [1]), np.zeros(7, int)
    found = Matches(4, first, second, np.array([1.0] * 6 + [0.25]), zero, number, number)
    assert found.shares.tolist() == pytest.approx([1 / 3] * 6 + [1])
    assert found.played.tolist() == [2, 1, 1, 2]
    assert found.means.tolist() == pytest.approx([(1 + 0.25) / 2, 2 / 3, 1 / 3, 0.75 / 2])
    assert found.wins("half").sum() == pytest.approx(3)
    assert found.count == 2


def test_a_team_is_the_mean_of_its_members() -> None:
    matches = duels(np.random.default_rng(1))
    wins = matches.wins("half")

    def loss(b: np.ndarray) -> float:
        return float(-log_likelihood(wins, TEAMS @ b) + (b @ b) / (2 * SPREAD**2))

    best = minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-8}).x
    assert penalised(wins, teams=TEAMS) == pytest.approx(best - best.mean(), abs=1e-5)


def test_limits_with_teams_are_those_of_the_profile_likelihood() -> None:
    matches = duels(np.random.default_rng(2))
    players, against = np.array([0]), np.array([[0.0, 1.0, 0.0]])
    asked = profile._Question.from_matches(
        matches, "half", matches.units, np.array([[1.0, -1.0, 0.0]])
    )
    (low,), (high,) = profile.limits(matches, "half", matches.units, 0.9, players, against)
    wins = matches.wins("half")

    def loss(free: np.ndarray, apart: float) -> float:
        return float(-log_likelihood(wins, TEAMS @ np.array([apart, 0.0, free[0]])))

    def ratio(apart: float) -> float:
        return 2 * float(minimize(loss, [0.0], (apart,), options={"gtol": 1e-8}).fun)

    top = ratio(float(asked.best[0] - asked.best[1]))
    for end in (low, high):
        aim = (ratio(end) - top) / asked.phi[0]
        assert profile.stdtr(asked.degrees[0], -np.sqrt(aim)) == pytest.approx(0.05, abs=1e-4)
    below, above = profile.tails(matches, "half", matches.units, players, against)
    level = 1 - 2 * min(below[0], above[0])
    ends = profile.limits(matches, "half", matches.units, level, players, against)
    assert min(np.abs(ends).ravel()) == pytest.approx(0, abs=1e-6)


def test_what_teams_determine() -> None:
    """0 and 1 only ever play together: nothing tells them apart."""
    teams = np.array([[0.5, 0.5, 0], [0, 0, 1]])
    assert parts(np.array([[0, 3], [2, 0]]), teams).tolist() == [0, 1, 2]
    apart = np.array([[1.0, -1.0, 0.0], [0.5, 0.5, -1.0]])
    assert bounded(np.array([[0, 3], [2, 0]]), apart, teams).tolist() == [[False, True]] * 2
    assert bounded(np.array([[0, 3], [0, 0]]), apart, teams).tolist() == [
        [False, True],
        [False, False],
    ]


def test_teams_of_one_are_players() -> None:
    rng = np.random.default_rng(3)
    one, other = np.triu_indices(4, 1)
    first, second = np.tile(one, 20), np.tile(other, 20)
    deal, zero = np.repeat(np.arange(20), 6), np.zeros(120, int)
    columns = (4, first, second, rng.integers(0, 2, 120).astype(float), zero, deal)
    alone, teamed = rated(Matches(*columns)), rated(Matches(*columns, teams=np.eye(4)))
    assert teamed.fitted == pytest.approx(alone.fitted)
    assert np.array(teamed.limits) == pytest.approx(np.array(alone.limits))


# --- strength and cost


def test_costs_and_who_dominates_whom() -> None:
    """0 beats 1 in 29 of 30 deals and costs less in all; 2 is as good as 0 and dearest."""
    deals = 30
    rows = [(0, 1, float(deal > 0), deal) for deal in range(deals)]
    rows += [(0, 2, float(deal % 2), deal) for deal in range(deals)]
    rows += [(2, 1, float(deal > 0), deal) for deal in range(deals)]
    first, second, scores, deal = (np.array(column) for column in zip(*rows, strict=True))
    zero = np.zeros(len(rows), int)
    matches = Matches(3, first, second, scores.astype(float), zero, deal)
    players = np.concatenate((first, second))
    amounts = 10.0 * players + np.tile(deal, 2) % 3
    spent = Spent(players, np.tile(zero, 2), np.tile(deal, 2), amounts)
    costs = Costs.from_matches(spent, matches)
    assert costs.mean == pytest.approx([1, 11, 21])
    low, high = costs.limits(0.9)
    error = np.std([0, 1, 2] * 10, ddof=1) / np.sqrt(deals)
    assert (high - low) / 2 == pytest.approx([1.6991 * error] * 3, rel=1e-4)  # t of 29 at .95
    found = front(matches, spent, "half", draws=400)
    assert (found.dominates < 0.05).tolist() == [[False, True, False], [False] * 3, [False] * 3]
    assert found.share[:2].tolist() == [1, 0]
    assert 0.3 < found.share[2] < 0.7


def with_newcomer(amounts: list[float], league: list[float]) -> Costs:
    """Players 0 and 1 meet in every deal at the costs of `league`, and 2 meets 0 in the first
    deals."""
    deals, few = np.arange(len(league)), np.arange(len(amounts))
    first, zero = np.zeros(len(deals) + len(few), int), np.zeros(len(deals) + len(few), int)
    second, deal = np.repeat([1, 2], [len(deals), len(few)]), np.append(deals, few)
    matches = Matches(3, first, second, np.ones(len(deal)), zero, deal)
    players = np.concatenate((first[: len(deals)], second))
    cost = np.concatenate((league, league, amounts))
    where = np.concatenate((deals, deal))
    return Costs.from_matches(Spent(players, np.zeros(len(players), int), where, cost), matches)


def test_a_newcomers_costs_are_known_by_its_own_deals() -> None:
    """Three deals: Student's t of 2 degrees of freedom, whatever the league has played."""
    own, league = [4.0, 5.0, 9.0], [10.0, 12.0] * 50
    costs = with_newcomer(own, league)
    low, high = costs.limits(0.9)
    assert (low[2], high[2]) == pytest.approx(t.interval(0.9, 2, np.mean(own), sem(own)))
    assert (low[1], high[1]) == pytest.approx(t.interval(0.9, 99, 11, sem(league)))
    off = np.zeros(100)
    off[:3] = (np.array(own) - 6) / 3 * np.sqrt(3 / 2)
    error = np.sqrt(np.square(off - (np.array(league) - 11) / 100 * np.sqrt(100 / 99)).sum())
    assert costs.cheaper()[2, 1] == pytest.approx(t.sf((11 - 6) / error, 2))


def test_costs_that_never_vary_are_no_proof() -> None:
    """Three deals at .1 and a hundred at .7: the sign test of three. Nothing costs just nothing."""
    costs = with_newcomer([0.1] * 3, [0.7] * 100)
    assert costs.cheaper()[2, 1] == pytest.approx(1 / 8)
    assert costs.cheaper()[1, 2] == 1
    assert np.isnan(np.array(costs.limits(0.9))).all()
    assert np.array(with_newcomer([0.0] * 3, [1.0, 3.0] * 50).limits(0.9))[:, 2].tolist() == [0, 0]


def test_a_single_deal_shows_no_variance() -> None:
    costs = with_newcomer([5.0], [7.0, 8.0] * 10)
    assert np.isnan(np.array(costs.limits(0.9))[:, 2]).all()
    assert np.isnan(costs.cheaper()[2]).all()
    assert np.isfinite(costs.cheaper()[0, 1])
