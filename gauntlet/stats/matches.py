"""Matches for rating fits, as pairs of sides: arrays, weighted by game, with bootstrap resampling.

A side is one player, or a team whose strength is the mean of its members' (T.-K. Huang, R. C. Weng
and C.-J. Lin (2006), J. Mach. Learn. Res. 7, 85-115). A match of n sides is all pairs of its sides,
each with the share 1 / (n - 1): pairs of a Plackett-Luce ranking without ties follow the
Bradley-Terry model, so ratings from them are consistent (H. Azari Soufiani et al. (2013), NIPS 26,
2706-2714). With ties, a rating is of the expected score, a tie being half a win.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gauntlet.stats import checks
from gauntlet.stats.bradley_terry import Ints
from gauntlet.stats.checks import Floats

Ties = Literal["half", "drop"]

AT_ONCE = 4_000_000
"""Weights of draws held in memory at once."""


@dataclass(frozen=True)
class Matches:
    """n pairs of sides among `players` players, numbered from 0; each array has n entries.

    first, second: the sides. scores: the first side's, 0 to 1; the second gets the rest. games,
    deals: numbers of each pair's game, and of its deal within the game. match: the number of its
    match; None: each pair is a match of its own. teams: the part of each player in each side,
    (sides, players), rows that sum to 1; None: side i is player i. Raises ValueError for
    inconsistent arrays.
    """

    players: int
    first: Ints
    second: Ints
    scores: Floats
    games: Ints
    deals: Ints
    match: Ints | None = None
    teams: Floats | None = None

    def __post_init__(self) -> None:
        shapes = {one.shape for one in (self.first, self.second, self.games, self.deals)}
        shapes |= {self.numbers.shape}
        if shapes != {(len(self.scores),)}:
            raise ValueError(f"matches are lists of one length, got shapes {sorted(shapes)}")
        checks.probabilities(checks.finite(self.scores, "scores"), "scores")
        seats = np.concatenate((self.first, self.second))
        if seats.size and not 0 <= seats.min() <= seats.max() < self.sides:
            what = "players" if self.teams is None else "sides"
            raise ValueError(f"{what} are numbered from 0 to {self.sides - 1}")
        if (self.first == self.second).any():
            raise ValueError("nobody plays against itself")
        if self.teams is not None and self.teams.shape[1:] != (self.players,):
            raise ValueError(f"teams have a column for each player, got {self.teams.shape}")

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def sides(self) -> int:
        """Number of sides."""
        return self.players if self.teams is None else len(self.teams)

    @cached_property
    def units(self) -> Ints:
        """The deal of each pair, numbered over all games."""
        places = np.stack((self.games, self.deals))
        return np.unique(places, axis=1, return_inverse=True)[1].ravel().astype(np.int64)

    @property
    def count(self) -> int:
        """Number of matches."""
        return len(np.unique(self.numbers))

    @property
    def numbers(self) -> Ints:
        """The number of each pair's match."""
        return np.arange(len(self.scores)) if self.match is None else self.match

    @cached_property
    def shares(self) -> Floats:
        """Each pair's part of its match: 1 / (n - 1), where a match of n sides has n (n - 1) / 2
        pairs."""
        if self.match is None:
            return np.ones(len(self))
        pairs = np.unique(self.match, return_inverse=True, return_counts=True)
        found: Floats = 2.0 / (np.sqrt(1.0 + 8.0 * pairs[2]) - 1.0)
        return found[pairs[1]]

    def where(self, index: NDArray[np.bool_] | Ints) -> Matches:
        """Select whole matches by mask or index; the set of players stays the same."""
        names = ("first", "second", "scores", "games", "deals")
        kept = {name: getattr(self, name)[index] for name in names}
        return replace(self, **kept, match=None if self.match is None else self.match[index])

    @cached_property
    def weights(self) -> Floats:
        """The share of each pair over the sum of its game's, scaled to sum to the sum of all."""
        _, game = np.unique(self.games, return_inverse=True)
        totals = np.bincount(game, self.shares)
        found: Floats = self.shares * self.shares.sum() / (max(1, len(totals)) * totals[game])
        return found

    @cached_property
    def met(self) -> Ints:
        """Number of matches of each two players on opposite sides: (players, players)."""
        found = np.zeros((self.sides, self.sides), int)
        np.add.at(found, (self.first, self.second), 1)
        found = found + found.T
        if self.teams is None:
            return found
        members = (self.teams > 0).astype(np.int64)
        return np.asarray(members.T @ found @ members, np.int64)

    @cached_property
    def played(self) -> Ints:
        """Number of matches of each player: (players,)."""
        if self.teams is None:
            return self._appearances
        place = np.unique(self.numbers, return_inverse=True)[1]
        present = np.zeros((self.count, self.players), bool)
        for side in (self.first, self.second):
            np.logical_or.at(present, place, self.teams[side] > 0)
        return np.asarray(present.sum(0), np.int64)

    @cached_property
    def _appearances(self) -> Ints:
        """Number of sides that each player was in, over all matches."""
        return np.rint(self._by_player(self.shares, self.shares)).astype(np.int64)

    @property
    def points(self) -> Floats:
        """Total score of each player against each other, over all games: (players, players)."""
        totals = np.zeros((self.sides, self.sides))
        np.add.at(totals, (self.first, self.second), self.scores)
        np.add.at(totals, (self.second, self.first), 1.0 - self.scores)
        if self.teams is None:
            return totals
        members = (self.teams > 0).astype(float)
        found: Floats = members.T @ totals @ members
        return found

    @property
    def means(self) -> Floats:
        """Mean score of each player over its matches, over all games; nan without any. A match of
        several sides counts with the mean over the others."""
        points = self._by_player(self.shares * self.scores, self.shares * (1.0 - self.scores))
        sides = self._appearances
        found: Floats = np.where(sides > 0, points / np.maximum(sides, 1), np.nan)
        return found

    def _by_player(self, first: Floats, second: Floats) -> Floats:
        """Sum one value of each pair's first side and one of its second by player."""
        totals = np.zeros(self.sides)
        np.add.at(totals, self.first, first)
        np.add.at(totals, self.second, second)
        return totals if self.teams is None else np.asarray((self.teams > 0).T @ totals, float)

    def wins(self, ties: Ties) -> Floats:
        """Return the weighted table of wins of all sides for `stats.bradley_terry`."""
        whole = Units.from_matches(self, np.zeros(len(self), int), self.weights, ties)
        found: Floats = whole.tables(np.ones((1, len(whole.won))))[0]
        return found


