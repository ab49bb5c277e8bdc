"""Maximal lotteries and deviation ratings: closed forms, copies of players, offsets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gauntlet.stats.lotteries import deviation_ratings, lotteries, maximal_lottery
from gauntlet.stats.matches import Matches
from gauntlet.stats.means import limits
from gauntlet.stats.ratings import Averages, rated
from gauntlet.stats.scores import cycles

ROCK_PAPER_SCISSORS = np.array([[0, -0.5, 0.5], [0.5, 0, -0.5], [-0.5, 0.5, 0]])
COPIED = 2e-9
"""The most that a copy of a player may move a rating."""


def margins(rng: np.random.Generator, k: int) -> np.ndarray:
    table = rng.normal(0, 0.2, (k, k))
    return (table - table.T) / 2


def with_copy(table: np.ndarray, player: int) -> np.ndarray:
    """The same game with one player twice."""
    every = [*range(len(table)), player]
    return table[np.ix_(*[every] * table.ndim)]


@pytest.mark.parametrize("weights", [(1, 1, 1), (1, 2, 3), (5, 1, 1)])
def test_three_who_go_round_are_mixed_in_proportion(weights: tuple[float, float, float]) -> None:
    """With margins a, b, c around the circle the lottery is (b, c, a) over their sum."""
    a, b, c = np.array(weights) / 12
    table = np.array([[0, a, -c], [-a, 0, b], [c, -b, 0]])
    assert maximal_lottery(table) == pytest.approx(np.array([b, c, a]) / (a + b + c))
    ratings, played = deviation_ratings(table)
    assert ratings == pytest.approx([0, 0, 0], abs=1e-12)
    assert played == pytest.approx(maximal_lottery(table))


def test_who_beats_everybody_is_the_lottery() -> None:
    table = np.array([[0, 0.1, 0.3], [-0.1, 0, 0.2], [-0.3, -0.2, 0]])
    assert maximal_lottery(table).tolist() == pytest.approx([1, 0, 0])
    assert deviation_ratings(table)[0] == pytest.approx([0, -0.1, -0.3])


def test_of_several_lotteries_it_is_that_of_most_entropy() -> None:
    assert maximal_lottery(np.zeros((4, 4))) == pytest.approx([0.25] * 4)
    copied = with_copy(ROCK_PAPER_SCISSORS, 0)
    assert maximal_lottery(copied) == pytest.approx([1 / 6, 1 / 3, 1 / 3, 1 / 6], abs=1e-6)


@pytest.mark.parametrize("k", [3, 6, 12, 20])
def test_nobody_beats_the_lottery_and_copies_change_no_deviation_rating(k: int) -> None:
    table = margins(np.random.default_rng(k), k)
    p = maximal_lottery(table)
    assert p.sum() == pytest.approx(1)
    assert (p @ table).min() > -1e-9
    ratings, _ = deviation_ratings(table)
    assert ratings.max() == pytest.approx(0, abs=1e-9)
    for player in (0, int(p.argmax())):
        copied = with_copy(table, player)
        assert np.abs(deviation_ratings(copied)[0] - ratings[[*range(k), player]]).max() < COPIED
        moved = copied.mean(1) - np.append(table.mean(1), table[player].mean())
        assert np.abs(moved).max() > 1e-3, "a mean score moves"


@pytest.mark.parametrize("seats", [2, 3])
def test_offsets_by_what_others_play_change_no_deviation_rating(seats: int) -> None:
    rng, k = np.random.default_rng(seats), 4
    payoffs = rng.normal(size=(k,) * seats)
    offset = rng.normal(size=(k,) * (seats - 1))
    if seats == 3:  # the others are alike
        payoffs, offset = (one + one.swapaxes(-1, -2) for one in (payoffs, offset))
    ratings, _ = deviation_ratings(payoffs)
    assert deviation_ratings(payoffs + offset)[0] == pytest.approx(ratings, abs=COPIED)
    assert deviation_ratings(with_copy(payoffs, 1))[0][:k] == pytest.approx(ratings, abs=COPIED)


def test_limits_against_one_who_beats_everybody_are_near_those_of_a_mean() -> None:
    """The lottery of either half is player 0, and of nearly all draws of it."""
    one, other, deals = [0, 0, 1], [1, 2, 2], 24
    won = np.array([[at % 3 > 0, at % 5 > 0, at % 4 > 1] for at in range(deals)], float)
    deal, zero = np.repeat(np.arange(deals), 3), np.zeros(3 * deals, int)
    matches = Matches(3, np.tile(one, deals), np.tile(other, deals), won.ravel(), zero, deal)
    for fit in ("nash", "deviation"):
        found = rated(matches, fit, level=0.95)
        assert isinstance(found, Averages)
        assert found.lottery == pytest.approx([1, 0, 0])
        assert found.fitted == pytest.approx([0, 0.5 - won[:, 0].mean(), 0.5 - won[:, 1].mean()])
        for player in (1, 2):
            ends = limits(0.5 - won[:, player - 1], (-0.5, 0.5))
            low, high = (end[player] for end in found.limits)
            assert low == pytest.approx(ends[0], abs=0.03)
            assert min(ends[1], 0) - 0.03 < high <= 0, "in some draws the lottery has others"
        chance, low, high = (table[0, 1] for table in found.chances)
        assert chance == pytest.approx(won[:, 0].mean())
        assert low < chance < high


def test_limits_do_not_depend_on_the_order_of_players() -> None:
    """Player 5 is a copy of player 0, so that there are several lotteries."""
    rng, k, deals = np.random.default_rng(8), 6, 10
    won = np.round(2 * rng.random((deals, k, k))) / 2
    won[:, :, 5], won[:, 0, 5] = 1 - won[:, 0], 0.5
    one, other = np.triu_indices(k, 1)
    zero, deal = np.zeros(deals * len(one), int), np.repeat(np.arange(deals), len(one))

    def ends(place: np.ndarray) -> np.ndarray:
        first, second = (np.tile(place[side], deals) for side in (one, other))
        matches = Matches(k, first, second, won[:, one, other].ravel(), zero, deal)
        return np.array(rated(matches, "nash").limits)[:, place]

    straight = ends(np.arange(k))
    assert np.isfinite(straight).all()
    assert straight[:, 0] == pytest.approx(straight[:, 5])
    assert ends(rng.permutation(k)) == pytest.approx(straight)


@pytest.mark.parametrize("k", [2, 3, 7])
def test_lotteries_of_many_tables_are_those_of_each(k: int) -> None:
    rng = np.random.default_rng(k)
    near = margins(rng, k) + 0.1 * np.array([margins(rng, k) for _ in range(30)])
    assert lotteries(near) == pytest.approx(np.array([maximal_lottery(one) for one in near]))
    tied = np.zeros((2, k, k))
    assert lotteries(tied) == pytest.approx(np.full((2, k), 1 / k))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: maximal_lottery(np.ones((2, 2))), "is minus that of i against j"),
        (lambda: maximal_lottery(np.ones((2, 3))), "square table of finite numbers"),
        (lambda: deviation_ratings(np.ones((2, 3))), "one finite table side per seat"),
    ],
)
def test_other_tables_are_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("beaten", "expected"),
    [
        ([(0, 1), (1, 2), (0, 2)], []),
        ([(0, 1), (1, 2), (2, 0), (0, 3)], [[0, 1, 2]]),
        ([(2, 1), (1, 0), (0, 2)], [[0, 2, 1]]),
        ([(0, 1), (1, 2), (2, 3), (3, 0), (2, 0)], [[0, 1, 2]]),
        ([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], [[0, 1, 2], [3, 4, 5]]),
    ],
)
def test_cycles_are_the_shortest_of_each_group(
    beaten: list[tuple[int, int]], expected: list[list[int]]
) -> None:
    shown = np.zeros((6, 6), bool)
    shown[tuple(np.transpose(beaten))] = True
    assert cycles(shown) == expected
