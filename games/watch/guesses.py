"""Guesses: as words, a code for each watched player or a dash for none, and what they come to.

A match is judged by how often its guesses name who plays, and by what they lose where they do not.
The losses compare what truth and guess imply for the watched game (`stats.observation`). It says so
itself (`games.watch.transcript.Spectated`), or is played by its scripted players many times.
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
"""The guess of whoever has none."""
MANY = 1000
"""The most combinations that are all given as examples."""

GAMES = 500
"""Games that tell what players come to, where the game does not say: a chance is known to two
points."""

LOSSES = ("ce", "brier", "ev_loss", "union")
WORST = {"ce": -float(np.log(observation.EPS)), "brier": 2.0, "ev_loss": 4.0, "union": 1.0}
"""The most that each can be: what a match without any guess has."""

Guess = tuple[int, ...]
"""Of each watched player the index of a code; () for none."""


@dataclass(frozen=True)
class Wanted:
    """The action that wants a guess, and how its words are read."""

    action: TextAction
    codes: dict[str, int]

    def read(self, text: str) -> Guess:
        """What words that will do say."""
        return () if text == NULL else tuple(self.codes[word] for word in text.casefold().split())


@lru_cache(maxsize=32)
def wanted(codes: tuple[str, ...], players: tuple[str, ...]) -> Wanted:
    """The action that wants one of these codes for each of these players. Its examples are
    guesses of which each is as likely as any other."""
    one = f"({'|'.join(map(re.escape, codes))})"
    told = "for player " + " and for player ".join(players)
    text = TextSpec(
        ask=f"a strategy's code {told}, in this order with a space between them",
        examples=tuple(" ".join(guess) for guess in _examples(codes, len(players))),
        pattern=f"(?i){NULL}|{' '.join([one] * len(players))}",
        max_chars=len(players) * (max(map(len, codes)) + 1),
        instead=NULL,
    )
    return Wanted(TextAction(0, text), {code.casefold(): at for at, code in enumerate(codes)})


def _examples(codes: tuple[str, ...], players: int) -> list[tuple[str, ...]]:
    """All guesses where they are not too many; else as many as give every code to every player
    equally often, and to any two players in every way that a step from one to the next reaches."""
    if len(codes) ** players <= MANY:
        return list(itertools.product(codes, repeat=players))
    count = len(codes)
    pairs = itertools.product(range(count), repeat=2)
    return [
        tuple(codes[(first + step * seat) % count] for seat in range(players))
        for first, step in pairs
    ]


@dataclass(frozen=True, eq=False)
class Outlook:
    """What every tuple of policies comes to, in lexical order of their indices.

    chances: float64 (tuples, outcomes); the outcomes are a win of the first seat, no winner, and a
    win of each other seat. worth: of each outcome to the first seat. losses: the Union loss,
    `fixed`, float64 (guesses, truths).
    """

    chances: np.ndarray
    worth: tuple[float, ...]
    losses: np.ndarray

    def alike(self, truth: int) -> np.ndarray:
        """Which tuples no loss tells from this one, itself among them: bool of shape (tuples,)."""
        return observation.alike(self.chances, self.chances[truth])

    def curves(self, truth: int, guesses: Sequence[int | None]) -> dict[str, np.ndarray]:
        """Each of LOSSES of each guess, NaN for one that is none."""
        places = [truth if guess is None else guess for guess in guesses]
        real, said = self.chances[truth], self.chances[places]
        found = {
            "ce": np.maximum(observation.cross_entropy(real, said), 0.0),  # EPS takes it below 0
            "brier": observation.brier(real, said),
            "ev_loss": observation.ev_loss(real, said, self.worth),
            "union": self.losses[places, truth],
        }
        null = np.array([guess is None for guess in guesses])
        return {name: np.where(null, np.nan, curve) for name, curve in found.items()}


def comparable(game: Game[Any], policies: Sequence[str]) -> bool:
    """Whether there is an outlook: the game says what its players come to, or plays itself, and the
    tuples of these policies are not too many."""
    few = len(policies) ** game.num_seats <= MANY
    return few and (isinstance(game, Spectated | Simulated))


@lru_cache(maxsize=16)
def outlook(game: Game[Any], policies: tuple[str, ...]) -> Outlook | None:
    """Of all tuples of these policies; None where they are not `comparable`."""
    if not comparable(game, policies):
        return None
    tuples = itertools.product(policies, repeat=game.num_seats)
    if isinstance(game, Spectated):
        chances = np.array([game.outlook(players) for players in tuples], float)
    else:
        chances = np.array([_shares(game, players) for players in tuples])
    worth = (1.0, 0.0, *(-1.0 for _ in range(chances.shape[1] - 2)))
    losses = observation.union(chances, chances[:, None], chances, worth=worth)
    return Outlook(chances, worth, losses)


def _shares(game: Game[Any], players: tuple[str, ...]) -> np.ndarray:
    *seats, nobody = simulate(game, players, GAMES, 0)
    counts = np.array([seats[0], nobody, *seats[1:]], float)
    return np.asarray(counts / counts.sum())


def measures_of(names: Sequence[str], losses: bool) -> tuple[Measure, ...]:
    """What a match of guesses about these players yields; the first is what it is judged by.

    sir: the share of guesses that name all players rightly (Strategy Identification Rate); sir_NAME
    one player. null_rate: the share of guesses that are none. lag: guesses between the first that
    names one player rightly and the first that has named each. With losses also: same_outcome: the
    share of guesses that name what no loss tells from the truth; alike: how many tuples of policies
    that are; blind: 1 where they leave open what one of the players is. ce, brier, ev_loss, union:
    mean losses; late: of union, over the last guesses. understood: the number of the first guess of
    next to no union loss. spikes: how often it is lost again. Never is the number of guesses + 1.
    """
    own = [Measure("sir", 0.0, 1.0), *(Measure(f"sir_{name}", 0.0, 1.0) for name in names)]
    own += [Measure("null_rate", 0.0, 1.0), Measure("lag", 0.0)]
    if losses:
        own += [
            Measure("same_outcome", 0.0, 1.0),
            Measure("alike", 1.0),
            Measure("blind", 0.0, 1.0),
        ]
        own += [Measure(name, 0.0, WORST[name]) for name in LOSSES]
        own += [Measure("late", 0.0, 1.0), Measure("understood", 1.0), Measure("spikes", 0.0)]
    return tuple(own)


def measure(
    names: Sequence[str],
    policies: Sequence[str],
    truth: Guess,
    guesses: Sequence[Guess],
    outlook: Outlook | None,
) -> dict[str, float]:
    """Each of `measures_of`, of a finished match."""
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


def _blind(alike: np.ndarray, truth: Guess) -> bool:
    """Whether one player may be taken for any policy, the others being what they are."""
    others = [
        (np.moveaxis(alike, at, -1), truth[:at] + truth[at + 1 :]) for at in range(len(truth))
    ]
    return any(bool(table[rest].all()) for table, rest in others)


def _or_worst(mean: float, loss: str) -> float:
    return WORST[loss] if np.isnan(mean) else mean
