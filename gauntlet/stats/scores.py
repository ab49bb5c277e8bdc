"""Mean scores of every two players, by deal: who beats whom, and in which circles; the maximal
lottery of a field in which nobody need be best.

A deal's value of a mean is its value in the linearised ratio of totals (as `means.per_deal`), so
that games keep their weights and the mean over deals is the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from scipy.optimize import linprog, minimize

from gauntlet.stats.bradley_terry import Ints
from gauntlet.stats.chains import Truths, reached
from gauntlet.stats.checks import Floats
from gauntlet.stats.matches import Matches, Ties
from gauntlet.stats.means import p_value
from gauntlet.stats.multiple import holm


@dataclass(frozen=True)
class PairScores:
    """Points and matches of every two players by deal, weighted: (deals, k, k)."""

    points: Floats
    counts: Floats

    @classmethod
    def from_matches(cls, matches: Matches, ties: Ties, units: Ints) -> PairScores:
        """units: the deal of each pair, numbered over all games. Raises ValueError for teams."""
        if matches.teams is not None:
            raise ValueError("pair scores are of single players, and some sides are teams")
        weights = np.where((matches.scores == 0.5) & (ties == "drop"), 0.0, matches.weights)
        deals, k = units.max(initial=-1) + 1, matches.players
        points, counts = np.zeros((2, deals, k, k))
        sides = ((matches.first, matches.second, matches.scores),
                 (matches.second, matches.first, 1.0 - matches.scores))  # fmt: skip
        for one, other, score in sides:
            np.add.at(points, (units, one, other), weights * score)
            np.add.at(counts, (units, one, other), weights)
        return cls(points, counts)

    @property
    def means(self) -> Floats:
        """The mean score of each row's player against each column's: (k, k); nan if they never
        met, 1/2 against itself."""
        totals = self.counts.sum(0)
        found = np.where(totals > 0, self.points.sum(0) / np.where(totals > 0, totals, 1.0), np.nan)
        np.fill_diagonal(found, 0.5)
        return found

    @property
    def moved(self) -> Floats:
        """How far each deal moves these means, from them: (deals, k, k)."""
        totals = self.counts.sum(0)
        off = self.points - self.counts * np.nan_to_num(self.means)
        found: Floats = off / np.where(totals > 0, totals, 1.0)
        return found

    def by_deal(self, first: int, second: int) -> Floats:
        """The values of the deals in which these two met."""
        met = self.counts[:, first, second] > 0
        mean = self.means[first, second]
        found: Floats = mean + met.sum() * self.moved[met, first, second]
        return found


def beats(scores: PairScores) -> Floats:
    """Return the p-value that each row's player beats each column's, more than 1/2 on average:
    (k, k), Holm's correction over all ordered pairs; nan without two deals."""
    k = len(scores.means)
    found = np.full((k, k), np.nan)
    for one, other in permutations(range(k), 2):
        values = scores.by_deal(one, other)
        if len(values) > 1:
            span = min(0.0, values.min()), max(1.0, values.max())
            found[one, other] = p_value(values, span, 0.5, "above")
    corrected: Floats = holm(found.ravel()).reshape(k, k)
    return corrected


def cycles(shown: Truths) -> list[list[int]]:
    """Return for each group of players who beat each other in a circle its shortest cycle, the
    lowest number first. shown: (k, k), whether each row's player beats each column's."""
    chains = reached(shown)
    groups = chains & chains.T
    found = []
    for first in range(len(shown)):
        members = np.flatnonzero(groups[first])
        if len(members) > 2 and members[0] == first:
            circles = (_shortest(shown, int(start)) for start in members)
            best = min(circles, key=len)
            turn = best.index(min(best))
            found.append(best[turn:] + best[:turn])
    return found


def _shortest(shown: Truths, start: int) -> list[int]:
    """Return the shortest cycle through `start`, who is in one: breadth first."""
    paths: Sequence[list[int]] = [[start]]
    seen = {start}
    while True:
        longer = []
        for path in paths:
            for following in np.flatnonzero(shown[path[-1]]):
                if following == start:
                    return path
                if int(following) not in seen:
                    seen.add(int(following))
                    longer.append([*path, int(following)])
        paths = longer


EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
"""For linear programmes: copies of players should change nothing."""
NEAR = 1e-9
"""Rounding of these."""


def maximal_lottery(margins: Floats) -> Floats:
    """Return the lottery p over k players that no player beats on average: p @ A >= 0, where margin
    A[i, j] is the mean score of i against j, less 1/2, and A = -A', (k, k) (G. Kreweras
    (1965); P. C. Fishburn (1984), Rev. Econ. Stud. 51, 683-692; M. Lanctot et al. (2023),
    arXiv 2312.03121). Of several the one of most entropy, which treats copies of a player alike
    (D. Balduzzi et al. (2018), NeurIPS 31, 3268-3279).

    A @ p is 0 for its members and at most 0 for all others. Raises ValueError if the margins are no
    finite antisymmetric table.
    """
    checked = _margins(margins)
    k = len(checked)
    corners = [_corner(checked, goal) for goal in np.eye(k)]
    middle = np.mean(corners, axis=0)
    middle = np.where(middle > NEAR, middle, 0.0) / middle[middle > NEAR].sum()
    if max(np.abs(one - middle).max() for one in corners) < NEAR:
        return np.asarray(middle, float)
    return _of_most_entropy(checked, middle)


def _corner(margins: Floats, goal: Floats) -> Floats:
    """Return the maximal lottery with most of `goal`."""
    k = len(margins)
    found = linprog(
        *(-goal, -margins.T, np.zeros(k), np.ones((1, k)), [1.0]), bounds=(0, 1), options=EXACT
    )
    p: Floats = found.x
    return p


def _of_most_entropy(margins: Floats, start: Floats) -> Floats:
    """Return the maximal lottery of most entropy; `start` has all players that any has."""
    used = start > 0
    own = margins[used]
    equal = np.vstack((own[:, used].T, np.ones((1, used.sum()))))
    basis = np.linalg.svd(equal)[2][np.linalg.matrix_rank(equal, tol=NEAR) :].T
    p = start[used]

    def minus_entropy(step: Floats) -> float:
        q = np.maximum(p + basis @ step, 1e-300)
        return float((q * np.log(q)).sum())

    def slope(step: Floats) -> Floats:
        q = np.maximum(p + basis @ step, 1e-300)
        found: Floats = basis.T @ (np.log(q) + 1.0)
        return found

    others = own[:, ~used].T
    limits = [
        {"type": "ineq", "fun": lambda step: p + basis @ step, "jac": lambda _: basis},
        {
            "type": "ineq",
            "fun": lambda step: others @ (p + basis @ step),
            "jac": lambda _: others @ basis,
        },
    ]
    zero = np.zeros(basis.shape[1])
    found = minimize(
        *(minus_entropy, zero), jac=slope, constraints=limits[: 1 + bool(others.size)],
        method="SLSQP", options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    lottery = np.zeros(len(start))
    lottery[used] = np.maximum(p + basis @ found.x, 0.0)
    return lottery / float(lottery.sum())


def _margins(margins: Floats) -> Floats:
    table = np.asarray(margins, float)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not np.isfinite(table).all():
        raise ValueError(f"margins are a square table of finite numbers, got {table.shape}")
    if np.abs(table + table.T).max(initial=0.0) > NEAR:
        raise ValueError("the margin of j against i is minus that of i against j")
    return table
