"""The random state of the whole process, lent to TextArena a call at a time.

The library draws from `random` and from numpy's global state, which everything else in a process
draws from too. So each environment has a state of its own: it is put in place before a call and
taken out after it, and the process finds its own again.
"""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

import numpy as np

_LENT = RLock()
"""Held by whoever has put a state in place: there is one of each in a process."""


@dataclass
class Luck:
    """The random state of one environment; `seed` below 2**32 begins it."""

    seed: int
    _now: tuple[Any, Any] | None = field(default=None, repr=False)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Draws from this state while it lasts, and from the process's own again afterwards."""
        with _LENT:
            before = random.getstate(), np.random.get_state()
            try:
                self._begin()
                with redirect_stdout(io.StringIO()):  # some of its games print what they do
                    yield
                self._now = random.getstate(), np.random.get_state()
            finally:
                random.setstate(before[0])
                np.random.set_state(before[1])

    def _begin(self) -> None:
        if self._now is None:
            random.seed(self.seed)
            np.random.seed(self.seed)
        else:
            random.setstate(self._now[0])
            np.random.set_state(self._now[1])

    def copy(self) -> Luck:
        """The same state, which goes its own way from here."""
        return Luck(self.seed, self._now)
