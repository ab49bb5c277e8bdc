"""Rounds of rock-paper-scissors between two of the 19 strategies, and what they tell of them."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from games.rock_paper_scissors.strategies import ANSWERS, CODES, first, responses

HANDS = 3


def played(players: tuple[int, int], rounds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The hands of two players, given as indices into CODES, by their rules: (rounds, 2)."""
    hands = np.empty((rounds, 2), np.int64)
    for seat, player in enumerate(players):
        hands[:, seat] = rng.choice(HANDS, rounds, p=openings()[player])
    ahead = [(seat, ANSWERS[CODES[p]]) for seat, p in enumerate(players) if CODES[p] in ANSWERS]
    for number in range(1, rounds if ahead else 1):
        for seat, step in ahead:
            hands[number, seat] = (hands[number - 1, 1 - seat] + step) % HANDS
    return hands


def posteriors(hands: NDArray[np.int64]) -> NDArray[np.float64]:
    """The chances of each strategy for each player after every round, from a uniform prior: float64
    (rounds, 2, CODES). Of the hands before the first round nothing is known, so it is one in which
    a reactive player may choose any."""
    with np.errstate(divide="ignore"):
        opening, after = np.log(openings()), np.log(responses(CODES))
    own = np.empty((len(hands), 2, len(CODES)))
    own[0] = opening[:, hands[0]].T
    own[1:] = after[:, hands[:-1, ::-1], hands[1:]].transpose(1, 2, 0)
    logs = own.cumsum(axis=0)
    weights = np.exp(logs - logs.max(axis=2, keepdims=True))
    return np.asarray(weights / weights.sum(axis=2, keepdims=True))


@cache
def openings() -> NDArray[np.float64]:
    """The chances of each hand in round 1, by strategy: (CODES, 3)."""
    chances = np.array([first(code) for code in CODES])
    return chances / chances.sum(axis=1, keepdims=True)
