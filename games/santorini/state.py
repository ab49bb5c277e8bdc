"""A state of Santorini."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class State:
    """A position, and how it came about.

    cells: the array of `games.santorini.rules`. history: a clause for each stage of each turn.
    """

    cells: tuple[int, ...]
    history: tuple[str, ...] = ()

    @property
    def array(self) -> np.ndarray:
        """The cells as the compiled rules take them; a new array each time."""
        return np.array(self.cells)
