"""Profile-likelihood limits of rating differences, with overdispersion estimated from deals.

A difference d is a player's rating less a weighted mean of others'. With l(d) the Bradley-Terry
log-likelihood maximised at fixed d, D(d) = 2 (max l - l(d)) / phi is approximately the square of a
t-distributed number, and the limits are where it reaches the squared quantile. phi corrects for the
weights and for matches that share a deal: the sandwich variance of d over the one that l implies.

    phi = (variance with the matches' weights, were they independent) x (design effect)

The design effect is the variance of sums over deals relative to that of independent matches. A
player's few deals hardly determine it, so each difference uses a weighted mean of its own design
effect and that of all players (as in G. K. Smyth (2004), Stat. Appl. Genet. Mol. Biol. 3, article
3): weights m - 1, for the m deals it effectively depends on, and SHARED. The sum of the weights is
the degrees of freedom.

Deals that all end alike (ties, or a win and a loss in exchanged seats) show next to no spread. As
in `stats.means`, one more deal is taken into account that none has shown: as heavy as the heaviest,
a standard deviation off, and the same for all matches of one pair. By the Bayesian bootstrap it has
the weight of more than x deals with a probability of at most exp(-x), so D reaches at least the
squared logarithm of the tail times the `extreme` variance of d by that deal alone. With ten and
more deals that do spread D reaches further anyway.

Where the data do not bound d on one side (`stats.chains`: somebody won or lost
everything), that limit is infinite. Then the probability of a record at least this extreme is
exp(-D / 2), if phi is right, and the other limit is where half of it is the tail: the mid-p limit.
For 20 wins in 20 the 90% limit is .1^(1/20).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from gauntlet.stats.bradley_terry import (
    Ints,
    beats,
    information,
    log_likelihood,
    penalised,
    pulled,
    strengths,
)
from gauntlet.stats.chains import bounded
from gauntlet.stats.checks import Floats
from gauntlet.stats.matches import Matches, Ties
from gauntlet.stats.means import solved

SHARED = 4.0
"""Weight, in deals, of the design effect of all players in that of a difference."""
UNSEEN = 0.25
"""Prior weight, as the variance of one even match, of the largest possible design effect in that of
all players: deals whose matches all end alike."""
AT_ONCE = 4_000_000
"""Matches times differences per batch."""


class DealCounts(NamedTuple):
    """The matches that count, sorted by deal and pair. off, spread: weighted score less its
    expectation, and the variance of that. starts, meetings: where each deal begins, and each deal's
    matches of one pair."""

    first: Ints
    second: Ints
    weights: Floats
    off: Floats
    spread: Floats
    starts: Ints
    meetings: Ints
    games: int

    @classmethod
    def from_matches(cls, matches: Matches, ties: Ties, units: Ints, best: Floats) -> DealCounts:
        pairs = matches.sides * np.minimum(matches.first, matches.second)
        pairs += np.maximum(matches.first, matches.second)
        order = np.lexsort((pairs, units))
        if ties == "drop":
            order = order[matches.scores[order] != 0.5]
        first, second, weights = matches.first[order], matches.second[order], matches.weights[order]
        chance = beats(strengths(best, matches.teams))[first, second]
        starts = np.unique(units[order], return_index=True)[1]
        met = np.stack((units[order], pairs[order]))
        meetings = np.unique(met, axis=1, return_index=True)[1]
        games = len(np.unique(matches.games[order]))
        off, spread = weights * (matches.scores[order] - chance), weights**2 * chance * (1 - chance)
        return cls(first, second, weights, off, spread, starts, meetings, games)


def limits(
    matches: Matches, ties: Ties, units: Ints, level: float, players: Ints, against: Floats
) -> tuple[Floats, Floats]:
    """Return low and high limits of the rating of each of `players` less a weighted mean of
    others'.

    units: the deal of each pair, numbered over all games. against: weights (differences, players)
    that sum to 1. Limits that the matches do not bound are infinite.
    """
    if not len(players):
        return np.empty(0), np.empty(0)
    asked = _Question.from_matches(matches, ties, units, _contrasts(players, against))
    tail = (1.0 - level) / 2.0
    quantile = asked.phi * np.square(stdtrit(asked.degrees, 1.0 - tail))
    quantile = np.maximum(quantile, asked.extreme * np.square(np.log(tail)))
    kept = asked.bounded
    aim = np.sqrt(np.where(kept[::-1], quantile, asked.phi * -2.0 * np.log(2.0 * tail)))
    ways = np.array([[-1.0], [1.0]])  # low, high: negated contrast, contrast
    ends = np.where(kept, ways, ways * np.inf)
    towards = (ways[..., None] * asked.contrasts)[kept]
    ends[kept] *= _end(asked, towards, aim[kept])
    return ends[0], ends[1]


def tails(
    matches: Matches, ties: Ties, units: Ints, players: Ints, against: Floats
) -> tuple[Floats, Floats]:
    """Return the one-sided p-values of two hypotheses for each difference of `limits`: that it is
    at most 0, and that it is at least 0. A p-value is below (1 - level) / 2 where the limits of
    that level lie beyond 0. It is 1 if the estimate agrees with the hypothesis, or if the matches
    do not bound the difference on the side of 0."""
    asked = _Question.from_matches(matches, ties, units, _contrasts(players, against))
    found, estimate = np.ones((2, len(players))), asked.contrasts @ asked.best
    for at, beyond in enumerate((estimate > 0, estimate < 0)):
        tested = asked.bounded[at] & beyond
        root = _root_at_zero(asked, asked.contrasts[tested])
        alike = np.exp(-root / np.sqrt(asked.extreme[tested]))
        root /= np.sqrt(asked.phi[tested])
        two_sided = np.maximum(stdtr(asked.degrees[tested], -root), alike)
        one_sided = np.exp(-np.square(root) / 2.0) / 2.0
        found[at, tested] = np.where(asked.bounded[1 - at, tested], two_sided, one_sided)
    return found[0], found[1]


def _contrasts(players: Ints, against: Floats) -> Floats:
    contrasts = -against
    contrasts[np.arange(len(players)), players] += 1.0
    return contrasts


@dataclass(frozen=True)
class _Question:
    """Differences of the players of one table of wins, and how far their estimates spread.

    best: the ratings. bounded: as in `stats.chains`. phi, degrees, extreme: one per difference.
    """

    wins: Floats
    teams: Floats | None
    contrasts: Floats
    best: Floats
    bounded: NDArray[np.bool_]
    phi: Floats
    degrees: Floats
    extreme: Floats

    @classmethod
    def from_matches(
        cls, matches: Matches, ties: Ties, units: Ints, contrasts: Floats
    ) -> _Question:
        wins, teams = matches.wins(ties), matches.teams
        kept, zero = bounded(wins, contrasts, teams), np.zeros((1, matches.players))
        best = pulled(wins, zero, penalised(wins, teams=teams), teams)[0]
        counted = DealCounts.from_matches(matches, ties, units, best)
        moved = np.asarray(np.linalg.solve(information(wins, best, teams), contrasts.T), float)
        sides = moved if teams is None else teams @ moved
        scale = _scale(counted, sides, kept[0] & kept[1])
        return cls(wins, teams, contrasts, best, kept, *scale)

    def fitted(self, pull: Floats, contrasts: Floats) -> Floats:
        """The ratings at these slopes of each contrast's profile likelihood."""
        return pulled(self.wins, pull[:, None] * contrasts, self.best, self.teams)

    def spread(self, at: Floats, contrasts: Floats) -> Floats:
        """The variance of each contrast at its ratings, by the likelihood alone."""
        bend = information(self.wins, at, self.teams)
        grown = np.linalg.solve(bend, contrasts[..., None])[..., 0]
        found: Floats = (contrasts * grown).sum(-1)
        return found

    def room(self, contrasts: Floats) -> Floats:
        """The largest slope that a profile likelihood can have."""
        lost, won = self.wins.sum(0), self.wins.sum(1)
        if self.teams is not None:
            lost, won = self.teams.T @ lost, self.teams.T @ won
        ahead, size = contrasts > 0, np.where(contrasts == 0, 1.0, np.abs(contrasts))
        found: Floats = np.where(contrasts == 0, np.inf, np.where(ahead, lost, won) / size).min(-1)
        return found

    def root(self, at: Floats) -> Floats:
        """The root of 2 (max l - l) at ratings."""
        top = log_likelihood(self.wins, self.best, self.teams)
        own = log_likelihood(self.wins, at, self.teams)
        found: Floats = np.sqrt(np.maximum(2.0 * (top - own), 0.0))
        return found