def draw_by_deal(
    matches: Matches, ties: Ties, draws: int, rng: np.random.Generator
) -> Iterator[tuple[Floats, Floats]]:
    """Yield tables of wins in which each deal has an exponential weight of mean 1 (D. B. Rubin
    (1981), Annals of Statistics 9, 130-134), with these weights: chunks of shapes (some, sides,
    sides) and (some, deals), `draws` in all. Games keep their weights."""
    unit, deals = matches.units, int(matches.units.max(initial=-1)) + 1
    units = Units.from_matches(matches, unit, matches.weights, ties)
    for done in range(0, draws, step := max(1, AT_ONCE // max(deals, matches.sides**2))):
        weights = rng.standard_exponential((min(step, draws - done), deals))
        yield units.tables(weights), weights


@dataclass(frozen=True)
class Units:
    """Resampling units of matches: for each unit the weights of wins, by winner and loser.

    sides: how many. winners, losers: of each column. won: (units, columns).
    """

    sides: int
    winners: Ints
    losers: Ints
    won: Floats

    @classmethod
    def from_matches(cls, matches: Matches, unit: Ints, weights: Floats, ties: Ties) -> Units:
        weights = np.where((matches.scores == 0.5) & (ties == "drop"), 0.0, weights)
        player = np.concatenate((matches.first, matches.second))
        other = np.concatenate((matches.second, matches.first))
        points = np.concatenate((weights * matches.scores, weights * (1.0 - matches.scores)))
        pairs, column = np.unique(player * matches.sides + other, return_inverse=True)
        units = unit.max(initial=-1) + 1
        place = np.tile(unit, 2) * len(pairs) + column
        won: Floats = np.bincount(place, points, units * len(pairs)).astype(float)
        return cls(
            matches.sides,
            pairs // matches.sides,
            pairs % matches.sides,
            won.reshape(units, len(pairs)),
        )

    def tables(self, weights: Floats) -> Floats:
        """Return the table of wins for each row of unit weights: (rows, players, players)."""
        found = np.zeros((self.sides, self.sides, len(weights)))
        found[self.winners, self.losers] = self.won.T @ weights.T
        return np.moveaxis(found, -1, 0)
