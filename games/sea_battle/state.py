"""A state of Sea Battle, and what a seat sees of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from games.sea_battle.rules import DAMAGE, PLAN, SECRET, SHIPS, SUNK, UNDECIDED


@dataclass(frozen=True, slots=True)
class State:
    """The sea, and what was done on it.

    cells: the array of `games.sea_battle.rules`. history: a clause for each turn.
    """

    cells: tuple[int, ...]
    history: tuple[str, ...] = ()

    @property
    def array(self) -> np.ndarray:
        """The cells as the compiled rules take them; a new array each time."""
        return np.array(self.cells)


class View(NamedTuple):
    """What a ship sees: which one it is, and the cells, in which plans for this turn are SECRET."""

    ship: int
    cells: tuple[int, ...]


def seen_by(cells: Sequence[int], ship: int) -> View:
    """What a ship sees of a state: all but what others have chosen for this turn."""
    plans = [UNDECIDED if plan == UNDECIDED else SECRET for plan in cells[PLAN : PLAN + SHIPS]]
    return View(ship, (*cells[:PLAN], *plans, *cells[PLAN + SHIPS :]))


def undecided(cells: Sequence[int]) -> list[int]:
    """The ships afloat that have still to choose for this turn."""
    return [
        ship
        for ship in range(SHIPS)
        if cells[DAMAGE + ship] < SUNK and cells[PLAN + ship] == UNDECIDED
    ]
