"""Observers without a model: they guess by which policies the players play whom they watch.

Each knows what a language model is told: the catalogue, and what was done in the steps shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from gauntlet.agents.base import Decision, Thinking, Turn
from gauntlet.games.base import Game, Observation

ALIKE = 1e-9
"""Log-likelihoods and distances that differ by less are equal; which of them counts is drawn."""


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
        """The likelihood of what each player did in each step shown, under each policy, float64 of
        shape (steps, players, policies); 1 where a player did nothing."""
        ...

    def frequencies(self, observation: Observation) -> np.ndarray:
        """How often each player took each option in the steps shown so far, shares of shape
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


@dataclass(frozen=True)
class Observer:
    """What observers share: they play games of watching alone."""

    def check(self, game: Game[Any]) -> None:
        """Raises ValueError if there is nobody to watch."""
        watching(game)


@dataclass(frozen=True)
class Constant(Observer):
    """Guesses the same at every step.

    guess: the words of it; "" for the catalogue's first policy in every place.
    """

    guess: str = ""

    def check(self, game: Game[Any]) -> None:
        """Raises ValueError where the guess is none of this game's."""
        known, codes = watching(game), self.guess.split()
        if self.guess and not (len(codes) == len(known.watched) and set(codes) <= {*known.codes}):
            told = f"{len(known.watched)} of {', '.join(known.codes)}"
            raise ValueError(f"guess is {self.guess!r}; it is {told}, with a space between")

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        game = watching(turn.game)
        return Decision(0, text=self.guess or game.guess([0] * len(game.watched)))
        yield


@dataclass(frozen=True)
class Nearest(Observer):
    """Guesses the mixes that lie nearest to how often each player took each option (L2)."""

    def check(self, game: Game[Any]) -> None:
        """Raises ValueError where the watched game has no mixes."""
        watching(game).mix_table()

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        game = watching(turn.game)
        apart = game.frequencies(turn.observation)[:, None] - game.mix_table()
        return guessed(turn, -np.nan_to_num((apart**2).sum(axis=2), nan=np.inf), rng)
        yield


@dataclass(frozen=True)
class Likeliest(Observer):
    """The ideal observer by maximum likelihood: of each player the policy that makes what it did
    likeliest, over the steps that are told."""

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        return guessed(turn, log_likelihoods(turn), rng)
        yield


@dataclass(frozen=True)
class Bayes(Observer):
    """Guesses what has the least expected loss under the posterior from a uniform prior, of equal
    ones the likeliest; where the game knows no losses, the likeliest of each player. A decision's
    notes hold under "confidence" the posterior chance of the guess."""

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        game, posterior = watching(turn.game), posteriors(log_likelihoods(turn))
        losses = game.losses()
        if losses is None:
            picked = [_best(row, rng) for row in posterior]
        else:
            joint = posterior[0]
            for row in posterior[1:]:
                joint = (joint[:, None] * row).ravel()
            expected = losses @ joint
            least = expected <= expected.min() + ALIKE
            best = _best(np.where(least, joint, -1.0), rng)
            picked = list(map(int, np.unravel_index(best, (posterior.shape[1],) * len(posterior))))
        chance = float(np.prod([row[one] for row, one in zip(posterior, picked, strict=True)]))
        return guess_decision(turn, picked, {"confidence": round(chance, 4)})
        yield


def watching(game: Game[Any]) -> Watching:
    """The game as one of watching. Raises ValueError where it is none."""
    if not isinstance(game, Watching):
        raise ValueError(f"{type(game).__name__} has nobody to watch; games of watching have")
    return game


def log_likelihoods(turn: Turn) -> np.ndarray:
    """The logarithm of how likely each policy makes what each player did, over all steps that are
    told: float64 of shape (players, policies)."""
    with np.errstate(divide="ignore"):
        return np.asarray(
            np.log(watching(turn.game).likelihoods(turn.observation)).sum(axis=0), float
        )


def posteriors(logs: np.ndarray) -> np.ndarray:
    """The chance of each policy from a uniform prior, (players, policies): uniform for a player who
    did what no policy does."""
    best = logs.max(axis=1, keepdims=True)
    weights = np.exp(np.where(np.isfinite(best), logs - np.where(np.isfinite(best), best, 0), 0))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def guessed(turn: Turn, worth: np.ndarray, rng: np.random.Generator) -> Decision:
    """The guess of the best policies by their worth, of shape (players, policies)."""
    return guess_decision(turn, [_best(row, rng) for row in worth], {})


def guess_decision(turn: Turn, picked: Sequence[int], notes: Mapping[str, Any]) -> Decision:
    return Decision(0, text=watching(turn.game).guess(picked), notes=notes)


def _best(worth: np.ndarray, rng: np.random.Generator) -> int:
    """The index of the best, drawn among equal ones."""
    ties = np.flatnonzero((worth >= worth.max() - ALIKE) | (worth == worth.max()))
    return int(ties[rng.integers(len(ties))])
