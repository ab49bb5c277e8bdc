"""Limits of differences of ratings: profile likelihood, with what the deals say of its scale.

A difference d is a player's rating less a weighted mean of others'. With l(d) the log-likelihood of
Bradley and Terry's model, largest where d is held, D(d) = 2 (max l - l(d)) / phi is about the
square of a t-distributed number, and the limits are where it reaches the quantile's. phi is what
the weights and deals make of independent matches: the sandwich variance of d over the one that l
itself implies.

    phi = (variance with the matches' weights, were they independent) x (design effect)

The design effect is how much more, or less, sums over deals vary than matches would that have
nothing to do with each other. A player of few deals hardly shows its own, so each difference has a
mean of its own and that of all players (as of G. K. Smyth (2004), Stat. Appl. Genet. Mol. Biol. 3,
article 3): weights m - 1, of the m deals it effectively depends on, and SHARED, which together are
the degrees of freedom.

Where the data do not bound d on one side (`stats.bradley_terry.mixed`: somebody won or lost
everything), that limit is infinite. Then the chance of a record as clear is exp(-D / 2), as far as
phi is right, and the other limit is where half of it is the tail: the mid-p limit. Of 20 wins in 20
the 90% limit is .1^(1/20).
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
"""Deals as many as which the design effect of all players counts in that of a difference."""
UNSEEN = 0.25
"""The variance, that of one even match, with which the design effect of all players is taken for
the largest there can be: that of deals whose matches all end alike."""
AT_ONCE = 4_000_000
"""Matches times differences that are worked on together."""


class Counted(NamedTuple):
    """The matches that count, deal after deal. off, spread: the weighted score less its chance, and
    the variance of that. starts: where each deal begins."""

    first: Ints
    second: Ints
    weights: Floats
    off: Floats
    spread: Floats
    starts: Ints
    games: int

    @classmethod
    def from_matches(cls, matches: Matches, ties: Ties, units: Ints, best: Floats) -> Counted:
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
    """Low and high of the rating of each of `players` less the mean of those it is held `against`.

    units: the deal of each match, numbered over all games. against: weights (differences, players)
    of sum 1. What the matches do not bound is infinite.
    """
    if not len(players):
        return np.empty(0), np.empty(0)
    wins = matches.wins(ties)
    contrasts = -against
    contrasts[np.arange(len(players)), players] += 1.0
    chains, held = reached(wins), contrasts < 0
    bounded = np.array([(table[players] | ~held).all(1) for table in (chains, chains.T)])
    best = pulled(wins, np.zeros((1, len(wins))), penalised(wins))[0]
    counted = Counted.from_matches(matches, ties, units, best)
    phi, degrees = _scale(wins, counted, best, contrasts, bounded[0] & bounded[1])
    tail = (1.0 - level) / 2.0
    quantile = np.square(stdtrit(degrees, 1.0 - tail))
    aim = np.sqrt(phi * np.where(bounded[::-1], quantile, -2.0 * np.log(2.0 * tail)))
    ways = np.array([[-1.0], [1.0]])  # low, high: the contrast turned round, and the contrast
    ends = np.where(bounded, ways, ways * np.inf)
    towards = (ways[..., None] * contrasts)[bounded]
    ends[bounded] *= _end(wins, best, towards, aim[bounded])
    return ends[0], ends[1]


def _end(wins: Floats, best: Floats, contrasts: Floats, aim: Floats) -> Floats:
    """The largest difference at which the root of 2 (max l - l) is `aim`."""
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
    wins: Floats, counted: Counted, best: Floats, contrasts: Floats, bounded: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """phi of each difference, and its degrees of freedom. One that is not bounded shows no design
    effect: it has that of all players."""
    shared = _shared(counted, len(wins))
    moved = np.asarray(np.linalg.solve(information(wins, best), contrasts.T), float)
    step = max(1, AT_ONCE // len(counted.off))
    found = [_variances(counted, moved[:, at : at + step]) for at in range(0, len(contrasts), step)]
    weighted, effect, deals = np.concatenate(found, axis=1)
    own = np.where(bounded, deals - 1.0, 0.0)
    degrees = own + SHARED
    return weighted * (own * effect + SHARED * shared) / degrees, degrees


def _variances(counted: Counted, moved: Floats) -> Floats:
    """By difference, (3, differences): what the weights make of the variance, the design effect,
    and how many deals it depends on. moved: (players, differences), how ratings move it."""
    apart = (moved[counted.first] - moved[counted.second]).T
    varied = apart**2 * counted.spread
    total = varied.sum(1)
    by_deal = np.add.reduceat(varied, counted.starts, axis=1)
    deals, matches = (total**2 / (each**2).sum(1) for each in (by_deal, varied))
    seen = np.add.reduceat(apart * counted.off, counted.starts, axis=1)
    alone = np.maximum(deals - 1.0, 1e-9)
    effect = (seen**2).sum(1) / total * (deals / alone) * (matches - 1.0) / matches
    weighted = total / (apart**2 * (counted.spread / counted.weights)).sum(1)
    return np.stack((weighted, effect, deals))


def _shared(counted: Counted, players: int) -> float:
    """The design effect of all players together."""
    deals, matches = len(counted.starts), len(counted.off)
    off, most = np.zeros((2, matches, players))
    for who, sign in ((counted.first, 1.0), (counted.second, -1.0)):
        off[np.arange(matches), who] = sign * counted.off
        most[np.arange(matches), who] = counted.weights
    seen, largest = (np.square(np.add.reduceat(x, counted.starts)).sum() for x in (off, most))
    few = 1.0
    if deals < matches:
        few = (1.0 - counted.games / matches) / (1.0 - counted.games / deals)
    squared = float((counted.weights**2).sum())
    unseen = UNSEEN * squared / matches
    added = unseen * largest / (2.0 * squared)
    return float((few * seen + added) / (2.0 * counted.spread.sum() + unseen))
