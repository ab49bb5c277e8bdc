"""Losses and identification of an observer, by brute force over all pairs and against the audit."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pytest

from gauntlet.games.rock_paper_scissors.strategies import CODES, grid
from gauntlet.games.watch import observation
from gauntlet.games.watch.observation import EPS, Grid, Mode

OUTCOMES = grid().reshape(-1, 3)
LEGACY = grid(legacy_d=True).reshape(-1, 3)
PAIRS = ("HC", "NG", "DY")


def outcome_of(pair: str, outcomes: np.ndarray = OUTCOMES) -> np.ndarray:
    return np.asarray(outcomes[CODES.index(pair[0]) * len(CODES) + CODES.index(pair[1])])


class Brute:
    """Each loss of all 361 x 361 pairs, one pair after the other: lists, truths as rows."""

    def __init__(self, eps: float) -> None:
        rows = OUTCOMES.tolist()
        logs = [[math.log(chance + eps) for chance in row] for row in rows]
        self.ce = [[-sum(map(float.__mul__, p, log)) for log in logs] for p in rows]
        self.kl = [[max(ce - row[i], 0.0) for ce in row] for i, row in enumerate(self.ce)]
        apart = [[map(float.__sub__, p, q) for q in rows] for p in rows]
        self.brier = [[sum(by**2 for by in each) for each in row] for row in apart]
        worth = [row[0] - row[2] for row in rows]
        self.ev = [[(a - b) ** 2 for b in worth] for a in worth]

    def scaled(self, losses: list[list[float]], over: str, least: bool) -> np.ndarray:
        """From 0, or from the least, to 1 over the grid: of all, by row, or by column."""
        if over == "guess":
            turned = [list(column) for column in zip(*losses, strict=True)]
            return self.scaled(turned, "truth", least).T
        whole = [one for row in losses for one in row]
        found = []
        ends = (min(whole), max(whole))
        for row in losses:
            low, high = ends if over == "global" else (min(row), max(row))
            low = low if least else 0.0
            flat = high - low < 1e-9
            found.append([least / 2 if flat else (one - low) / (high - low) for one in row])
        return np.array(found)


@pytest.fixture(scope="module", params=[EPS, 1e-3])
def brute(request: pytest.FixtureRequest) -> tuple[float, Brute]:
    return request.param, Brute(request.param)


def test_each_loss_of_all_pairs(brute: tuple[float, Brute]) -> None:
    eps, slow = brute
    truth, guess = OUTCOMES[:, None], OUTCOMES
    close = {"rtol": 1e-9, "atol": 1e-12}
    np.testing.assert_allclose(observation.cross_entropy(truth, guess, eps), slow.ce, **close)
    np.testing.assert_allclose(observation.divergence(truth, guess, eps), slow.kl, **close)
    np.testing.assert_allclose(observation.brier(truth, guess), slow.brier, **close)
    np.testing.assert_allclose(observation.ev_loss(truth, guess), slow.ev, **close)


@pytest.mark.parametrize("over", get_args(Grid))
def test_the_union_of_all_pairs_in_each_mode(brute: tuple[float, Brute], over: Grid) -> None:
    eps, slow = brute
    apart, off = np.array(slow.brier), np.array(slow.ev)
    wanted = {
        "raw": np.array(slow.ce) + apart + off,
        "paper": slow.scaled(slow.ce, over, least=True) + apart + off / 4,
        "fixed": slow.scaled(slow.kl, over, least=False) + apart / 2 + off / 4,
    }
    for mode in get_args(Mode):
        found = observation.union(OUTCOMES[:, None], OUTCOMES, OUTCOMES, mode, over, eps)
        np.testing.assert_allclose(found, wanted[mode] / 3, rtol=1e-7, atol=1e-11)
    fixed = observation.union(OUTCOMES[:, None], OUTCOMES, OUTCOMES, "fixed", over, eps)
    assert fixed.max() <= 1
    assert np.diag(fixed) == pytest.approx(0)


def test_ranges_that_are_claimed_and_true() -> None:
    """OB-01 to OB-03: Brier reaches 2, EV loss 4 (.0004 with the printed /100), Union 4/3, and the
    cross-entropy 27.63."""
    truth, guess = OUTCOMES[:, None], OUTCOMES
    assert observation.brier(truth, guess).max() == pytest.approx(2)
    assert observation.brier(outcome_of("AB"), outcome_of("BA")) == pytest.approx(2)
    assert observation.ev_loss(truth, guess).max() == pytest.approx(4)
    assert observation.ev_loss(truth, guess, (0.01, 0, -0.01)).max() == pytest.approx(0.0004)
    assert observation.cross_entropy(truth, guess).max() == pytest.approx(27.63, abs=0.005)
    assert observation.union(truth, guess, OUTCOMES, "paper").max() == pytest.approx(4 / 3)


@pytest.mark.parametrize(
    ("pair", "entropy", "unions"),
    [
        ("HC", 1.040, (0.0125, 0, 0.167)),
        ("NG", 1.078, (0.0130, 0, 0.132)),
        ("DY", 1.099, (0.0133, 0, 0.222)),
    ],
)
def test_what_a_right_guess_costs(
    pair: str, entropy: float, unions: tuple[float, float, float]
) -> None:
    """OB-03 and OB-04: by the paper's Union it hangs on what the grid is of; D as published."""
    truth = outcome_of(pair, LEGACY)
    assert observation.cross_entropy(truth, truth) == pytest.approx(entropy, abs=0.0005)
    found = [observation.union(truth, truth, LEGACY, "paper", over) for over in get_args(Grid)]
    assert found == pytest.approx(unions, abs=0.0005)
    assert observation.union(truth, truth, LEGACY) == pytest.approx(0, abs=1e-9)


