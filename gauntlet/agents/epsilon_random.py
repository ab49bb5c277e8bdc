"""A player that sometimes moves at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gauntlet.agents.base import Agent, Decision, Thinking, Turn, check, decide
from gauntlet.games.base import Game


@dataclass(frozen=True)
class EpsilonRandom:
    """Plays like `agent`, but with probability `noise` takes a uniform random option.

    Raises ValueError unless `noise` is a probability.
    """

    agent: Agent
    noise: float = 0.05

    def __post_init__(self) -> None:
        check_chance(self.noise)

    def check(self, game: Game[Any]) -> None:
        check(self.agent, game)

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        if rng.random() < self.noise:
            return Decision(int(rng.integers(len(turn.options))))
        return (yield from decide(self.agent, turn, rng))


def check_chance(noise: float) -> None:
    """Raises ValueError unless `noise` is a probability."""
    if not 0 <= noise <= 1:
        raise ValueError(f"noise is {noise:g}; a probability lies between 0 and 1")
