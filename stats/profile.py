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

Where the data do not bound d on one side (`stats.bradley_terry.mixed`: somebody won or lost
everything), that limit is infinite. Then the probability of a record at least this extreme is
exp(-D / 2), if phi is right, and the other limit is where half of it is the tail: the mid-p limit.
For 20 wins in 20 the 90% limit is .1^(1/20).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from gauntlet.stats.bradley_terry import (
    Ints,
    beats,
    information,
    log_likelihood,
    penalised,
    pulled,
    reached,
)
from gauntlet.stats.checks import Floats
from gauntlet.stats.matches import Matches, Ties
from gauntlet.stats.weighted import solved

SHARED = 4.0
"""Weight, in deals, of the design effect of all players in that of a difference."""
UNSEEN = 0.25
"""Prior weight, as the variance of one even match, of the largest possible design effect in that of
all players: deals whose matches all end alike."""
AT_ONCE = 4_000_000
"""Matches times differences per batch."""


class DealCounts(NamedTuple):
    """The matches that count, sorted by deal. off, spread: weighted score less its expectation, and
    the variance of that. starts: where each deal begins."""

    first: Ints
    second: Ints
    weights: Floats
    off: Floats
    spread: Floats
    starts: Ints
    games: int

    @classmethod
    def from_matches(cls, matches: Matches, ties: Ties, units: Ints, best: Floats) -> DealCounts:
        order = np.argsort(units, kind="stable")
        if ties == "drop":
            order = order[matches.scores[order] != 0.5]
        first, second, weights = matches.first[order], matches.second[order], matches.weights[order]
        chance = beats(best)[first, second]
        starts = np.unique(units[order], return_index=True)[1]
        games = len(np.unique(matches.games[order]))
        off, spread = weights * (matches.scores[order] - chance), weights**2 * chance * (1 - chance)
        return cls(first, second, weights, off, spread, starts, games)


def limits(
    matches: Matches, ties: Ties, units: Ints, level: float, players: Ints, against: Floats
) -> tuple[Floats, Floats]:
    """Return low and high limits of the rating of each of `players` less a weighted mean of
    others'.

    units: the deal of each match, numbered over all games. against: weights (differences, players)
    that sum to 1. Limits that the matches do not bound are infinite.
    """
    if not len(players):
        return np.empty(0), np.empty(0)
    wins = matches.wins(ties)
    contrasts = -against
    contrasts[np.arange(len(players)), players] += 1.0
    chains, held = reached(wins), contrasts < 0
    bounded = np.array([(table[players] | ~held).all(1) for table in (chains, chains.T)])
    best = pulled(wins, np.zeros((1, len(wins))), penalised(wins))[0]
    counted = DealCounts.from_matches(matches, ties, units, best)
    phi, degrees = _scale(wins, counted, best, contrasts, bounded[0] & bounded[1])
    tail = (1.0 - level) / 2.0
    quantile = np.square(stdtrit(degrees, 1.0 - tail))
    aim = np.sqrt(phi * np.where(bounded[::-1], quantile, -2.0 * np.log(2.0 * tail)))
    ways = np.array([[-1.0], [1.0]])  # low, high: negated contrast, contrast
    ends = np.where(bounded, ways, ways * np.inf)
    towards = (ways[..., None] * contrasts)[bounded]
    ends[bounded] *= _end(wins, best, towards, aim[bounded])
    return ends[0], ends[1]


def _end(wins: Floats, best: Floats, contrasts: Floats, aim: Floats) -> Floats:
    """Return the largest difference at which the root of 2 (max l - l) is `aim`."""
    top = log_likelihood(wins, best)

    def curve(pull: Floats) -> tuple[Floats, Floats]:
        at = pulled(wins, pull[:, None] * contrasts, best)
        root = np.sqrt(np.maximum(2.0 * (top - log_likelihood(wins, at)), 0.0))
        grown = np.linalg.solve(information(wins, at), contrasts[..., None])[..., 0]
        spread = (contrasts * grown).sum(-1)
        near = root < 1e-6
        slope = np.where(near, np.sqrt(spread), np.abs(pull) * spread / np.where(near, 1.0, root))
        return np.sign(pull) * root, slope

    lost, won = wins.sum(0), wins.sum(1)
    ahead, size = contrasts > 0, np.where(contrasts == 0, 1.0, np.abs(contrasts))
    room = np.where(contrasts == 0, np.inf, np.where(ahead, lost, won) / size).min(-1)
    pull = solved(curve, aim, -room, room)
    found: Floats = (contrasts * pulled(wins, pull[:, None] * contrasts, best)).sum(-1)
    return found


def _scale(
    wins: Floats, counts: DealCounts, best: Floats, contrasts: Floats, bounded: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Return phi of each difference, and its degrees of freedom. An unbounded difference shows no
    design effect of its own, so it uses that of all players."""
    shared = _shared(counts, len(wins))
    moved = np.asarray(np.linalg.solve(information(wins, best), contrasts.T), float)
    step = max(1, AT_ONCE // len(counts.off))
    found = [_variances(counts, moved[:, at : at + step]) for at in range(0, len(contrasts), step)]
    weighted, effect, deals = np.concatenate(found, axis=1)
    own = np.where(bounded, deals - 1.0, 0.0)
    degrees = own + SHARED
    return weighted * (own * effect + SHARED * shared) / degrees, degrees


def _variances(counts: DealCounts, moved: Floats) -> Floats:
    """Return for each difference, (3, differences): the variance inflation from the weights, the
    design effect, and the effective number of deals. moved: (players, differences), the sensitivity
    to each rating."""
    differences = (moved[counts.first] - moved[counts.second]).T
    varied = differences**2 * counts.spread
    total = varied.sum(1)
    by_deal = np.add.reduceat(varied, counts.starts, axis=1)
    deals, matches = (total**2 / (each**2).sum(1) for each in (by_deal, varied))
    seen = np.add.reduceat(differences * counts.off, counts.starts, axis=1)
    alone = np.maximum(deals - 1.0, 1e-9)
    effect = (seen**2).sum(1) / total * (deals / alone) * (matches - 1.0) / matches
    weighted = total / (differences**2 * (counts.spread / counts.weights)).sum(1)
    return np.stack((weighted, effect, deals))


def _shared(counts: DealCounts, players: int) -> float:
    """Return the design effect of all players together."""
    deals, matches = len(counts.starts), len(counts.off)
    off, most = np.zeros((2, matches, players))
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
