"""How long a game that is slow is waited for, and who is told of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

SECONDS = 60.0
"""What any baseline may take where the game is slow. How many deals those are is the machine's."""

PATIENT = 10.0
"""Seconds after which a game whose baseline is not sharp yet is slow."""

ENOUGH, ENOUGH_A_DEAL = 100, 10
"""Deals that do of a slow game: for each of the sweep's so many, with which the baseline adds a
twentieth to the standard error of a difference from it."""

FEW = 30
"""Deals of which a standard error can be told at all. Of fewer in SECONDS there is no baseline."""


def enough_of_a_slow_one(deals: int) -> int:
    """How many deals of a slow game do it for a sweep of so many."""
    return max(ENOUGH, ENOUGH_A_DEAL * deals)


@dataclass(frozen=True)
class Watch:
    """Who is told how many games are played, of about how many, and in a line what came short; it
    changes no result."""

    reach: Callable[[int, int], None] = field(compare=False)
    say: Callable[[str], None] = field(compare=False)


UNSEEN = Watch(lambda done, total: None, lambda line: None)


class Patience:
    """From when it is made, with the deals that do where a game is slow."""

    def __init__(self, slow: float) -> None:
        self._slow, self._begun = slow, time.monotonic()

    @property
    def late(self) -> bool:
        """Whether time is up."""
        return self._took > SECONDS

    def ends(self, deals: int) -> bool:
        """Whether no further deal is waited for after so many; there is one at least."""
        return deals > 0 and (self.late or (deals >= self._slow and self._took > PATIENT))

    @property
    def _took(self) -> float:
        return time.monotonic() - self._begun
