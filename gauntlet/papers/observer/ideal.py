"""The ideal observer of rock-paper-scissors, vectorised over matches: an upper bound for observers.

It takes the maximum likelihood over the catalogue, whose rules it assumes to hold: a reactive
strategy answers the other's last hand. `agent=likeliest` is the same observer in play, one match at
a time.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from gauntlet.agents.observers import ALIKE
from gauntlet.games.rock_paper_scissors import RockPaperScissors, strategies
from gauntlet.games.rock_paper_scissors.strategies import CODES, Floats

ROUNDS, WARMUP, RUNS, SEED = 210, 10, 120, 1


@cache
def sir(pair: str, react: str = "lag1", window: int = 50, runs: int = RUNS) -> Floats:
    """Return the share of guesses in each run that name both players, float64 (runs,); with ties in
    likelihood, the probability of drawing the right strategies.

    pair: two codes. Guess k of a run knows the last `window` of WARMUP + k rounds.
    """
    game = RockPaperScissors(rounds=ROUNDS, react=react)
    hands = strategies.play_rounds(game.together(pair), runs, ROUNDS, np.random.default_rng(SEED))
    probabilities = [
        correct_probability(
            strategies.likelihoods(hands[seat], hands[1 - seat]), CODES.index(code), window
        )
        for seat, code in enumerate(pair)
    ]
    return np.asarray((probabilities[0] * probabilities[1]).mean(axis=1))


def correct_probability(chances: Floats, truth: int, window: int) -> Floats:
    """Return the probability that each guess is the true strategy: float64 (runs, guesses)."""
    never = summed(chances == 0, window)
    logs = summed(np.log(np.where(chances == 0, 1.0, chances)), window)
    logs = np.where(never > 0, -np.inf, logs)
    best = logs >= logs.max(axis=2, keepdims=True) - ALIKE
    return np.asarray(best[..., truth] / best.sum(axis=2))


def summed(values: np.ndarray, window: int) -> np.ndarray:
    """Sum over the last `window` rounds known at each guess: (runs, guesses, strategies)."""
    total = np.cumsum(values, axis=1)
    known = np.arange(WARMUP, values.shape[1])
    before = np.where((known >= window)[None, :, None], total[:, np.maximum(known - window, 0)], 0)
    return np.asarray(total[:, known] - before)
