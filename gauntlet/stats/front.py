"""Strength against cost: whose cost is lower and whose rating higher, and who is on the front.

Player i dominates j if it is better and cheaper. The p-value of that is the larger of the two
one-sided ones: both hypotheses must be rejected (intersection-union; R. L. Berger (1982),
Technometrics 24, 295-300). Holm's correction is over all ordered pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit

from gauntlet.stats.bradley_terry import Ints, penalised
from gauntlet.stats.checks import Floats
from gauntlet.stats.intervals import NOTHING
from gauntlet.stats.matches import Matches, Ties, draw_by_deal
from gauntlet.stats.multiple import holm
from gauntlet.stats.profile import tails

DRAWS = 10_000


@dataclass(frozen=True)
class Spent:
    """What players spent in their matches; each array has one entry per player and match.

    games, deals: numbers as in `Matches`. amounts: 0 or more, in any unit.
    """

    players: Ints
    games: Ints
    deals: Ints
    amounts: Floats


@dataclass(frozen=True)
class Costs:
    """Amounts and matches of each player by deal: (deals, players), deals as `Matches.units`.

    games: of each deal.
    """

    amounts: Floats
    counts: Floats
    games: Ints

    @classmethod
    def from_matches(cls, spent: Spent, matches: Matches) -> Costs:
        """Raises ValueError for spending on a deal that has no match."""
        places, unit = np.unique(np.stack((matches.games, matches.deals)), axis=1), dict[Any, int]()
        for at, place in enumerate(places.T.tolist()):
            unit[tuple(place)] = at
        try:
            where = zip(spent.games.tolist(), spent.deals.tolist(), strict=True)
            rows = np.array([unit[place] for place in where], int)
        except KeyError as error:
            raise ValueError(f"no match has game and deal {error}") from error
        amounts, counts = np.zeros((2, len(unit), matches.players))
        np.add.at(amounts, (rows, spent.players), spent.amounts)
        np.add.at(counts, (rows, spent.players), 1.0)
        return cls(amounts, counts, places[0])

    def means(self, weights: Floats) -> Floats:
        """Return the mean cost of a match, every game that a player played weighing the same, for
        each row of weights of deals: (rows, players)."""
        total, played = np.zeros((2, len(weights), self.amounts.shape[1]))
        for game in np.unique(self.games):
            own = self.games == game
            counts = weights[:, own] @ self.counts[own]
            some = counts > 0
            total += np.where(some, weights[:, own] @ self.amounts[own] / (counts + ~some), 0.0)
            played += some
        found: Floats = np.where(played > 0, total / np.maximum(played, 1), np.nan)
        return found

    @cached_property
    def mean(self) -> Floats:
        """The mean cost of a match of each player."""
        found: Floats = self.means(np.ones((1, len(self.games))))[0]
        return found

    @cached_property
    def moved(self) -> tuple[Floats, Floats]:
        """How far each deal moves these means, (deals, players), by linearisation: the sum of
        squares estimates the variance. With it the degrees of freedom of each player's deals: by
        F. E. Satterthwaite (1946), Biometrics Bulletin 2, 110-114, of the variances by game. nan
        for a player with a single deal of a game, which shows no variance."""
        moved, played = np.zeros(self.amounts.shape), np.zeros(self.amounts.shape[1])
        variances, degrees = list[Floats](), list[Floats]()
        for game in np.unique(self.games):
            own = self.games == game
            counts, deals = self.counts[own].sum(0), (self.counts[own] > 0).sum(0)
            mean = self.amounts[own].sum(0) / np.maximum(counts, 1.0)
            off = (self.amounts[own] - self.counts[own] * mean) / np.maximum(counts, 1.0)
            alone = np.where(deals == 1, np.nan, np.maximum(deals - 1.0, 1.0))
            moved[own] = off * np.sqrt(deals / alone)
            variances.append(np.square(moved[own]).sum(0))
            degrees.append(np.maximum(deals - 1.0, 0.0))
            played += counts > 0
        total, by_game = np.sum(variances, axis=0), np.square(variances) / np.maximum(degrees, 1)
        some = total > 0
        freedom = np.square(total) / np.where(some, by_game.sum(0), 1.0)
        return moved / np.maximum(played, 1.0), np.where(some, freedom, np.sum(degrees, axis=0))

    def limits(self, level: float) -> tuple[Floats, Floats]:
        """Limits of the means, by Student's t over each player's deals; nan for a single deal of a
        game, and for costs that never vary, unless they are 0."""
        moved, degrees = self.moved
        error = np.sqrt(np.square(moved).sum(0))
        width = stdtrit(degrees, (1.0 + level) / 2.0) * error
        width[(error <= NOTHING * self.mean) & (self.mean > 0)] = np.nan
        return self.mean - width, self.mean + width

    def cheaper(self) -> Floats:
        """Return the p-value that each row's player costs less than each column's, (k, k), by
        Student's t with the fewer degrees of freedom of the two, which is never too small (M. R.
        Mickey and M. B. Brown (1966), Ann. Math. Statist. 37, 639-643). Where the difference never
        varies it is the sign test's of as many deals."""
        k, (moved, degrees) = len(self.mean), self.moved
        apart = self.mean[:, None] - self.mean
        error = np.sqrt(np.square(moved[:, :, None] - moved[:, None, :]).sum(0))
        fewer = np.minimum(degrees[:, None], degrees)
        same = error <= NOTHING * np.maximum(self.mean[:, None], self.mean)
        constant = np.where(apart < 0, 0.5 ** (fewer + 1.0), 1.0)
        found: Floats = np.where(same, constant, stdtr(fewer, apart / np.where(same, 1.0, error)))
        return np.where(np.eye(k, dtype=bool), np.nan, found)


@dataclass(frozen=True)
class Front:
    """Players by strength and cost.

    dominates: p-values that each row's player is better and cheaper than each column's, after Holm;
    nan where one has no match. share: of the draws in which nobody is both at least as good and at
    most as dear, and one of these strictly.
    """

    costs: Costs
    dominates: Floats
    share: Floats


def front(matches: Matches, spent: Spent, ties: Ties, draws: int = DRAWS, seed: int = 0) -> Front:
    """Compare players by their ratings, `penalised`, and costs. Draws weigh every deal at random,
    its results and its costs alike."""
    costs, k = Costs.from_matches(spent, matches), matches.players
    better = np.full((k, k), np.nan)
    one, other = np.triu_indices(k, 1)
    below, above = tails(matches, ties, matches.units, one, np.eye(k)[other])
    better[one, other], better[other, one] = below, above
    better[matches.played == 0] = better[:, matches.played == 0] = np.nan
    p = np.maximum(better, costs.cheaper())
    dominates, on = holm(p.ravel()).reshape(k, k), np.zeros(k)
    for tables, weights in draw_by_deal(matches, ties, draws, np.random.default_rng(seed)):
        ratings, prices = penalised(tables, teams=matches.teams), costs.means(weights)
        for at in range(k):
            strength, price = ratings[:, at, None], prices[:, at, None]
            strictly = (ratings > strength) | (prices < price)
            on[at] += (~((ratings >= strength) & (prices <= price) & strictly).any(1)).sum()
    return Front(costs, dominates, np.where(matches.played > 0, on / draws, np.nan))
