"""A state of Hive, and the cells of its endless honeycomb, as numbers from 0 to 1023.

A cell has six neighbours, in directions 0 to 5: E, NE, NW, W, SW, SE. A step adds a number to the
cell's, modulo 1024; so the plane is rolled up, and no way round is shorter than 32 steps. A hive of
18 pieces, 17 steps across at most, never meets itself, and wherever it wanders there is room.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gauntlet.games.compiling import Compiler

_compiler = Compiler(Path(__file__).parent)
compiled = _compiler.compiled
inlined = _compiler.inlined
allocating = _compiler.allocating


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


CELLS = 1024
LAST = CELLS - 1
CENTRE = 528
ALL = 63
"""All six directions, as a set of bits: bit d for direction d."""

DIRECTIONS = ("E", "NE", "NW", "W", "SW", "SE")
STEPS = np.array((1, -31, -32, -1, 31, 32))
"""What a step in each direction adds to a cell's number."""
WAYS = ((1, 2, 0), (-31, 1, -1), (-32, -1, -1), (-1, -2, 0), (31, -1, 1), (32, 1, 1))
"""For each direction the same, and what it adds to a column and a row where cells are drawn."""


def _sides(mask: int, direction: int) -> int:
    """How many of the two neighbours beside that direction are filled."""
    return (mask >> (direction + 1) % 6 & 1) + (mask >> (direction + 5) % 6 & 1)


COUNT = np.array([mask.bit_count() for mask in range(64)])
"""How many neighbours are filled, by the set of those that are."""
GROUPS = np.array(
    [sum(mask >> d & 1 and not mask >> (d + 1) % 6 & 1 for d in range(6)) for mask in range(64)]
)
"""In how many groups the filled neighbours lie, neighbours side by side being one group; 0 where
none or all six are filled."""
SLIDES = np.array(
    [
        sum(1 << d for d in range(6) if not mask >> d & 1 and _sides(mask, d) == 1)
        for mask in range(64)
    ]
)
"""The directions in which a piece can slide, by its filled neighbours. The cell ahead is empty; of
the two that touch both cells one is filled, so that it keeps in touch, and one is empty, so that
there is room to pass."""
TOUCHES = np.array([sum(1 << d for d in range(6) if _sides(mask, d)) for mask in range(64)])
"""The directions with a filled neighbour beside them: the cell there shares it."""


def spread(cells: Iterable[int]) -> dict[int, tuple[int, int]]:
    """Where connected cells lie, unrolled: a column and a row for each, rows from north to south; a
    step E is two columns, a step SE one column and a row. The first cell lies at (0, 0)."""
    left = dict.fromkeys(cells)
    first = next(iter(left))
    found, todo = {first: (0, 0)}, [first]
    del left[first]
    while todo:
        cell = todo.pop()
        column, row = found[cell]
        for ahead, right, down in WAYS:
            beside = (cell + ahead) & LAST
            if beside in left:
                del left[beside]
                found[beside] = (column + right, row + down)
                todo.append(beside)
    return found