def test_no_loss_tells_equal_outcomes_apart() -> None:
    """OB-09: 46 pairs have the outcomes of D and Y, and cost nothing as guesses about them."""
    found = [int(observation.indistinguishable(OUTCOMES, outcome_of(pair)).sum()) for pair in PAIRS]
    assert found == [15, 6, 46]
    free = observation.union(
        outcome_of("DY"),
        OUTCOMES[observation.indistinguishable(OUTCOMES, outcome_of("DY"))],
        OUTCOMES,
    )
    assert free.max() < 1e-5
    assert not observation.indistinguishable([[math.nan] * 3], outcome_of("DY")).any()


def test_more_outcomes_than_three() -> None:
    """Four players, one of whom wins: the first player's value is 1 or -1/3."""
    truth, guess = [0.4, 0.2, 0.2, 0.2], [0.25] * 4
    worth = (1, -1 / 3, -1 / 3, -1 / 3)
    assert observation.ev_loss(truth, guess, worth) == pytest.approx(0.2**2)
    found = observation.union(truth, guess, [truth, guess], grid="truth", worth=worth)
    assert found == pytest.approx((1 + 0.03 / 2 + 0.04 / (4 / 3) ** 2) / 3)


def test_identification_counts_null_guesses_as_misses() -> None:
    guesses = [None, "HA", "AC", "HC", None, "HC", "BB", "HC"]
    found = observation.identified("HC", guesses)
    assert (found.sir, found.each, found.null_rate) == (3 / 8, (4 / 8, 4 / 8), 2 / 8)
    assert found.lag == 1


@pytest.mark.parametrize(
    ("guesses", "lag"),
    [(["HC"], 0), (["BB", "HB", "BB", "BC"], 2), (["HA", "HA"], 3), ([None], 2)],
)
def test_the_lag_between_both_identifications(guesses: list[str | None], lag: int) -> None:
    assert observation.identified("HC", guesses).lag == lag


def test_the_course_of_a_loss() -> None:
    nan = math.nan
    found = observation.course([0.3, nan, 0.01, 0.02, nan, 0.0, nan, 0.5, 0.6, 0.01])
    assert (found.understood, found.spikes) == (3, 2)
    assert found.mean == pytest.approx(1.44 / 7)
    assert found.late == found.mean
    curve = [1.0] * 30 + [0.5] * 50
    assert observation.course(curve).late == 0.5
    assert observation.course(curve).understood == 81
    assert math.isnan(observation.course([nan, nan]).mean)
