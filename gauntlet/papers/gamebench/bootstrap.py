"""The paper's ratings: the mean of Luce spectral ratings over bootstrap samples of the matches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from gauntlet.stats.bradley_terry import fitted
from gauntlet.stats.checks import Floats
from gauntlet.stats.matches import AT_ONCE, Matches, Ties, Units
from gauntlet.stats.ratings import LEVEL

ALPHA = 0.001
"""Added to every rate of the Markov chain by the published code."""
DRAWS = 10_000


def spectral(wins: ArrayLike, alpha: float = ALPHA) -> Floats:
    """Return the iterative Luce spectral ratings of (..., k, k) tables of wins, each table centred
    on 0: (..., k).

    L. Maystre and M. Grossglauser (2015), NIPS 28, 172-180, with `alpha` > 0 added to each rate of
    the Markov chain and its weights kept to a sum of k. The chain is stationary where, for every i,

        sum_j w_ij - n_ij P(i beats j) = alpha k (exp(b_i) - 1),    n_ij = w_ij + w_ji,

    which maximises the log-likelihood less alpha k sum_i (exp(b_i) - b_i): worths exp(b) with the
    prior Gamma(alpha k, alpha k), per log worth. Newton's method finds that point, so the number of
    iterations does not matter. Raises ValueError for invalid tables and alpha <= 0.
    """
    if not alpha > 0:
        raise ValueError(f"alpha must be above 0, got {alpha:g}")
    return fitted(wins, precision=0.0, worth=alpha * np.shape(wins)[-1])


def draw_by_match(
    matches: Matches, ties: Ties, draws: int, rng: np.random.Generator
) -> Iterator[Floats]:
    """Yield tables of wins of bootstrap samples of n matches, each match drawn with probability
    proportional to its weight: chunks of shape (some, players, players), `draws` in all.

    Matches with the same players and score are drawn together, whichever player is listed first,
    and so are all matches that do not count.
    """
    turned = matches.first > matches.second
    pair = np.sort(np.stack((matches.first, matches.second)), axis=0)
    kinds = np.stack((*pair, np.where(turned, 1.0 - matches.scores, matches.scores)))
    kinds[:, (matches.scores == 0.5) & (ties == "drop")] = 0
    _, first, kind = np.unique(kinds, axis=1, return_index=True, return_inverse=True)
    chances = np.bincount(kind.ravel(), matches.weights) / len(matches)
    rising = np.argsort(chances)  # sorted: the last kind gets the remainder for free
    first, chances = first[rising], chances[rising]
    units = Units.from_matches(
        matches.where(first), np.arange(len(first)), np.ones(len(first)), ties
    )

    step = max(1, AT_ONCE // max(len(units.won), matches.sides**2))
    for done in range(0, draws, step):
        count = min(step, draws - done)
        yield units.tables(rng.multinomial(len(matches), chances, count).astype(float))


@dataclass(frozen=True)
class Bootstrapped:
    """Ratings of bootstrap samples. draws: (draws, players)."""

    draws: Floats
    level: float

    @cached_property
    def mean(self) -> Floats:
        """Mean over the draws: what GameBench calls a rating."""
        found: Floats = self.draws.mean(0)
        return found

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """Low and high limit of each player: the middle `level` of the draws."""
        low, high = np.quantile(self.draws, ((1 - self.level) / 2, (1 + self.level) / 2), axis=0)
        return low, high


def as_gamebench(matches: Matches, draws: int = DRAWS, seed: int = 0) -> Bootstrapped:
    """Rate with the published code's settings; the ratings of the paper's tables are the `mean`.

    Players without matches are rated too, by the prior.
    """
    tables = draw_by_match(matches, "drop", draws, np.random.default_rng(seed))
    return Bootstrapped(np.concatenate([spectral(some) for some in tables]), LEVEL)
