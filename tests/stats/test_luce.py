"""Plackett-Luce ratings: choix as an oracle, closed forms with ties, recovery."""

from __future__ import annotations

from itertools import combinations

import choix
import numpy as np
import pytest

from gauntlet.stats import luce as module
from gauntlet.stats.luce import luce
from gauntlet.stats.matches import Matches, Ties
from gauntlet.stats.ratings import rated

FLAT = 1e3


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


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("ties", ["half", "drop"])
def test_without_ties_it_is_choix(size: int, ties: Ties) -> None:
    rng = np.random.default_rng(size)
    rankings = drawn(rng, rng.normal(0, 1, 6), 150, size)
    matches = ranked([[[side] for side in ranking] for ranking in rankings], 6)
    found = luce(matches, ties, matches.units, FLAT)
    assert found.rating == pytest.approx(choix.ilsr_rankings(6, rankings), abs=1e-6)
    assert len(found.ties) == 0


def test_two_sides_with_ties_have_a_closed_form() -> None:
    """R. R. Davidson's (1970) model with one parameter a player and one for ties is saturated: the
    chances are the shares."""
    won, lost, tied = 30, 12, 8
    rankings = [[[0], [1]]] * won + [[[1], [0]]] * lost + [[[0, 1]]] * tied
    matches = ranked(rankings, 2)
    found = luce(matches, "half", matches.units, FLAT)
    assert found.rating[0] - found.rating[1] == pytest.approx(np.log(won / lost), abs=1e-5)
    assert found.ties == pytest.approx([np.log(tied / np.sqrt(won * lost))], abs=1e-5)


def test_the_likelihood_of_a_ranking_with_a_tie() -> None:
    """Of 3 sides, 0 first and 1 and 2 tied, by enumeration of Turner et al.'s choices."""
    matches = ranked([[[0], [1, 2]]], 3)
    (three, two), deltas = module._choices(matches, "half", matches.units)
    assert deltas == 1
    theta = np.array([0.3, -0.2, 0.4, -0.7])
    worth, tie = np.exp(theta[:3]), np.exp(theta[3])
    pair = {(i, j): tie * np.sqrt(worth[i] * worth[j]) for i, j in combinations(range(3), 2)}
    first = worth[0] / (worth.sum() + sum(pair.values()))
    second = pair[1, 2] / (worth[1] + worth[2] + pair[1, 2])
    for one, chance in ((three, first), (two, second)):
        power = np.exp(one.design @ theta)[0]
        assert power[0] / power.sum() == pytest.approx(chance)


def test_a_fit_finds_the_worths_and_pairs_find_them_too() -> None:
    rng = np.random.default_rng(8)
    worth = np.array([-1.0, -0.3, 0.0, 0.4, 0.9])
    rankings = drawn(rng, worth, 2_000, 4)
    matches = ranked([[[side] for side in ranking] for ranking in rankings], 5)
    for fit in ("luce", "pairs"):
        found = rated(matches, fit)
        assert found.fitted == pytest.approx(worth - found.zero[0] @ worth, abs=0.15)
        low, high = found.limits
        assert (low < found.fitted).all()
        assert (high - low < 0.2).all()


def test_who_came_first_always_has_no_limit_above() -> None:
    rankings = [[[0], [1], [2]], [[0], [2], [1]]] * 10
    both = [rated(ranked(rankings, 3), fit) for fit in ("pairs", "luce")]
    assert [found.limits[1][0] for found in both] == [np.inf, np.inf]
    assert np.isfinite([found.limits[0][0] for found in both]).all()
