"""Ratings of players from matches of two, in one game or many, with bootstrapped limits.

Every game weighs the same, however many matches it has: a match has the weight 1 / N of its game.
Matches are drawn anew in one of two ways:

    by match    as many as there are, each with a chance in proportion to its weight (GameBench,
                section 3.3): for matches that have nothing to do with each other
    by deal     every deal of a game gets an exponential weight, which all its matches share (D. B.
                Rubin (1981), Ann. Stat. 9, 130-134): matches of one deal, from either seat or of
                other players, met the same cards and share their luck

By deal no player is ever missing from a draw, and games weigh the same in each. Few deals spread
less than they should when they are drawn anew; the limits make up for it (`stats.matches.widened`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from scipy.special import expit

from stats import checks
from stats.bradley_terry import Ints, beats, parts, penalised, spectral
from stats.checks import Floats
from stats.intervals import Limits
from stats.matches import Matches, Ties, drawn_by_deal, drawn_by_match, widened

Fit = Literal["penalised", "spectral"]
By = Literal["deal", "match"]

FITS: dict[Fit, Callable[[Floats], Floats]] = {"penalised": penalised, "spectral": spectral}
DRAWS, LEVEL = 10_000, 0.9


@dataclass(frozen=True)
class Ratings:
    """Ratings in log odds, with what they hang on.

    fitted: of all matches. draws: (draws, players), those of each draw; none where the limits
    cannot be had. matches: how many each player has. parts: as `bradley_terry.parts` has them:
    ratings are comparable within one, and those of each lie around 0. Who has no match that counts
    has no rating: nan, in a draw too. wide: by how much the limits lie farther from `fitted` than
    the quantiles of the draws.
    """

    fitted: Floats
    draws: Floats
    matches: Ints
    parts: Ints
    level: float
    wide: float

    @cached_property
    def mean(self) -> Floats:
        """Over the draws that have the player: what GameBench calls its rating."""
        there = ~np.isnan(self.draws)
        total = np.where(there, self.draws, 0.0).sum(0)
        found: Floats = np.where(there.any(0), total / np.maximum(there.sum(0), 1), np.nan)
        return found

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """Low and high of each player, from the middle `level` of the draws that have it."""
        ends = np.array([self._ends(*each) for each in zip(self.fitted, self.draws.T, strict=True)])
        return ends[:, 0], ends[:, 1]

    @property
    def present(self) -> Floats:
        """The share of the draws that have a match of each player that counts; nan of none."""
        count = len(self.draws) or np.nan
        found: Floats = (~np.isnan(self.draws)).sum(0) / count
        return found

    @cached_property
    def chances(self) -> tuple[Floats, Floats, Floats]:
        """The chance that the player of each row beats that of each column, and its limits: three
        tables (players, players), nan where no chain of matches joins the two."""
        k = len(self.fitted)
        low, high = np.full((2, k, k), np.nan)
        for one, other in zip(*np.triu_indices(k, 1), strict=True):
            apart = self.draws[:, one] - self.draws[:, other]
            least, most = self._ends(self.fitted[one] - self.fitted[other], apart)
            low[one, other], high[one, other] = expit(least), expit(most)
            low[other, one], high[other, one] = expit(-most), expit(-least)
        none = (self.parts[:, None] != self.parts) | (self.parts < 0) | np.eye(k, dtype=bool)
        middle, low, high = (np.where(none, np.nan, x) for x in (beats(self.fitted), low, high))
        return middle, low, high

    def _ends(self, fitted: float, draws: Floats) -> Limits:
        known = draws[~np.isnan(draws)]
        if not known.size:
            return np.nan, np.nan
        low, high = np.quantile(known, ((1 - self.level) / 2, (1 + self.level) / 2))
        return fitted + self.wide * (low - fitted), fitted + self.wide * (high - fitted)


def rated(
    matches: Matches,
    fit: Fit = "penalised",
    ties: Ties = "half",
    by: By = "deal",
    draws: int = DRAWS,
    level: float = LEVEL,
    seed: int = 0,
    imputed: bool = False,
) -> Ratings:
    """Rates the players of some matches.

    ties: whether a match that ends 1/2 to 1/2 is half a win for each, or does not count. imputed:
    who has no match that counts is rated all the same, as the prior says, and all are one part.
    By deal there are no limits where a game has a single one. GameBench has `by_gamebench`.
    Raises ValueError for settings and levels that are none.
    """
    for given, kind in ((fit, Fit), (ties, Ties), (by, By)):
        if given not in get_args(kind):
            raise ValueError(f"{given!r} is none of {', '.join(get_args(kind))}")
    checks.inside(level, "level")
    wins = matches.wins(ties)
    belongs = np.zeros(matches.players, int) if imputed else parts(wins)
    fitted = _beside(FITS[fit](wins)[None], np.zeros(matches.players), belongs)[0]
    found = [np.empty((0, matches.players))]
    wide = 1.0 if by == "match" else widened(matches, level)
    if len(matches) > 1 and np.isfinite(wide):
        drawn = drawn_by_match if by == "match" else drawn_by_deal
        for tables in drawn(matches, ties, draws, np.random.default_rng(seed)):
            there = belongs if imputed else np.where(tables.any(-1) | tables.any(-2), belongs, -1)
            found.append(_beside(FITS[fit](tables), fitted, there))
    return Ratings(fitted, np.concatenate(found), matches.met.sum(1), belongs, level, wide)


def as_gamebench(matches: Matches, draws: int = DRAWS, seed: int = 0) -> Ratings:
    """The ratings of the paper's tables are the `mean` of these: the published code's settings."""
    return rated(matches, "spectral", "drop", "match", draws, LEVEL, seed, imputed=True)


def without_each(
    matches: Matches, rate: Callable[[Matches], Ratings]
) -> Iterator[tuple[int, Ratings]]:
    """The number of each game, with the ratings that all other games give."""
    for game in np.unique(matches.games):
        yield int(game), rate(matches.where(matches.games != game))


def _beside(found: Floats, known: Floats, belongs: Ints) -> Floats:
    """Ratings (draws, players), moved so that those of each part have in each draw the mean that
    the same players have in `known`; nan of part -1. belongs: one a player, or a draw and player.
    """
    belongs = np.broadcast_to(belongs, found.shape)
    moved = np.full(found.shape, np.nan)
    for part in range(belongs.max(initial=-1) + 1):
        inside = belongs == part
        count = np.maximum(inside.sum(1, keepdims=True), 1)
        shift = np.where(inside, known - found, 0.0).sum(1, keepdims=True) / count
        moved = np.where(inside, found + shift, moved)
    return moved
