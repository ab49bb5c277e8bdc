"""A state of hold'em, and what a seat sees of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from games.base import Action
from games.holdem.rules import BOARD, LOG, SEED, STREET, faceup, own


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A state: the array of `games.holdem.rules`, and what was public so far, oldest first.

    start: how many clauses of the history are of hands before this one.
    """

    array: np.ndarray
    history: tuple[str, ...] = ()
    start: int = 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        return self.history == other.history and bool(np.array_equal(self.array, other.array))

    __hash__ = None  # type: ignore[assignment]


class View(NamedTuple):
    """What a seat sees, in numbers.

    cells: the state's array, with -1 for every card that it does not see and 0 for the seed.
    start: as in `State`. options: the legal actions, in the game's order.
    """

    seat: int
    cells: tuple[int, ...]
    start: int
    options: tuple[Action, ...]


def seen_by(array: np.ndarray, seat: int) -> np.ndarray:
    """The array with all hidden from `seat` that it does not see."""
    seen = array.copy()
    seen[SEED] = 0
    seen[own(1 - seat)] = -1
    seen[BOARD + faceup(array.item(STREET)) : LOG] = -1
    return seen
