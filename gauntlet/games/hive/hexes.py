"""Hive's state, and the cells of its endless honeycomb as numbers from 0 to 1023.

A cell has six neighbours, in directions 0 to 5: E, NE, NW, W, SW, SE. A step adds a number to the
cell's, modulo 1024; so the plane is a torus on which no loop is shorter than 32 steps. The 18
pieces span at most 17 steps, so a hive never meets itself, wherever it wanders.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from gauntlet.games.compiling import ArrayState, Compiler

_compiler = Compiler(Path(__file__).parent)
compiled = _compiler.compiled
inlined = _compiler.inlined
allocating = _compiler.allocating


class State(ArrayState):
    """A state with the array of `games.hive.rules`."""

    __slots__ = ()


CELLS = 1024
LAST = CELLS - 1
CENTRE = 528
ALL = 63
"""All six directions as a bit mask: bit d for direction d."""

DIRECTIONS = ("E", "NE", "NW", "W", "SW", "SE")
STEPS = np.array((1, -31, -32, -1, 31, 32))
"""What a step in each direction adds to a cell's number."""
WAYS = ((1, 2, 0), (-31, 1, -1), (-32, -1, -1), (-1, -2, 0), (31, -1, 1), (32, 1, 1))
"""For each direction: the same, and the column and row offsets in a drawing."""


def _sides(mask: int, direction: int) -> int:
    """Return how many of the two neighbours adjacent to that direction are filled."""
    return (mask >> (direction + 1) % 6 & 1) + (mask >> (direction + 5) % 6 & 1)


COUNT = np.array([mask.bit_count() for mask in range(64)])
"""Number of filled neighbours, by bit mask."""
GROUPS = np.array(
    [sum(mask >> d & 1 and not mask >> (d + 1) % 6 & 1 for d in range(6)) for mask in range(64)]
)
"""Number of groups of adjacent filled neighbours, by bit mask; 0 if none or all six are filled."""
SLIDES = np.array(
    [
        sum(1 << d for d in range(6) if not mask >> d & 1 and _sides(mask, d) == 1)
        for mask in range(64)
    ]
)
"""The directions in which a piece can slide, by its filled neighbours. The cell ahead is empty; of
the two cells that touch both, one is filled, so that it keeps contact, and one is empty, so that it
can pass."""
TOUCHES = np.array([sum(1 << d for d in range(6) if _sides(mask, d)) for mask in range(64)])
"""The directions whose cell shares a filled neighbour with this one."""


def unrolled_positions(cells: Iterable[int]) -> dict[int, tuple[int, int]]:
    """Return where connected cells lie, unrolled: a column and a row for each, rows from north to
    south; a step E is two columns, a step SE one column and one row. The first cell lies at (0, 0).
    """
    unvisited = dict.fromkeys(cells)
    first = next(iter(unvisited))
    positions, todo = {first: (0, 0)}, [first]
    del unvisited[first]
    while todo:
        cell = todo.pop()
        column, row = positions[cell]
        for ahead, right, down in WAYS:
            neighbour = (cell + ahead) & LAST
            if neighbour in unvisited:
                del unvisited[neighbour]
                positions[neighbour] = (column + right, row + down)
                todo.append(neighbour)
    return positions
