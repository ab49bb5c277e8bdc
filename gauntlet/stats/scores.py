"""Mean scores of every two players, by deal: who beats whom, and in which circles.

A deal's value of a mean is its value in the linearised ratio of totals (as `means.per_deal`), so
that games keep their weights and the mean over deals is the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

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
