"""Mean scores of every two players, by deal: who beats whom, and scores against a lottery.

A deal's value of a mean is its value in the linearised ratio of totals (as `means.per_deal`), so
that games keep their weights and the mean over deals is the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student

from gauntlet.stats.bradley_terry import Ints
from gauntlet.stats.chains import Truths, reached
from gauntlet.stats.checks import Floats
from gauntlet.stats.lotteries import lotteries
from gauntlet.stats.matches import Matches, Ties
from gauntlet.stats.means import limits, p_value
from gauntlet.stats.multiple import holm

HALVES = 2
"""Parts of the deals: a lottery from one is judged by the other."""
DRAWS = 400
"""Draws for limits against a lottery."""


@dataclass(frozen=True)
class PairScores:
    """Points and matches of every two players by deal, weighted: (deals, k, k).

    order: the place of each deal within its game.
    """

    points: Floats
    counts: Floats
    order: Ints

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
        games = np.zeros(deals, int)
        games[units] = matches.games
        order = np.zeros(deals, int)
        for game in np.unique(games):
            own = games == game
            order[own] = np.arange(own.sum())
        return cls(points, counts, order)

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

    def of_players(self, players: Ints) -> PairScores:
        """Of some players only."""
        rows, columns = np.ix_(players, players)
        points, counts = (table[:, rows, columns] for table in (self.points, self.counts))
        return PairScores(points, counts, self.order)

    def half(self, number: int) -> PairScores:
        """Every second deal of each game."""
        own = self.order % HALVES == number
        return PairScores(self.points[own], self.counts[own], self.order[own])

    def weighted(self, weights: Floats) -> Floats:
        """The margins where the deals have these weights above 0, (n, deals): (n, k, k)."""
        points, counts = (np.tensordot(weights, table, 1) for table in (self.points, self.counts))
        margins = np.where(counts > 0, points / np.where(counts > 0, counts, 1.0) - 0.5, 0.0)
        return np.asarray((margins - margins.swapaxes(1, 2)) / 2, float)

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
            found[one, other] = p_value(values, _span(values), 0.5, "above")
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


def against_lottery(scores: PairScores, level: float) -> tuple[Floats, Floats]:
    """Return limits of each player's mean score, less 1/2, against a lottery that nobody beats:
    quantiles of DRAWS draws that give every deal an exponential weight of mean 1 (the Bayesian
    bootstrap, D. B. Rubin (1981), Ann. Stat. 9, 130-134), so that they know of other lotteries.

    In a draw each half of the deals gives the lottery that the other half is scored against, as a
    lottery suits the deals that it was made from. The quantiles are widened as Student's t is wider
    than a normal. No limit exceeds 0. nan if two players did not meet in both halves, or these have
    fewer than two deals.
    """
    halves, rng = [scores.half(number) for number in range(HALVES)], np.random.default_rng(0)
    if any(np.isnan(half.means).any() or len(half.order) < 2 for half in halves):
        return (np.full(len(scores.means), np.nan),) * 2
    margins = [half.weighted(rng.exponential(size=(DRAWS, len(half.order)))) for half in halves]
    against = zip(margins, map(lotteries, margins[::-1]), strict=True)
    drawn = np.mean([np.einsum("nij,nj->ni", own, p) for own, p in against], axis=0)
    tail = (1 + level) / 2
    middle, wider = drawn.mean(0), student.ppf(tail, len(scores.order) - 1) / norm.ppf(tail)
    low, high = middle + wider * (np.quantile(drawn, (1 - tail, tail), axis=0) - middle)
    return np.minimum(low, 0.0), np.minimum(high, 0.0)


def chances(scores: PairScores, level: float) -> tuple[Floats, Floats, Floats]:
    """Return each mean score with its limits by deals: three tables (k, k), nan where two never
    met, and on the diagonal."""
    k = len(scores.means)
    mean = np.where(np.eye(k, dtype=bool), np.nan, scores.means)
    low, high = np.full((2, k, k), np.nan)
    for one, other in permutations(range(k), 2):
        values = scores.by_deal(one, other)
        if len(values) > 1:
            low[one, other], high[one, other] = limits(values, _span(values), level)
    return mean, low, high


def _span(values: Floats, low: float = 0.0) -> tuple[float, float]:
    """The range of scores from `low`, or what a deal's values reach."""
    return min(low, float(values.min())), max(low + 1.0, float(values.max()))


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
