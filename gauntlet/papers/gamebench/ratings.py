"""Ratings by the settings of GameBench's published code, which are the ones of its tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gauntlet.stats.bradley_terry import spectral
from gauntlet.stats.checks import Floats
from gauntlet.stats.matches import Matches, draw_by_match
from gauntlet.stats.ratings import LEVEL

DRAWS = 10_000


@dataclass(frozen=True)
class Bootstrapped:
    """Ratings of bootstrap samples. draws: (draws, players)."""

    draws: Floats

    @cached_property
    def mean(self) -> Floats:
        """Mean over the draws: what the paper calls a rating."""
        mean: Floats = self.draws.mean(0)
        return mean

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """Low and high limit of each player: the middle LEVEL of the draws."""
        low, high = np.quantile(self.draws, ((1 - LEVEL) / 2, (1 + LEVEL) / 2), axis=0)
        return low, high


def bootstrapped(matches: Matches, draws: int = DRAWS, seed: int = 0) -> Bootstrapped:
    """Players without matches are rated too, by the prior."""
    tables = draw_by_match(matches, "drop", draws, np.random.default_rng(seed))
    return Bootstrapped(np.concatenate([spectral(table) for table in tables]))