def _end(question: _Question, contrasts: Floats, aim: Floats) -> Floats:
    """Return the largest difference at which the root of 2 (max l - l) is `aim`."""

    def curve(pull: Floats) -> tuple[Floats, Floats]:
        at = question.fitted(pull, contrasts)
        root, spread = question.root(at), question.spread(at, contrasts)
        near = root < 1e-6
        slope = np.where(near, np.sqrt(spread), np.abs(pull) * spread / np.where(near, 1.0, root))
        return np.sign(pull) * root, slope

    room = question.room(contrasts)
    pull = solved(curve, aim, -room, room)
    found: Floats = (contrasts * question.fitted(pull, contrasts)).sum(-1)
    return found


def _root_at_zero(question: _Question, contrasts: Floats) -> Floats:
    """Return the root of 2 (max l - l) where each difference is 0."""

    def curve(pull: Floats) -> tuple[Floats, Floats]:
        at = question.fitted(pull, contrasts)
        return (contrasts * at).sum(-1), question.spread(at, contrasts)

    pull = solved(
        curve, np.zeros(len(contrasts)), -question.room(-contrasts), question.room(contrasts)
    )
    return question.root(question.fitted(pull, contrasts))


def _scale(
    counts: DealCounts, moved: Floats, bounded: NDArray[np.bool_]
) -> tuple[Floats, Floats, Floats]:
    """Return phi of each difference, its degrees of freedom, and its extreme variance. moved:
    (sides, differences), the sensitivity to each strength. An unbounded difference shows no design
    effect of its own, so it uses that of all players."""
    shared = _shared(counts, len(moved))
    step = max(1, AT_ONCE // len(counts.off))
    found = [_variances(counts, moved[:, at : at + step]) for at in range(0, moved.shape[1], step)]
    weighted, effect, deals, extreme = np.concatenate(found, axis=1)
    own = np.where(bounded, deals - 1.0, 0.0)
    degrees = own + SHARED
    return weighted * (own * effect + SHARED * shared) / degrees, degrees, extreme


def _variances(counts: DealCounts, moved: Floats) -> Floats:
    """Return for each difference, (4, differences): the variance inflation from the weights, the
    design effect, the effective number of deals, and the variance by the heaviest deal if the
    matches of every pair end alike. moved: as in `_scale`."""
    differences = (moved[counts.first] - moved[counts.second]).T
    varied = differences**2 * counts.spread
    total = varied.sum(1)
    by_deal = np.add.reduceat(varied, counts.starts, axis=1)
    deals, matches = (total**2 / (each**2).sum(1) for each in (by_deal, varied))
    seen = np.add.reduceat(differences * counts.off, counts.starts, axis=1)
    alone = np.maximum(deals - 1.0, 1e-9)
    effect = (seen**2).sum(1) / total * (deals / alone) * (matches - 1.0) / matches
    implied = (differences**2 * (counts.spread / counts.weights)).sum(1)
    alike = np.add.reduceat(np.sqrt(varied), counts.meetings, axis=1) ** 2
    begun = np.searchsorted(counts.meetings, counts.starts)
    heaviest = np.add.reduceat(alike, begun, axis=1).max(1)
    return np.stack((total / implied, effect, deals, heaviest / implied))


def _shared(counts: DealCounts, sides: int) -> float:
    """Return the design effect of all players together."""
    deals, matches = len(counts.starts), len(counts.off)
    off, most = np.zeros((2, matches, sides))
    for who, sign in ((counts.first, 1.0), (counts.second, -1.0)):
        off[np.arange(matches), who] = sign * counts.off
        most[np.arange(matches), who] = counts.weights
    seen, largest = (np.square(np.add.reduceat(x, counts.starts)).sum() for x in (off, most))
    few = 1.0
    if deals < matches:
        few = (1.0 - counts.games / matches) / (1.0 - counts.games / deals)
    squared = float((counts.weights**2).sum())
    unseen = UNSEEN * squared / matches
    added = unseen * largest / (2.0 * squared)
    return float((few * seen + added) / (2.0 * counts.spread.sum() + unseen))
