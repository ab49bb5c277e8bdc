"""Adaptive tournaments, against sums done by hand and leagues of known strength."""

from __future__ import annotations

from itertools import combinations
from math import exp, log, prod

import numpy as np
import pytest
from scipy.stats import binom

from benchmarks.adaptive import League, adaptive, league
from gauntlet.stats.tournament import BETS, Tournament, evidence, limits
from gauntlet.stats.verdicts import Verdict

EVEN = np.full(30, 0.5)


def played(
    verdict: Verdict = "order", players: int = 3, alpha: float = 0.05, margin: float = 0.0
) -> Tournament:
    return Tournament(players, verdict, alpha, margin)


def test_the_p_value_is_one_over_the_highest_mean_capital() -> None:
    shares = [1.0, 0.5, *[1.0] * 6, 0.0]
    found = played("pair", 2)
    found.add(0, 1, shares[:2])
    found.add(0, 1, shares[2:])
    capitals = [
        np.mean([prod(1 + bet * (x - 0.5) for x in shares[:n]) for bet in BETS])
        for n in range(1, 10)
    ]
    assert found.p_values[0, 1] == pytest.approx(2 / max(capitals))  # Holm, of two directions
    assert found.p_values[1, 0] == 1.0


def test_limits_end_where_the_evidence_does() -> None:
    rng = np.random.default_rng(1)
    shares = rng.choice([0, 0.5, 1], 200, p=[0.1, 0.3, 0.6])
    low, high = limits(shares)
    assert 0.5 < low < shares.mean() < high < 1
    assert evidence(shares, low, BETS / (2 * low)) == pytest.approx(log(40))
    assert evidence(1 - shares, 1 - high, BETS / (2 * (1 - high))) == pytest.approx(log(40))
    assert limits(1 - shares) == pytest.approx((1 - high, 1 - low))
    found = played("pair", 2)
    found.add(0, 1, shares)
    assert found.p_values[0, 1] == pytest.approx(2 * exp(-evidence(shares, 0.5)))
    assert limits([]) == (0.0, 1.0)
    assert limits(np.ones(500))[1] == 1.0


def test_limits_hold_at_every_look() -> None:
    """Of 300 sequences at 90%, at most 30 + 3 standard errors may leave their mean out."""
    rng = np.random.default_rng(2)
    x = rng.choice([0, 0.5, 1], (300, 100), p=[0.5, 0.2, 0.3])
    missed = sum(max(evidence(row, 0.4), evidence(1 - row, 0.6)) > log(20) for row in x)
    assert missed <= binom.isf(0.001, 300, 0.1)


def test_a_level_pair_is_refuted_in_both_directions() -> None:
    found = played("pair", 2, margin=0.1)
    found.add(0, 1, EVEN)
    growth = np.mean([exp(30 * log(1 + bet * 0.1)) for bet in BETS])
    assert not found.level.any()
    assert growth < 20
    found.add(0, 1, EVEN)
    assert np.mean([exp(60 * log(1 + bet * 0.1)) for bet in BETS]) > 20
    assert found.level[0, 1]
    assert found.level[1, 0]
    assert not found.claims.any()
    assert found.next_pairs() == {}


@pytest.mark.parametrize("verdict", ["order", "all"])
def test_an_order_takes_every_pair(verdict: Verdict) -> None:
    """That A beats B and B beats C does not say that A beats C."""
    found = played(verdict)
    for pair in ((0, 1), (1, 2)):
        found.add(*pair, np.ones(60))
    assert found.order == [0, 1, 2]
    assert found.open == [(0, 2)]
    found.add(0, 2, np.ones(60))
    assert found.open == []


def test_a_cycle_is_named_and_ends_the_order() -> None:
    found = played()
    for pair in ((0, 1), (1, 2), (2, 0)):
        found.add(*pair, np.ones(60))
    assert found.cycle
    assert found.next_pairs() == {}


def test_a_cycle_ends_an_order_that_lacks_others() -> None:
    for verdict, left in (("order", 0), ("all", 7)):
        found = played(verdict, 5)
        for pair in ((0, 1), (1, 2), (2, 0)):
            found.add(*pair, np.ones(80))
        assert found.cyclic.tolist() == [True, True, True, False, False]
        assert len(found.next_pairs()) == left


