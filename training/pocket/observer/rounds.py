"""Rounds of rock-paper-scissors between two of the 19 strategies, and what they tell of them."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from agents import observers
from games.rock_paper_scissors.strategies import CODES, drawn, first, responses


def played(players: tuple[str, str], rounds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The hands of two players, by their rules: (rounds, 2)."""
    return drawn(players, 1, rounds, rng)[:, 0].T


def posteriors(hands: NDArray[np.int64]) -> NDArray[np.float64]:
    """The chances of each strategy for each player after every round, from a uniform prior: float64
    (rounds, 2, CODES). Of the hands before the first round nothing is known, so it is one in which
    a reactive player may choose any."""
    own = np.empty((len(hands), 2, len(CODES)))
    own[0] = _chances()[0][:, hands[0]].T
    own[1:] = _chances()[1][:, hands[:-1, ::-1], hands[1:]].transpose(1, 2, 0)
    with np.errstate(divide="ignore"):
        logs = np.log(own).cumsum(axis=0)
    return observers.posteriors(logs.reshape(-1, len(CODES))).reshape(own.shape)


@cache
def _chances() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of each hand in round 1, (CODES, 3), and after each of the other player's, (CODES, 3, 3)."""
    return np.array([first(code) for code in CODES]), responses(CODES)
