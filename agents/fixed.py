"""The player that looks at nothing: always the option that stands in one place of the list."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gauntlet.agents.base import Decision, Thinking, Turn


@dataclass(frozen=True)
class Fixed:
    """Takes the option of this place in the game's own order.

    place: from 1 for the first one, from -1 back for the last; where the list is too short, the
        option nearest to that place. Raises ValueError for 0.
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
