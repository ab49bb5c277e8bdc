"""Guesses, as text a code per watched player or a dash for none, and their scores.

A match is scored by how often its guesses name the true policies, and by the losses of wrong ones.
The losses compare what truth and guess imply for the watched game (`stats.observation`): either the
game provides these outcomes (`games.watch.transcript.Spectated`), or its scripted players are
simulated.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from gauntlet.games.base import Game, TextAction, TextSpec
from gauntlet.games.capabilities import Measure, Simulated
from gauntlet.games.playouts import simulate
from gauntlet.games.watch.transcript import Spectated
from gauntlet.stats import observation

NULL = "-"
"""The text of an abstention."""
MANY = 1000
"""Largest number of combinations that are all given as examples."""

GAMES = 500
"""Simulated games per tuple of policies if the game does not provide outcomes: the standard error
is about two points."""

LOSSES = ("ce", "brier", "ev_loss", "union")
WORST = {"ce": -float(np.log(observation.EPS)), "brier": 2.0, "ev_loss": 4.0, "union": 1.0}
"""The maximum of each, which a match without any guess gets."""

Guess = tuple[int, ...]
"""The index of a code for each watched player; () for none."""


@dataclass(frozen=True)
class GuessSpec:
    """The action that takes a guess, and how its text is parsed."""

    action: TextAction
    codes: dict[str, int]

    def read(self, text: str) -> Guess:
        return () if text == NULL else tuple(self.codes[word] for word in text.casefold().split())


@lru_cache(maxsize=32)
def guess_spec(codes: tuple[str, ...], players: tuple[str, ...]) -> GuessSpec:
    """Return the action that takes one of these codes for each of these players. Its examples are
    uniformly distributed guesses."""
    code_pattern = f"({'|'.join(map(re.escape, codes))})"
    told = "for player " + " and for player ".join(players)
    text = TextSpec(
        ask=f"a strategy's code {told}, in this order with a space between them",
        examples=tuple(" ".join(guess) for guess in _examples(codes, len(players))),
        pattern=f"(?i){NULL}|{' '.join([code_pattern] * len(players))}",
        max_chars=len(players) * (max(map(len, codes)) + 1),
        instead=NULL,
    )
    return GuessSpec(TextAction(0, text), {code.casefold(): at for at, code in enumerate(codes)})


def _examples(codes: tuple[str, ...], players: int) -> list[tuple[str, ...]]:
    """Return all guesses if there are not too many; else a subset with every code equally often for
    every player, spaced by every constant step from one player to the next."""
    if len(codes) ** players <= MANY:
        return list(itertools.product(codes, repeat=players))
    count = len(codes)
    pairs = itertools.product(range(count), repeat=2)
    return [
        tuple(codes[(first + step * seat) % count] for seat in range(players))
        for first, step in pairs
    ]


@dataclass(frozen=True, eq=False)
class PolicyOutcomes:
    """The outcomes of every tuple of policies, in lexicographic order of their indices.

    chances: float64 (tuples, outcomes); the outcomes are a win of the first seat, no winner, and a
    win of each other seat. worth: the value of each outcome to the first seat. losses: the Union
    loss, `fixed`, float64 (guesses, truths).
    """

    chances: np.ndarray
    worth: tuple[float, ...]
    losses: np.ndarray

    def alike(self, truth: int) -> np.ndarray:
        """Return which tuples no loss distinguishes from this one, itself included: bool of shape
        (tuples,)."""
        return observation.indistinguishable(self.chances, self.chances[truth])

    def curves(self, truth: int, guesses: Sequence[int | None]) -> dict[str, np.ndarray]:
        """Return each of LOSSES per guess, NaN for an abstention."""
        places = [truth if guess is None else guess for guess in guesses]
        real, guessed = self.chances[truth], self.chances[places]
        losses = {
            "ce": np.maximum(observation.cross_entropy(real, guessed), 0.0),  # EPS takes it below 0
            "brier": observation.brier(real, guessed),
            "ev_loss": observation.ev_loss(real, guessed, self.worth),
            "union": self.losses[places, truth],
        }
        null = np.array([guess is None for guess in guesses])
        return {name: np.where(null, np.nan, curve) for name, curve in losses.items()}


def comparable(game: Game[Any], policies: Sequence[str]) -> bool:
    """Return whether outcomes are available: the game provides them or simulates itself, and the
    tuples of these policies are not too many."""
    few = len(policies) ** game.num_seats <= MANY
    return few and (isinstance(game, Spectated | Simulated))


@lru_cache(maxsize=16)
def policy_outcomes(game: Game[Any], policies: tuple[str, ...]) -> PolicyOutcomes | None:
    """Return the outcomes of all tuples of these policies; None if they are not `comparable`."""
    if not comparable(game, policies):
        return None
    tuples = itertools.product(policies, repeat=game.num_seats)
    if isinstance(game, Spectated):
        chances = np.array([game.outlook(players) for players in tuples], float)
    else:
        chances = np.array([_shares(game, players) for players in tuples])
    worth = (1.0, 0.0, *(-1.0 for _ in range(chances.shape[1] - 2)))
    losses = observation.union(chances, chances[:, None], chances, worth=worth)
    return PolicyOutcomes(chances, worth, losses)


def _shares(game: Game[Any], players: tuple[str, ...]) -> np.ndarray:
    *seats, nobody = simulate(game, players, GAMES, 0)
    counts = np.array([seats[0], nobody, *seats[1:]], float)
    return np.asarray(counts / counts.sum())


def measures_of(names: Sequence[str], losses: bool) -> tuple[Measure, ...]:
    """Return the measures of a match of guesses about these players; the first is the primary one.

    `sir`: the share of guesses that name all players correctly (Strategy Identification Rate);
    `sir_NAME`: one player. null_rate: the share of abstentions. lag: guesses between the first that
    is right about one player and the first by which each has been named. With losses also
    same_outcome: the share of guesses that no loss distinguishes from the truth; alike: the number
    of such tuples of policies; blind: 1 if they leave one player's policy entirely open. ce, brier,
    ev_loss, union: mean losses; late: of union, over the last guesses. understood: the number of
    the first guess with almost no union loss. spikes: how often it rises again. Never is the number
    of guesses + 1.
    """
    measures = [Measure("sir", 0.0, 1.0), *(Measure(f"sir_{name}", 0.0, 1.0) for name in names)]
    measures += [Measure("null_rate", 0.0, 1.0), Measure("lag", 0.0)]
    if losses:
        measures += [
            Measure("same_outcome", 0.0, 1.0),
            Measure("alike", 1.0),
            Measure("blind", 0.0, 1.0),
        ]
        measures += [Measure(name, 0.0, WORST[name]) for name in LOSSES]
        measures += [Measure("late", 0.0, 1.0), Measure("understood", 1.0), Measure("spikes", 0.0)]
    return tuple(measures)


def measure(
    names: Sequence[str],
    policies: Sequence[str],
    truth: Guess,
    guesses: Sequence[Guess],
    outlook: PolicyOutcomes | None,
) -> dict[str, float]:
    """Return each of `measures_of` for a finished match."""
    named = [[policies[one] for one in guess] if guess else None for guess in guesses]
    found = observation.identified([policies[one] for one in truth], named)
    figures = {"sir": found.sir, "null_rate": found.null_rate, "lag": float(found.lag)}
    figures |= {f"sir_{name}": share for name, share in zip(names, found.each, strict=True)}
    if outlook is None:
        return figures
    shape = (len(policies),) * len(truth)
    right = int(np.ravel_multi_index(truth, shape))
    places = [int(np.ravel_multi_index(guess, shape)) if guess else None for guess in guesses]
    alike, curves = outlook.alike(right), outlook.curves(right, places)
    figures["same_outcome"] = float(np.mean([at is not None and alike[at] for at in places]))
    figures |= {"alike": float(alike.sum()), "blind": float(_blind(alike.reshape(shape), truth))}
    for name, curve in curves.items():
        figures[name] = _or_worst(observation.course(curve).mean, name)
    course = observation.course(curves["union"])
    figures["late"] = _or_worst(course.late, "union")
    return figures | {"understood": float(course.understood), "spikes": float(course.spikes)}


def _blind(same: np.ndarray, truth: Guess) -> bool:
    """Return whether one player could have any policy, given the others."""
    slices = [(np.moveaxis(same, at, -1), truth[:at] + truth[at + 1 :]) for at in range(len(truth))]
    return any(bool(table[rest].all()) for table, rest in slices)


def _or_worst(mean: float, loss: str) -> float:
    return WORST[loss] if np.isnan(mean) else mean
