"""Observers without a model: they guess the policies of the players they watch.

Each knows what a language model is shown: the catalogue and the moves in the steps shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from gauntlet.agents.base import Decision, Thinking, Turn
from gauntlet.games.base import Game, Observation

ALIKE = 1e-9
"""Tolerance for equal log-likelihoods and distances; ties are broken at random."""


@runtime_checkable
class Watching(Protocol):
    """A one-seat game of watching players and guessing their policies."""

    @property
    def codes(self) -> tuple[str, ...]:
        """One code per policy of the catalogue, without spaces; guesses are made of these."""
        ...

    @property
    def watched(self) -> tuple[str, ...]: ...

    def guess(self, picked: Sequence[int]) -> str:
        """The text of a guess. picked: for each watched player the index of a code."""
        ...

    def progress(self, observation: Observation) -> tuple[int, int]:
        """The number of steps shown so far, and of all steps."""
        ...

    def likelihoods(self, observation: Observation) -> np.ndarray:
        """The likelihood of each player's move in each step shown, under each policy. float64 of
        shape (steps, players, policies); 1 where a player did not move."""
        ...

    def frequencies(self, observation: Observation) -> np.ndarray:
        """Each player's option frequencies in the steps shown so far, of shape (players, options).
        Raises ValueError if the watched game has no mixed policies."""
        ...

    def mix_table(self) -> np.ndarray:
        """Each policy's option probabilities, float64 (policies, options); NaN if it is not a mix.
        Raises ValueError if the watched game has no mixed policies."""
        ...

    def losses(self) -> np.ndarray | None:
        """The loss of each guess under each truth, float64 (guesses, truths). Both are tuples of
        policies in lexical order of their indices. None if the losses are unknown."""
        ...


@dataclass(frozen=True)
class Observer:
    """Base of the observers, which play only `Watching` games."""

    def check(self, game: Game[Any]) -> None:
        """Raises ValueError unless it is a game of watching."""
        watching(game)


@dataclass(frozen=True)
class Constant(Observer):
    """Makes the same guess at every step.

    guess: its text; "" for the catalogue's first policy in every place.
    """

    guess: str = ""

    def check(self, game: Game[Any]) -> None:
        """Raises ValueError if the guess is not valid in this game."""
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
    """Guesses the mixes nearest (L2) to each player's option frequencies."""

    def check(self, game: Game[Any]) -> None:
        """Raises ValueError if the watched game has no mixed policies."""
        watching(game).mix_table()

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        game = watching(turn.game)
        apart = game.frequencies(turn.observation)[:, None] - game.mix_table()
        return best_guess(turn, -np.nan_to_num((apart**2).sum(axis=2), nan=np.inf), rng)
        yield


@dataclass(frozen=True)
class Likeliest(Observer):
    """Maximum likelihood: for each player the policy that best explains the steps shown."""

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        return best_guess(turn, log_likelihoods(turn), rng)
        yield


@dataclass(frozen=True)
class Bayes(Observer):
    """Guesses with the least expected loss under the posterior from a uniform prior.

    Ties go to the more probable guess. If the game has no losses, it guesses the most probable
    policy of each player. A decision's notes hold the guess's posterior probability under
    "confidence".
    """

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
    """The game as a `Watching` game. Raises ValueError if it is not one."""
    if not isinstance(game, Watching):
        raise ValueError(f"{type(game).__name__} has nobody to watch; games of watching have")
    return game


def log_likelihoods(turn: Turn) -> np.ndarray:
    """The log-likelihood of each player's moves in the steps shown, float64 (players, policies)."""
    with np.errstate(divide="ignore"):
        return np.asarray(
            np.log(watching(turn.game).likelihoods(turn.observation)).sum(axis=0), float
        )


def posteriors(logs: np.ndarray) -> np.ndarray:
    """Posterior probabilities from a uniform prior, (players, policies). Uniform for a player whose
    moves no policy explains."""
    best = logs.max(axis=1, keepdims=True)
    weights = np.exp(np.where(np.isfinite(best), logs - np.where(np.isfinite(best), best, 0), 0))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def best_guess(turn: Turn, worth: np.ndarray, rng: np.random.Generator) -> Decision:
    """The guess of the best policies by their worth, of shape (players, policies)."""
    return guess_decision(turn, [_best(row, rng) for row in worth], {})


def guess_decision(turn: Turn, picked: Sequence[int], notes: Mapping[str, Any]) -> Decision:
    return Decision(0, text=watching(turn.game).guess(picked), notes=notes)


def _best(worth: np.ndarray, rng: np.random.Generator) -> int:
    """The index of the maximum, ties broken at random."""
    ties = np.flatnonzero((worth >= worth.max() - ALIKE) | (worth == worth.max()))
    return int(ties[rng.integers(len(ties))])
