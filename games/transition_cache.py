"""What another library made of the moves of a match, kept for the next move.

An adapter's state is a seed and the moves so far. The library's own object for it is found here,
those used last of each process, so that a step forward is one call of the library and not a match
played anew. What is kept is never changed: a step makes another one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")

Key = tuple[Any, ...]

KEPT = 512
"""How many are kept: some for each match that a process plays at once."""


class TransitionCache(Generic[T]):
    """By what led to them: start(*game) makes the first, step(last, move) the next."""

    def __init__(self, start: Callable[..., T], step: Callable[[T, Any], T]) -> None:
        self._start, self._step = start, step
        self._known: OrderedDict[Key, T] = OrderedDict()

    def at(self, game: Key, moves: Key) -> T:
        """What stands after `moves`: kept, a step from one that is, or played anew."""
        last = len(moves)
        while last and (game, moves[:last]) not in self._known:
            last -= 1
        found = self._get((game, moves[:last]), lambda: self._start(*game))
        for end in range(last, len(moves)):
            found = self._next(found, game, moves[: end + 1])
        return found

    def _next(self, last: T, game: Key, moves: Key) -> T:
        return self._get((game, moves), lambda: self._step(last, moves[-1]))

    def _get(self, key: Key, make: Callable[[], T]) -> T:
        found = self._known.pop(key) if key in self._known else make()
        self._known[key] = found
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        return found
