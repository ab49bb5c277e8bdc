"""Compilation of a game's engine, cached on disk; and what compiled engines share: sets of small
numbers as the bits of one, and random numbers as a function of a key and a count.

These know no generator, no state and no global. What chance brings to an event depends only on the
deal's seed, the kind of the event and how often it has happened, so it is the same however play
went in between. The mixing function is that of SplitMix64 (Steele, Lea and Flood 2014).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

config: Any = numba.config
njit: Any = numba.njit  # its type leaves out options that it takes


class Compiler:
    """Compiles the functions of one package, or of one file; the results are kept for later
    processes.

    Numba renews a cached function when its own file changes, not when a function that it calls
    from another file does. So the cache lies in a folder named after the text of the package, and
    of this file.
    """

    def __init__(self, place: Path) -> None:
        own = sorted(place.rglob("*.py")) if place.is_dir() else [place]
        text = b"".join(file.read_bytes() for file in (*own, Path(__file__)))
        self._folder = (place if place.is_dir() else place.parent) / "__pycache__"
        self._name = f"{place.stem}-{hashlib.sha256(text).hexdigest()[:12]}"

    def compiled(self, function: F) -> F:
        """Compiles a function that makes no array.

        Without arrays of its own it need not count references to those it is given, which in
        functions as small as these takes a third of the time.
        """
        return self.cached(function, _nrt=False)

    def inlined(self, function: F) -> F:
        """As `compiled`, and copied into its callers: a call would cost more than it does."""
        return self.cached(function, _nrt=False, forceinline=True)

    def allocating(self, function: F) -> F:
        """Compiles a function that makes arrays."""
        return self.cached(function)

    def cached(self, function: F, **options: bool) -> F:
        """`function` compiled on first use, by these options of Numba's."""
        own = config.CACHE_DIR
        config.CACHE_DIR = str(Path(own or self._folder) / self._name)
        try:
            compiling = njit(cache=True, nogil=True, error_model="numpy", **options)
            return cast(F, compiling(function))
        finally:
            config.CACHE_DIR = own


_own = Compiler(Path(__file__))

USUAL = 4
"""How many times `nth_of` looks for a lower bit without asking first whether there is one."""


@_own.inlined
def number_of(mask: int) -> int:
    """How many bits are set. Adds neighbouring bits, pairs, quartets and then bytes, which the
    compiler knows as one instruction."""
    bits = np.uint64(mask)
    bits -= (bits >> np.uint64(1)) & np.uint64(0x5555555555555555)
    pairs = np.uint64(0x3333333333333333)
    bits = (bits & pairs) + ((bits >> np.uint64(2)) & pairs)
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int(np.int64((bits * np.uint64(0x0101010101010101)) >> np.uint64(56)))


@_own.inlined
def lowest(mask: int) -> int:
    """The lowest bit that is set."""
    return number_of((mask & -mask) - 1)


@_own.inlined
def nth_of(mask: int, number: int) -> int:
    """The bit with so many set bits below it."""
    for below in range(USUAL):
        mask &= mask - int(below < number)
    for _ in range(USUAL, number):
        mask &= mask - 1
    return lowest(mask)


GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)


@_own.inlined
def derive(key: int, kind: int, count: int) -> np.uint64:
    """A key of its own for the `count`-th event of a `kind` under `key`."""
    return word(word(np.uint64(key), np.uint64(kind)), np.uint64(count))


@_own.inlined
def word(key: np.uint64, count: np.uint64) -> np.uint64:
    """The `count`-th 64 random bits under `key`."""
    bits = np.uint64(key + (count + np.uint64(1)) * GOLDEN)
    bits = (bits ^ (bits >> np.uint64(30))) * FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * SECOND
    return bits ^ (bits >> np.uint64(31))


@_own.inlined
def below(limit: int, key: np.uint64, count: int) -> int:
    """The `count`-th random integer from 0 to `limit` - 1 under `key`; `limit` below 2**32."""
    high = word(key, np.uint64(count)) >> np.uint64(32)
    return int(np.int64((high * np.uint64(limit)) >> np.uint64(32)))


@_own.inlined
def shuffle(cards: np.ndarray, start: int, size: int, key: np.uint64) -> None:
    """Shuffles `size` entries of `cards` from `start` on, in place."""
    for last in range(size - 1, 0, -1):
        other = start + below(last + 1, key, last)
        card = cards[other]
        cards[other] = cards[start + last]
        cards[start + last] = card