def test_a_best_player_may_be_above_a_cycle_and_none_is_within_one() -> None:
    found = played("top1", 4)
    for pair in ((0, 1), (1, 2), (2, 0)):
        found.add(*pair, np.ones(80))
    assert (found.contradicted, found.order[0]) == (False, 3)
    assert found.open == [(3, 0), (3, 1), (3, 2)]
    for other in (0, 1, 2):
        found.add(3, other, np.zeros(80) if other == 0 else np.ones(80))
    assert (found.contradicted, found.next_pairs()) == (True, {})


def test_what_is_known_goes_before_ratings() -> None:
    found = played("order", 4)
    found.add(3, 0, np.full(2000, 0.55))
    found.add(0, 1, np.ones(8))
    found.add(2, 3, np.full(8, 0.9))
    assert found.claims[3, 0]
    assert found.order.index(3) < found.order.index(0)


@pytest.mark.parametrize("verdict", ["order", "top1"])
@pytest.mark.parametrize("players", [2, 3, 7])
def test_everybody_meets_two_others_at_first(verdict: Verdict, players: int) -> None:
    pairs = played(verdict, players).next_pairs()
    met = np.bincount(np.array([*pairs]).ravel(), minlength=players)
    assert met.min() >= min(2, players - 1)


def test_the_best_of_many_beats_each_of_the_others() -> None:
    found = played("top1", 4)
    for pair in ((0, 1), (1, 2), (0, 3)):
        found.add(*pair, np.ones(80))
    assert found.order[0] == 0
    assert found.open == [(0, 2)]


CYCLE = np.where(np.arange(5)[:, None] == np.arange(5), 0.5, 0.3)
for _one in range(5):
    CYCLE[_one, [(_one + 1) % 5, (_one + 2) % 5]] = 0.7
"""Chances by which each of five players beats two others and loses to two."""
BEST = np.array(
    [[0.5, 0.7, 0.7, 0.7], [0.3, 0.5, 0.7, 0.3], [0.3, 0.3, 0.5, 0.7], [0.3, 0.7, 0.3, 0.5]]
)
"""One who beats three others, who beat each other in a circle."""


def settled(chances: np.ndarray, verdict: Verdict, seed: int) -> Tournament:
    """A tournament to its end. chances: of winning a match, (k, k)."""
    found, rng = Tournament(len(chances), verdict), np.random.default_rng(seed)
    while pairs := found.next_pairs():
        for one, other in pairs:
            found.add(one, other, rng.binomial(2, chances[one, other], 8) / 2)
    return found


@pytest.mark.parametrize("chances", [CYCLE, CYCLE[np.ix_([0, 1, 3], [0, 1, 3])]])
def test_no_order_and_no_best_is_settled_in_a_circle(chances: np.ndarray) -> None:
    """Claims are wrong in at most 5% of leagues; 20 leagues and binomial limits."""
    for verdict in ("order", "top1"):
        false = sum(not settled(chances, verdict, seed).contradicted for seed in range(20))
        assert false <= binom.isf(0.001, 20, 0.05)


def test_the_best_above_a_circle_is_settled() -> None:
    ended = [settled(BEST, "top1", seed) for seed in range(20)]
    wrong = sum(found.contradicted or found.order[0] != 0 for found in ended)
    assert wrong <= binom.isf(0.001, 20, 0.05)


@pytest.mark.parametrize("margin", [-0.1, 0.5])
def test_impossible_settings_are_refused(margin: float) -> None:
    with pytest.raises(ValueError, match="margin"):
        played(margin=margin)
    with pytest.raises(ValueError, match="two players"):
        played(players=1)
    with pytest.raises(ValueError, match="shares"):
        played().add(0, 1, [1.2])


def test_equal_players_are_seldom_told_apart() -> None:
    """Every claim is wrong, after any of 30 batches; of 200 leagues, few have one."""
    wrong = 0
    for seed in range(200):
        found, shares = played("all", 4), League(np.zeros(4), seed).shares(range(240))
        for pair in combinations(range(4), 2):
            found.add(*pair, shares[pair])
        wrong += bool(found.claims.any())
    assert wrong <= binom.isf(0.001, 200, 0.05)


@pytest.mark.parametrize("verdict", ["order", "top1", "all"])
def test_leagues_are_settled_rightly(verdict: Verdict) -> None:
    for seed in range(3):
        found = adaptive(league(5, seed), verdict)
        assert found.settled
        assert not found.wrong
