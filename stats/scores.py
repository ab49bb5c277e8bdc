"""Mean scores of every two players, by deal: who beats whom, and scores against a lottery.

A deal's value of a mean is its value in the linearised ratio of totals (as `means.per_deal`), so
that games keep their weights and the mean over deals is the mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from gauntlet.stats.bradley_terry import Ints
from gauntlet.stats.chains import Truths, reached
from gauntlet.stats.checks import Floats
from gauntlet.stats.matches import Matches, Ties
from gauntlet.stats.means import limits, p_value
from gauntlet.stats.multiple import holm

HALVES = 2
"""Parts of the deals: a lottery from one is judged by the other."""
MEMBER = 1e-9
"""The chance from which a player is in a lottery, as these are rounded."""


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


def against_lottery(
    scores: PairScores, lottery: Callable[[Floats], Floats], level: float
) -> tuple[Floats, Floats]:
    """Return limits of each player's mean score, less 1/2, against a lottery that nobody beats:
    from each half of the deals comes the lottery that the other half is scored against, as
    lotteries jump where scores change little.

    A deal also moves the lottery of its half, and with it the scores of players outside it; that
    counts to first order, as if the lottery kept its members (the delta method). No limit exceeds
    0. nan if two players did not meet in both halves, or these have fewer than two deals.

    lottery: from margins (k, k) to chances (k,).
    """
    halves = [scores.half(number) for number in range(HALVES)]
    margins = [half.means - 0.5 for half in halves]
    k = len(scores.means)
    if np.isnan(margins).any() or min(len(half.order) for half in halves) < 2:
        return np.full(k, np.nan), np.full(k, np.nan)
    chosen = [lottery(own) for own in margins]
    values = []
    for half, own, p, other, q in zip(
        halves, margins, chosen, margins[::-1], chosen[::-1], strict=True
    ):
        moved = len(half.order) * half.moved
        values.append(own @ q + moved @ q + _lottery_moved(own, moved, p) @ other.T)
    deals = np.concatenate(values)
    ends = [limits(column, _span(column, -0.5), level) for column in deals.T]
    low, high = np.minimum(np.array(ends, float), 0.0).T
    return low, high


def _lottery_moved(margins: Floats, moved: Floats, p: Floats) -> Floats:
    """Return how a small move of the margins, (n, k, k), moves their maximal lottery p, (n, k): its
    members' margins against it stay 0, and its sum 1."""
    members = np.flatnonzero(p > MEMBER)
    square = np.ix_(members, members)
    fixed = np.vstack((margins[square], np.ones(len(members))))
    off = np.array([one[square] @ p[members] for one in moved])
    found = np.zeros((len(moved), len(p)))
    found[:, members] = np.hstack((-off, np.zeros((len(off), 1)))) @ np.linalg.pinv(fixed).T
    return found


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
