"""The player that ignores the position: it always takes the option at one place of the list."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gauntlet.agents.base import Decision, Thinking, Turn


@dataclass(frozen=True)
class Fixed:
    """Takes the option at this place in the game's own order.

    place: from 1 for the first option, from -1 backwards for the last; clipped to the length of the
        list. Raises ValueError for 0.
    """

    place: int = 1

    def __post_init__(self) -> None:
        if self.place == 0:
            raise ValueError("place is 0; the first option is 1, the last -1")

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        count = len(turn.options)
        at = self.place - 1 if self.place > 0 else count + self.place
        return Decision(min(max(at, 0), count - 1))
        yield
