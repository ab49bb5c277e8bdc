"""The state of a game whose rules are functions of an array."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class ArrayState:
    """A state: the array of the game's rules, and the public moves so far as text, oldest first."""

    array: np.ndarray
    history: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.history == other.history and bool(np.array_equal(self.array, other.array))

    __hash__ = None  # type: ignore[assignment]
