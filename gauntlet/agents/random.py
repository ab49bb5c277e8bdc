"""The uniform random player."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gauntlet.agents.base import Decision, Thinking, Turn
from gauntlet.games.playouts import RANDOM


@dataclass(frozen=True)
class Random:
    """Chooses uniformly among the options that the game lists."""

    scripted: ClassVar[str] = RANDOM

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        return Decision(int(rng.integers(len(turn.options))))
        yield
