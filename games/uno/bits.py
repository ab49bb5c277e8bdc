"""Sets of small numbers as the bits of one."""

from __future__ import annotations

import numpy as np

from games.uno.compiled import inlined

USUAL = 4
"""How many times `nth_of` looks for a lower bit without asking first whether there is one."""


@inlined
def number_of(mask: int) -> int:
    """How many bits are set. Adds neighbouring bits, pairs, quartets and then bytes, which the
    compiler knows as one instruction."""
    bits = np.uint64(mask)
    bits -= (bits >> np.uint64(1)) & np.uint64(0x5555555555555555)
    pairs = np.uint64(0x3333333333333333)
    bits = (bits & pairs) + ((bits >> np.uint64(2)) & pairs)
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int(np.int64((bits * np.uint64(0x0101010101010101)) >> np.uint64(56)))


@inlined
def lowest(mask: int) -> int:
    """The lowest bit that is set."""
    return number_of((mask & -mask) - 1)


@inlined
def nth_of(mask: int, number: int) -> int:
    """The bit with so many set bits below it."""
    for below in range(USUAL):
        mask &= mask - int(below < number)
    for _ in range(USUAL, number):
        mask &= mask - 1
    return lowest(mask)
