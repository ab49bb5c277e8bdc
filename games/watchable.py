"""What a game says of its scripted players to whoever watches them, and what a game of watching is.

As in `games.capabilities`, a game has a capability by having its members.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from games.base import Action, Observation


@runtime_checkable
class Catalogued(Protocol):
    """A game that can say in words how its scripted players play."""

    told_policies: Mapping[str, str]
    """A clause a policy, by its name."""


@runtime_checkable
class Together(Protocol):
    """A game whose scripted players may be others beside each other than alone."""

    def together(self, policies: Sequence[str]) -> tuple[str, ...]:
        """The names under which the game knows them where these sit together, one a seat."""
        ...


@runtime_checkable
class Outlooked(Protocol):
    """A game that knows what its scripted players come to."""

    def outlook(self, policies: Sequence[str]) -> tuple[float, ...]:
        """The chances of what may come of a match between them, one policy a seat; sums to 1."""
        ...


@runtime_checkable
class Mixed(Protocol):
    """A game of the same few options in every step, in which a policy may be a mix of them.

    mixes: by the name of a policy how often it takes each option; policies that look at what was
    played are not in it.
    """

    mixes: Mapping[str, Sequence[float]]


@runtime_checkable
class Spectated(Protocol):
    """A game that knows how it is told to whoever watches it. Of others every step is told as the
    seats see it."""

    spectator_rules: str
    """The game in a few sentences, and how its steps are written."""
    spectator_names: Sequence[str]
    """What a spectator calls the players, one a seat."""

    def spectate(self, moves: Sequence[Sequence[Action]], first: int) -> str:
        """These steps, of which the first has the number `first`: a line or more."""
        ...


@runtime_checkable
class Watching(Protocol):
    """A game of one seat that watches players and guesses by which policies they play."""

    @property
    def codes(self) -> tuple[str, ...]:
        """What a guess may name: a code for each policy of the catalogue. None has a space."""
        ...

    @property
    def watched(self) -> tuple[str, ...]:
        """The names of the players that are watched."""
        ...

    def guess(self, picked: Sequence[int]) -> str:
        """The words of a guess: for each watched player the index of a code."""
        ...

    def progress(self, observation: Observation) -> tuple[int, int]:
        """How many steps were shown so far, and how many there are."""
        ...

    def likelihoods(self, observation: Observation) -> np.ndarray:
        """How likely each policy makes what each player did in each step that is told, float64 of
        shape (steps, players, policies); 1 where a player did nothing."""
        ...

    def frequencies(self, observation: Observation) -> np.ndarray:
        """How often each player took each option in the steps that are told, shares of shape
        (players, options). Raises ValueError where the watched game has no mixes."""
        ...

    def mix_table(self) -> np.ndarray:
        """How often each policy takes each option, float64 of shape (policies, options), NaN for
        policies that are no mix. Raises ValueError where the watched game has no mixes."""
        ...

    def losses(self) -> np.ndarray | None:
        """What each guess costs under each truth, float64 of shape (guesses, truths), each a tuple
        of policies in lexical order of their indices; None where nothing is known."""
        ...
