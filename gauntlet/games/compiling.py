"""Compile game engines with Numba, cached on disk, plus shared helpers: sets of small numbers as
bit masks, counter-based random numbers, and a state that is an array.

The random functions use no generator, state or global. The randomness of an event depends only on
the deal's seed, the kind of event and how often it has occurred, so it is the same whatever was
played in between. The mixing function is that of SplitMix64 (Steele, Lea and Flood 2014).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

config: Any = numba.config
njit: Any = numba.njit  # its type omits some options


class Compiler:
    """Compiles the functions of one package or file and caches the results across processes.

    Numba invalidates a cached function when its own file changes, but not when a function that it
    calls from another file does. So the cache folder is named after a hash of the package's source
    and this file.
    """

    def __init__(self, place: Path) -> None:
        own = sorted(place.rglob("*.py")) if place.is_dir() else [place]
        text = b"".join(file.read_bytes() for file in (*own, Path(__file__)))
        self._folder = (place if place.is_dir() else place.parent) / "__pycache__"
        self._name = f"{place.stem}-{hashlib.sha256(text).hexdigest()[:12]}"

    def compiled(self, function: F) -> F:
        """Compile a function that allocates no array.

        Without arrays of its own it needs no reference counting of its arguments, which takes a
        third of the time in functions this small.
        """
        return self.cached(function, _nrt=False)

    def inlined(self, function: F) -> F:
        """As `compiled`, and inlined into callers, where a call would cost more than the body."""
        return self.cached(function, _nrt=False, forceinline=True)

    def allocating(self, function: F) -> F:
        """Compile a function that allocates arrays."""
        return self.cached(function)

    def cached(self, function: F, **options: bool) -> F:
        """Compile `function` on first use, with these Numba options."""
        cache_dir = config.CACHE_DIR
        config.CACHE_DIR = str(Path(cache_dir or self._folder) / self._name)
        try:
            compiling = njit(cache=True, nogil=True, error_model="numpy", **options)
            return cast(F, compiling(function))
        finally:
            config.CACHE_DIR = cache_dir


_own = Compiler(Path(__file__))

USUAL = 4
"""Iterations that `nth_of` runs without a branch."""


@_own.inlined
def number_of(mask: int) -> int:
    """Return the number of set bits. The compiler turns this bit-sum pattern (neighbouring bits,
    pairs, quartets, bytes) into one instruction."""
    bits = np.uint64(mask)
    bits -= (bits >> np.uint64(1)) & np.uint64(0x5555555555555555)
    pairs = np.uint64(0x3333333333333333)
    bits = (bits & pairs) + ((bits >> np.uint64(2)) & pairs)
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int(np.int64((bits * np.uint64(0x0101010101010101)) >> np.uint64(56)))


@_own.inlined
def lowest(mask: int) -> int:
    """Return the index of the lowest set bit."""
    return number_of((mask & -mask) - 1)


@_own.inlined
def nth_of(mask: int, number: int) -> int:
    """Return the index of the set bit that has `number` set bits below it."""
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
    """Return the key of the `count`-th event of a `kind` under `key`."""
    return word(word(np.uint64(key), np.uint64(kind)), np.uint64(count))


@_own.inlined
def word(key: np.uint64, count: np.uint64) -> np.uint64:
    """Return the `count`-th 64 random bits under `key`."""
    bits = np.uint64(key + (count + np.uint64(1)) * GOLDEN)
    bits = (bits ^ (bits >> np.uint64(30))) * FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * SECOND
    return bits ^ (bits >> np.uint64(31))


@_own.inlined
def below(limit: int, key: np.uint64, count: int) -> int:
    """Return the `count`-th random integer in [0, limit) under `key`; `limit` is below 2**32."""
    high = word(key, np.uint64(count)) >> np.uint64(32)
    return int(np.int64((high * np.uint64(limit)) >> np.uint64(32)))


@_own.inlined
def shuffle(cards: np.ndarray, start: int, size: int, key: np.uint64) -> None:
    """Shuffle `size` entries of `cards` from index `start`, in place."""
    for last in range(size - 1, 0, -1):
        other = start + below(last + 1, key, last)
        card = cards[other]
        cards[other] = cards[start + last]
        cards[start + last] = card


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
