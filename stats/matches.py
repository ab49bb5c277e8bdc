"""Two-player matches for rating fits: arrays, weighted by game, with bootstrap resampling."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
    """n two-player matches among `players` players, numbered from 0; each array has n entries.

    first, second: the players. scores: the first player's, 0 to 1; the second gets the rest. games,
    deals: numbers of each match's game, and of its deal within the game. Raises ValueError for
    inconsistent arrays.
    """

    players: int
    first: Ints
    second: Ints
    scores: Floats
    games: Ints
    deals: Ints

    def __post_init__(self) -> None:
        shapes = {one.shape for one in (self.first, self.second, self.games, self.deals)}
        if shapes != {(len(self.scores),)}:
            raise ValueError(f"matches are lists of one length, got shapes {sorted(shapes)}")
        checks.probabilities(checks.finite(self.scores, "scores"), "scores")
        seats = np.concatenate((self.first, self.second))
        if seats.size and not 0 <= seats.min() <= seats.max() < self.players:
            raise ValueError(f"players are numbered from 0 to {self.players - 1}")
        if (self.first == self.second).any():
            raise ValueError("nobody plays against itself")

    def __len__(self) -> int:
        return len(self.scores)

    def where(self, index: NDArray[np.bool_] | Ints) -> Matches:
        """Select matches by mask or index; the set of players stays the same."""
        names = ("first", "second", "scores", "games", "deals")
        return replace(self, **{name: getattr(self, name)[index] for name in names})

    @cached_property
    def weights(self) -> Floats:
        """1 / N for the N matches of each match's game, scaled to sum to the number of matches."""
        _, game, counts = np.unique(self.games, return_inverse=True, return_counts=True)
        found: Floats = len(self) / (max(1, len(counts)) * counts[game])
        return found

    @cached_property
    def met(self) -> Ints:
        """Number of matches between each two players: (players, players)."""
        found = np.zeros((self.players, self.players), int)
        np.add.at(found, (self.first, self.second), 1)
        return found + found.T

    @property
    def points(self) -> Floats:
        """Total score of each player against each other, over all games: (players, players)."""
        totals = np.zeros((self.players, self.players))
        np.add.at(totals, (self.first, self.second), self.scores)
        np.add.at(totals, (self.second, self.first), 1.0 - self.scores)
        return totals

    @property
    def means(self) -> Floats:
        """Mean score of each player over its matches, over all games; nan without any."""
        played = self.met.sum(1)
        found: Floats = np.where(played > 0, self.points.sum(1) / np.maximum(played, 1), np.nan)
        return found

    def wins(self, ties: Ties) -> Floats:
        """Return the weighted table of wins for `stats.bradley_terry`."""
        whole = _Units.from_matches(self, np.zeros(len(self), int), self.weights, ties)
        found: Floats = whole.tables(np.ones((1, len(whole.won))))[0]
        return found


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
    units = _Units.from_matches(
        matches.where(first), np.arange(len(first)), np.ones(len(first)), ties
    )

    def weights(count: int) -> Floats:
        return rng.multinomial(len(matches), chances, count).astype(float)

    return units.resample(draws, weights)


@dataclass(frozen=True)
class _Units:
    """The resampling units: for each unit the weights of wins, by winner and loser.

    winners, losers: of each column. won: (units, columns).
    """

    players: int
    winners: Ints
    losers: Ints
    won: Floats

    @classmethod
    def from_matches(cls, matches: Matches, unit: Ints, weights: Floats, ties: Ties) -> _Units:
        weights = np.where((matches.scores == 0.5) & (ties == "drop"), 0.0, weights)
        player = np.concatenate((matches.first, matches.second))
        other = np.concatenate((matches.second, matches.first))
        points = np.concatenate((weights * matches.scores, weights * (1.0 - matches.scores)))
        pairs, column = np.unique(player * matches.players + other, return_inverse=True)
        units = unit.max(initial=-1) + 1
        place = np.tile(unit, 2) * len(pairs) + column
        won: Floats = np.bincount(place, points, units * len(pairs)).astype(float)
        return cls(
            matches.players,
            pairs // matches.players,
            pairs % matches.players,
            won.reshape(units, len(pairs)),
        )

    def tables(self, weights: Floats) -> Floats:
        """Return the table of wins for each row of unit weights: (rows, players, players)."""
        found = np.zeros((self.players, self.players, len(weights)))
        found[self.winners, self.losers] = self.won.T @ weights.T
        return np.moveaxis(found, -1, 0)

    def resample(self, draws: int, weights: Callable[[int], Floats]) -> Iterator[Floats]:
        """weights: returns the given number of rows of unit weights."""
        step = max(1, AT_ONCE // max(len(self.won), self.players**2))
        for done in range(0, draws, step):
            yield self.tables(weights(min(step, draws - done)))
