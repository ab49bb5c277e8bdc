"""Placing on a ladder: closed forms, choix, and coverage with made-up players."""

from __future__ import annotations

import choix
import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import beta, binom

from benchmarks.placing import MADE_UP, placed
from gauntlet.stats.placing import (
    BETWEEN,
    ELO,
    SCORES,
    SECOND,
    Placement,
    Rungs,
    goodness,
    placing,
)

Pairs = list[list[int]]


def ladder(*elo: float) -> Rungs:
    playouts = np.array([4.0**step for step in range(len(elo))])
    return Rungs(playouts, np.array(elo, float), np.zeros((len(elo), len(elo))))


def test_against_one_rung_the_interval_is_that_of_a_beta_distribution() -> None:
    """A prior flat in Elo is flat in log odds: the posterior of the chance of a win is Beta(wins,
    losses)."""
    steps = placing(ladder(0.0), within=1.0, most=20, batch=20)
    next(steps)
    with pytest.raises(StopIteration) as stop:
        steps.send([1.5] * 12 + [1.0] * 8)  # 26 of 40 points
    found: Placement = stop.value.value
    expected = ELO * logit(beta.ppf([0.025, 0.975], 26, 14))
    assert [found.low, found.high] == pytest.approx(expected, abs=3)  # the grid has steps of 2
    assert not found.settled


def test_two_rungs_have_the_closed_form_and_its_error() -> None:
    pairs = np.array([3, 5, 20, 12, 10])
    rungs = Rungs.rated([1, 4], [(1, 4)], [pairs])
    n, p = pairs.sum(), pairs @ SCORES / pairs.sum() / 2
    assert rungs.elo == pytest.approx([0, ELO * logit(p)], abs=1e-3)
    spread = np.sqrt(pairs @ (SCORES - 2 * p) ** 2)  # of the points; the delta method
    assert rungs.error == pytest.approx([0, ELO * spread / (2 * n * p * (1 - p))], rel=1e-6)


def test_many_rungs_agree_with_choix() -> None:
    meetings, pairs = (
        [(1, 4), (4, 16), (1, 16)],
        [[5, 0, 9, 0, 11], [9, 0, 4, 0, 7], [1, 0, 6, 0, 9]],
    )
    results = [
        (winner, loser)
        for (first, second), counts in zip(meetings, pairs, strict=True)
        for points, count in enumerate(counts[::2])  # two matches are `points` wins of `second`
        for winner, loser in [(second, first)] * (points * count)
        + [(first, second)] * ((2 - points) * count)
    ]
    place = {1: 0, 4: 1, 16: 2}
    fitted = choix.opt_pairwise(3, [(place[a], place[b]) for a, b in results], alpha=1e-9)
    rungs = Rungs.rated([1, 4, 16], meetings, pairs)
    assert rungs.elo == pytest.approx(ELO * (fitted - fitted[0]), abs=0.05)


def test_rungs_without_a_chain_of_matches_are_refused() -> None:
    with pytest.raises(ValueError, match="no chain of matches"):
        Rungs.rated([1, 4, 16], [(1, 4)], [[1, 0, 1, 0, 1]])


@pytest.mark.parametrize(
    ("rungs", "elo", "playouts"),
    [
        (ladder(0, 100, 300), 100, 4),
        (ladder(0, 100, 300), 200, 8),  # half way in log2
        (ladder(0, 100, 300), 100 * SECOND, 2),
        (ladder(0, 100, 300), -50, 1),  # random play, or worse
        (ladder(0, 100, 300), 301, np.inf),
        (ladder(0, 120, 80, 300), 99.9, 4),  # 4 and 16 rise together, to 100
        (ladder(0, 120, 80, 300), 100.1, 16),
    ],
)  # fmt: skip
def test_equivalent_playouts(rungs: Rungs, elo: float, playouts: float) -> None:
    assert rungs.equivalent(elo) == pytest.approx(playouts, rel=5e-3)


def test_the_error_of_the_line_widens_the_interval_between_rungs() -> None:
    """A place known exactly, midway between rungs 200 apart: it is x steps away where the line
    has an error of x / 1.96 steps, by the root of 4 c p (1 - p) = p - 1/2 with c = 1.96 BETWEEN."""
    rungs, c = ladder(0, 200, 400), 1.96 * BETWEEN
    fewest, most = rungs.equivalents(Placement(300, 300, 300, (), (), True))
    p = (4 * c - 1 + np.sqrt((4 * c - 1) ** 2 + 8 * c)) / (8 * c)
    assert most == pytest.approx(4 ** (1 + p), rel=0.02)
    assert fewest == pytest.approx(4 ** (2 - p), rel=0.02)
    assert rungs.equivalents(Placement(200, 200, 200, (), (), True)) == pytest.approx((4, 4))
    assert rungs.equivalents(Placement(-90, -300, -10, (), (), True)) == (1, 1)
    assert rungs.equivalents(Placement(500, 450, 550, (), (), True)) == (np.inf, np.inf)


@pytest.mark.parametrize("within", [75, 50, 25])
def test_an_interval_covers_players_off_the_line(within: float) -> None:
    """UCT of two playouts in Tic-Tac-Toe scores 121 and 130 Elo in two measurements, and the line
    has 112. n = 100; at 95% fewer than 85 are covered once in 30,000 runs."""
    rungs = Rungs(4.0 ** np.arange(4), np.array([0, 162.0, 328, 451]), np.zeros((4, 4)))
    rng = np.random.default_rng(int(within))
    found = [rungs.equivalents(placed(126, within, rng, 4, rungs)) for _ in range(100)]
    assert sum(low <= 2 <= high for low, high in found) > 85


def test_intervals_cover_and_few_pairs_are_played() -> None:
    """n = 300 placements within 100 Elo; the bounds are passed by chance once in 10^6 runs."""
    rng = np.random.default_rng(1)
    players = rng.uniform(-50, MADE_UP.elo[-1] + 50, 300)
    found = [placed(true, 100, rng, batch=4) for true in players]
    hits = sum(one.low <= true <= one.high for one, true in zip(found, players, strict=True))
    assert hits >= binom.ppf(1e-6, 300, 0.94)
    assert all(one.settled for one in found)
    assert np.mean([one.pairs for one in found]) < 33


def test_the_next_opponent_is_the_nearest_rung() -> None:
    steps = placing(ladder(0, 300, 600), within=10, most=100)
    met = [next(steps)]
    for _ in range(9):
        met.append(steps.send([0.0]))
    assert met[0] == 1  # the middle of the grid
    assert met[-1] == 0


@pytest.mark.parametrize(("odd", "low", "high"), [(0.0, 0.001, 1.0), (0.35, 0.0, 1e-4)])
def test_one_strength_that_does_not_explain_the_results_is_seen(
    odd: float, low: float, high: float
) -> None:
    """`odd`: what a player scores above its strength against the lower rung, and below against the
    higher. 60 pairs each."""
    rng = np.random.default_rng(3)
    rungs = ladder(0, 200)
    chances = 1 / (1 + np.exp((rungs.elo - 100) / ELO)) + np.array([odd, -odd])
    met = np.repeat([0, 1], 60)
    scores = rng.binomial(2, chances[met]).astype(float)
    placement = Placement(100, 0, 200, tuple(met.tolist()), tuple(scores.tolist()), True)
    fit = goodness(rungs, placement)
    assert fit.degrees == (1, 118)
    assert low <= fit.p <= high
