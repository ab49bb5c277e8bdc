"""The Bradley-Terry model: closed forms, choix, and the chain written out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gauntlet.stats.bradley_terry import ALPHA, beats, parts, penalised, spectral
from gauntlet.stats.checks import Floats

Fit = Callable[[Floats], Floats]
BOTH = pytest.mark.parametrize("fit", [spectral, penalised])


def table(rng: np.random.Generator, k: int = 7, most: float = 20.0) -> Floats:
    """A table of wins, some of them missing."""
    wins = rng.uniform(0, most, (k, k)) * (rng.random((k, k)) < 0.6)
    np.fill_diagonal(wins, 0)
    return wins


# --- closed forms ---


@pytest.mark.parametrize(("won", "lost"), [(3, 1), (60, 40), (0.7, 0.3), (5, 5)])
def test_two_players_are_apart_by_the_log_odds(won: float, lost: float) -> None:
    wins = [[0, won], [lost, 0]]
    for found in (spectral(wins, 1e-9), penalised(wins, 1e5)):
        assert found[0] - found[1] == pytest.approx(math.log(won / lost), abs=1e-6)


def test_the_prior_of_two_players_is_as_told() -> None:
    """With 4 wins and none lost: 4 P(lose) = b / spread^2, the ratings being b and -b."""
    b, other = penalised([[0, 4.0], [0, 0]], spread=2.0)
    assert (b, b / 4) == pytest.approx((-other, 4 / (1 + math.exp(2 * b))))


def test_wins_that_fit_the_model_give_it_back() -> None:
    truth = np.array([1.5, 0.2, -0.4, -1.3])
    wins = 10 * beats(truth) * (1 - np.eye(4))
    assert spectral(wins, 1e-9) == pytest.approx(truth, abs=1e-6)
    assert penalised(wins, 1e5) == pytest.approx(truth, abs=1e-6)


@BOTH
def test_ratings_are_centred_and_a_tie_is_0(fit: Fit) -> None:
    found = fit(np.ones((5, 5)) - np.eye(5))
    assert found == pytest.approx(np.zeros(5), abs=1e-12)
    assert fit(table(np.random.default_rng(1))).mean() == pytest.approx(0, abs=1e-9)


# --- others' code ---


def test_choix_to_a_millionth() -> None:
    choix = pytest.importorskip("choix")
    rng = np.random.default_rng(3)
    for _ in range(100):
        wins = table(rng, k=int(rng.integers(2, 9)))
        own = choix.ilsr_pairwise_dense(wins, alpha=ALPHA, max_iter=100_000, tol=1e-12)
        assert spectral(wins) == pytest.approx(own, abs=1e-6)
        whole = np.rint(wins).astype(int)
        pairs = [(i, j) for i, j in np.ndindex(*whole.shape) for _ in range(whole[i, j])]
        own = choix.opt_pairwise(len(wins), pairs, alpha=0.5 / 5**2, method="Newton-CG", tol=1e-13)
        assert penalised(whole, 5.0) == pytest.approx(own - own.mean(), abs=1e-6)


# --- what may not matter ---


@BOTH
def test_many_tables_at_once_are_each_one_alone(fit: Fit) -> None:
    rng = np.random.default_rng(7)
    tables = np.array([[table(rng, k=4) for _ in range(3)] for _ in range(2)])
    found = fit(tables)
    assert found.shape == (2, 3, 4)
    for place in np.ndindex(2, 3):
        assert found[place] == pytest.approx(fit(tables[place]), abs=1e-7)
    assert fit(np.zeros((0, 4, 4))).shape == (0, 4)


@pytest.mark.parametrize("entries", [1, 50])
@BOTH
def test_how_many_are_worked_on_together(
    fit: Fit, entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = np.array([table(np.random.default_rng(seed), k=4) for seed in range(9)])
    whole = fit(tables)
    monkeypatch.setattr("gauntlet.stats.bradley_terry.AT_ONCE", entries)
    assert fit(tables) == pytest.approx(whole, abs=1e-7)


@given(
    arrays(float, (4, 4), elements=st.sampled_from([0.0, 1e-6, 0.5, 1.0, 30.0, 1e4])),
    st.sampled_from([spectral, penalised]),
)
def test_the_slope_at_the_ratings_is_nothing(wins: Floats, fit: Fit) -> None:
    """For players who won everything, or met nobody: likelihood plus prior is at its maximum."""
    np.fill_diagonal(wins, 0)
    b = fit(wins)
    assert np.isfinite(b).all()
    slope = wins.sum(1) - ((wins + wins.T) * beats(b)).sum(1)
    if fit is spectral:
        b = b - np.log(np.exp(b).mean())  # worths that add up to 4
        pull = 4 * ALPHA * (np.exp(b) - 1)
    else:
        pull = b / 25
    assert slope == pytest.approx(pull, abs=1e-6 * max(1.0, float(wins.max())))


# --- parts ---


def test_parts_are_joined_by_chains_of_matches() -> None:
    met = np.zeros((6, 6))
    met[0, 4] = met[4, 2] = met[3, 1] = 1
    assert parts(met).tolist() == [0, 1, 0, 1, 0, -1]
