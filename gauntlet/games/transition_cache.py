"""A cache of another library's game objects by the moves that led to them.

An adapter's state is a seed and the moves so far. This finds the library's object for it, from an
LRU cache per process, so that a step forward is one library call rather than a replay of the match.
Cached objects are never changed: a step makes a new one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")

Key = tuple[Any, ...]

KEPT = 512
"""Capacity: several entries for each match that a process plays concurrently."""


class TransitionCache(Generic[T]):
    """An LRU cache of game objects: start(*game) makes the first, step(last, move) the next."""

    def __init__(self, start: Callable[..., T], step: Callable[[T, Any], T]) -> None:
        self._start, self._step = start, step
        self._known: OrderedDict[Key, T] = OrderedDict()

    def at(self, game: Key, moves: Key) -> T:
        """Return the object after `moves`: cached, a step from a cached one, or replayed."""
        last = len(moves)
        while last and (game, moves[:last]) not in self._known:
            last -= 1
        state = self._get((game, moves[:last]), lambda: self._start(*game))
        for end in range(last, len(moves)):
            state = self._next(state, game, moves[: end + 1])
        return state

    def _next(self, last: T, game: Key, moves: Key) -> T:
        return self._get((game, moves), lambda: self._step(last, moves[-1]))

    def _get(self, key: Key, make: Callable[[], T]) -> T:
        entry = self._known.pop(key) if key in self._known else make()
        self._known[key] = entry
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        return entry
