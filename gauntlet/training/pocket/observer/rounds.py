"""Rounds of rock-paper-scissors between two of the 19 strategies, and the posteriors they imply."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gauntlet.agents import observers
from gauntlet.games.rock_paper_scissors.strategies import CODES, likelihoods, play_rounds


def play_pair(players: tuple[str, str], rounds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the hands of two players following their rules: (rounds, 2)."""
    return play_rounds(players, 1, rounds, rng)[:, 0].T


def posteriors(hands: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the posterior probabilities of each player's strategy after every round, from a
    uniform prior: float64 (rounds, 2, CODES). The hands before the first round are unknown, so in
    that round a reactive player may choose any."""
    densities = np.stack(
        [likelihoods(hands[:, seat], hands[:, 1 - seat]) for seat in (0, 1)], axis=1
    )
    with np.errstate(divide="ignore"):
        logs = np.log(densities).cumsum(axis=0)
    return observers.posteriors(logs.reshape(-1, len(CODES))).reshape(densities.shape)
