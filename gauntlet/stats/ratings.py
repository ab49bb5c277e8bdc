"""Ratings of players from matches of two or more sides, in one or more games, with limits.

Every game has the same total weight: a match of a game with N matches weighs 1 / N, and each pair
of its n sides 1 / (n - 1) of that. For the limits (`stats.profile`) matches are clustered in one of
two ways:

    by deal     matches of one deal, with any seats or players, met the same cards and share luck
    by match    all matches are independent

Ratings are relative to the mean of the players with mixed records: the largest group in which a
chain of wins leads from each player to every other (`stats.chains.mixed`), weighted by
number of matches. It excludes players who won or lost everything, and those who hardly played
hardly count, so that their uncertainty does not widen the others' limits. Without such a group it
is the mean of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from scipy.special import expit

from gauntlet.stats import checks, profile
from gauntlet.stats.bradley_terry import Ints, beats, penalised
from gauntlet.stats.chains import mixed, parts
from gauntlet.stats.checks import Floats
from gauntlet.stats.matches import Matches, Ties

By = Literal["deal", "match"]
Bounds = Callable[[Ints, Floats], tuple[Floats, Floats]]


LEVEL = 0.9


@dataclass(frozen=True)
class Ratings:
    """Ratings in log odds, with what is needed to compute their limits.

    fitted: from all matches; nan for players without a match that counts. matches: number per
    player. parts: as in `chains.parts`: ratings are comparable within one. zero: (players,
    players), weights of the mean to which each player's rating is relative. bounds: returns the
    limits of the ratings of some players less such weighted means.
    """

    fitted: Floats
    matches: Ints
    parts: Ints
    level: float
    zero: Floats
    bounds: Bounds

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """Low and high limit of each player: infinite where the matches do not bound it, nan where
        not available."""
        rated = np.flatnonzero(self.parts >= 0)
        ends = np.full((2, len(self.fitted)), np.nan)
        ends[:, rated] = self.bounds(rated, self.zero[rated])
        return ends[0], ends[1]

    @cached_property
    def chances(self) -> tuple[Floats, Floats, Floats]:
        """The probability that each row's player beats each column's, with limits: three tables
        (players, players), nan where no chain of matches joins the two."""
        k = len(self.fitted)
        joined = (self.parts[:, None] == self.parts) & (self.parts >= 0) & ~np.eye(k, dtype=bool)
        one, other = np.nonzero(np.triu(joined))
        low, high = np.full((2, k, k), np.nan)
        least, most = self.bounds(one, np.eye(k)[other])
        low[one, other], high[one, other] = expit(least), expit(most)
        low[other, one], high[other, one] = expit(-most), expit(-least)
        return np.where(joined, beats(self.fitted), np.nan), low, high


def rated(matches: Matches, ties: Ties = "half", by: By = "deal", level: float = LEVEL) -> Ratings:
    """Rate the players of some matches by `bradley_terry.penalised`, with `profile.limits`.

    ties: whether a match that ends 1/2 to 1/2 is half a win for each, or does not count. With `by`
    deal, there are no limits where a game has a single deal. Limits are widened to the rating
    where its prior has moved it beyond them. Raises ValueError for unknown settings and levels
    outside (0, 1).
    """
    for setting, kind in ((ties, Ties), (by, By)):
        if setting not in get_args(kind):
            raise ValueError(f"{setting!r} is none of {', '.join(get_args(kind))}")
    checks.inside(level, "level")
    wins, units = matches.wins(ties), clusters(matches, by)
    belongs, fitted = parts(wins, matches.teams), penalised(wins, teams=matches.teams)
    zero = _zero(matches, ties, belongs)

    def bounds(players: Ints, against: Floats) -> tuple[Floats, Floats]:
        if by == "deal" and single_deal(matches):
            return (np.full(len(players), np.nan),) * 2
        low, high = profile.limits(matches, ties, units, level, players, against)
        rating = fitted[players] - against @ fitted
        return np.minimum(low, rating), np.maximum(high, rating)

    ratings = np.where(belongs < 0, np.nan, fitted - zero @ fitted)
    return Ratings(ratings, matches.played, belongs, level, zero, bounds)


def clusters(matches: Matches, by: By) -> Ints:
    """Return which pairs hang together: those of a deal, or of a match."""
    if by == "deal":
        return matches.units
    return np.unique(matches.numbers, return_inverse=True)[1].astype(np.int64)


def without_each(
    matches: Matches, rate: Callable[[Matches], Ratings]
) -> Iterator[tuple[int, Ratings]]:
    """Yield the number of each game, with the ratings from all other games."""
    for game in np.unique(matches.games):
        yield int(game), rate(matches.where(matches.games != game))


def _zero(matches: Matches, ties: Ties, belongs: Ints) -> Floats:
    """Return the weights of the mean to which each player's rating is relative, row by row."""
    wins, teams = matches.wins(ties), matches.teams
    groups, weight = mixed(wins, teams), (wins + wins.T).sum(1)
    weight = weight if teams is None else teams.T @ weight
    zeros = np.zeros((matches.players, matches.players))
    for part in range(belongs.max(initial=-1) + 1):
        inside = belongs == part
        members = [inside & (groups == group) for group in np.unique(groups[inside])]
        core = max(members, key=lambda group: (group.sum(), weight[group].sum()))
        held = np.where(core if core.sum() > 1 else inside, weight, 0.0)
        zeros[inside] = held / held.sum()
    return zeros


def single_deal(matches: Matches) -> bool:
    """Return whether a game has a single deal, which tells nothing of others."""
    games, units = np.unique(np.stack((matches.games, matches.units)), axis=1)
    return bool(np.unique(games, return_counts=True)[1].min(initial=2) < 2) and units.size > 0
