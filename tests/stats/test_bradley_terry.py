"""Bradley and Terry's model: choix as an oracle, closed forms; pairs of rankings."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gauntlet.papers.gamebench.bootstrap import ALPHA, spectral
from gauntlet.stats.bradley_terry import beats, penalised
from gauntlet.stats.chains import parts
from gauntlet.stats.checks import Floats
from gauntlet.stats.matches import Matches
from gauntlet.stats.ratings import rated

Fit = Callable[[Floats], Floats]
BOTH = pytest.mark.parametrize("fit", [spectral, penalised])


def table(rng: np.random.Generator, k: int = 7, most: float = 20.0) -> Floats:
    """A table of wins, some of them missing."""
    wins = rng.uniform(0, most, (k, k)) * (rng.random((k, k)) < 0.6)
    np.fill_diagonal(wins, 0)
    return wins


def test_ratings_are_those_of_choix_to_a_millionth() -> None:
    choix = pytest.importorskip("choix")
    rng = np.random.default_rng(3)
    for _ in range(60):
        wins = table(rng, k=int(rng.integers(2, 9)))
        alpha, spread = rng.choice([ALPHA, 0.1]), rng.choice([2.0, 5.0])
        theirs = choix.ilsr_pairwise_dense(wins, alpha=alpha, max_iter=100_000, tol=1e-12)
        assert spectral(wins, alpha) == pytest.approx(theirs, abs=1e-6)
        whole = np.rint(wins).astype(int)
        pairs = [(i, j) for i, j in np.ndindex(*whole.shape) for _ in range(whole[i, j])]
        theirs = choix.opt_pairwise(
            len(wins), pairs, alpha=0.5 / spread**2, method="Newton-CG", tol=1e-13
        )
        assert penalised(whole, spread) == pytest.approx(theirs - theirs.mean(), abs=1e-6)


@BOTH
def test_many_tables_at_once_give_what_each_gives_alone(fit: Fit) -> None:
    rng = np.random.default_rng(7)
    tables = np.array([[table(rng, k=4) for _ in range(3)] for _ in range(2)])
    found = fit(tables)
    assert found.shape == (2, 3, 4)
    for place in np.ndindex(2, 3):
        assert found[place] == pytest.approx(fit(tables[place]), abs=1e-7)
    assert fit(np.zeros((0, 4, 4))).shape == (0, 4)


@pytest.mark.parametrize("entries", [1, 50])
@BOTH
def test_the_size_of_a_batch_changes_nothing(
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
def test_the_slope_of_the_likelihood_at_the_ratings_is_0(wins: Floats, fit: Fit) -> None:
    """Whoever won everything, or met nobody: the likelihood and its prior are at their largest."""
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


def test_parts_are_joined_by_chains_of_matches() -> None:
    met = np.zeros((6, 6))
    met[0, 4] = met[4, 2] = met[3, 1] = 1
    assert parts(met).tolist() == [0, 1, 0, 1, 0, -1]


# Rankings of several sides.


def ranked(rankings: list[list[list[int]]], players: int) -> Matches:
    """Each match as groups that tie, the best first, on a deal of its own."""
    rows = []
    for match, groups in enumerate(rankings):
        placed = [(side, place) for place, group in enumerate(groups) for side in group]
        for (one, high), (other, low) in combinations(placed, 2):
            rows.append((one, other, 1.0 if high < low else 0.5, match))
    first, second, scores, match = (np.array(column) for column in zip(*rows, strict=True))
    zero = np.zeros(len(rows), int)
    return Matches(players, first, second, scores.astype(float), zero, match, match)


def drawn(rng: np.random.Generator, worth: np.ndarray, matches: int, size: int) -> list[list[int]]:
    """Rankings of the Plackett-Luce model: utilities with Gumbel noise, in order."""
    found = []
    for _ in range(matches):
        sides = rng.choice(len(worth), size, replace=False)
        found.append(sides[np.argsort(-(worth[sides] + rng.gumbel(size=size)))].tolist())
    return found


def test_pairs_find_the_worths_of_rankings() -> None:
    rng = np.random.default_rng(8)
    worth = np.array([-1.0, -0.3, 0.0, 0.4, 0.9])
    rankings = drawn(rng, worth, 2_000, 4)
    matches = ranked([[[side] for side in ranking] for ranking in rankings], 5)
    found = rated(matches)
    assert found.fitted == pytest.approx(worth - found.zero[0] @ worth, abs=0.15)
    low, high = found.limits
    assert (low < found.fitted).all()
    assert (high - low < 0.2).all()


def test_who_came_first_always_has_no_limit_above() -> None:
    rankings = [[[0], [1], [2]], [[0], [2], [1]]] * 10
    low, high = rated(ranked(rankings, 3)).limits
    assert high[0] == np.inf
    assert np.isfinite(low[0])
