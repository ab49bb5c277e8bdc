"""A state of Hive."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A state: the array of `games.hive.rules`, and the moves so far in words, oldest first."""

    array: np.ndarray
    history: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        return self.history == other.history and bool(np.array_equal(self.array, other.array))

    __hash__ = None  # type: ignore[assignment]
