"""A state of UNO, and what a seat sees of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from games.base import Action


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A state: the array of `games.uno.rules`, and the public moves so far, oldest first."""

    array: np.ndarray
    history: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        return self.history == other.history and bool(np.array_equal(self.array, other.array))

    __hash__ = None  # type: ignore[assignment]


class View(NamedTuple):
    """What a seat sees, in numbers.

    sizes: cards held, by seat. hand, played: cards of each kind (15 x colour + trait), all wilds
    counted at 13 and all wild draw fours at 14; `played` holds the cards since the last
    reshuffle, the top card included. options: the legal actions, in the game's order.
    """

    seat: int
    direction: int
    colour: int
    trait: int
    sizes: tuple[int, ...]
    hand: tuple[int, ...]
    played: tuple[int, ...]
    options: tuple[Action, ...]
