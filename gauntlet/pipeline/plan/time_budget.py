"""Time limits for measuring the baseline of a slow game, and progress callbacks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

SECONDS = 60.0
"""Time limit for any baseline of a slow game; how many deals fit depends on the machine."""

PATIENT = 10.0
"""A game is slow if its baseline is not precise after this many seconds."""

ENOUGH, ENOUGH_A_DEAL = 100, 10
"""Enough deals of a slow game: a minimum, and a number per deal of the sweep. Ten per deal add a
twentieth to the standard error of the sweep's difference from its baseline."""

FEW = 30
"""Fewest deals for a meaningful standard error. If fewer fit into SECONDS, there is no baseline."""


def enough_slow_deals(deals: int) -> int:
    """Enough deals of a slow game for a sweep of `deals` deals."""
    return max(ENOUGH, ENOUGH_A_DEAL * deals)


@dataclass(frozen=True)
class ProgressCallbacks:
    """Progress callbacks, which change no result: `on_progress` gets the games played and the
    expected total; `on_message` a line on what fell short."""

    on_progress: Callable[[int, int], None] = field(compare=False)
    on_message: Callable[[str], None] = field(compare=False)


UNSEEN = ProgressCallbacks(lambda done, total: None, lambda line: None)


class TimeBudget:
    """Starts timing when created. slow: enough deals of a slow game."""

    def __init__(self, slow: float) -> None:
        self._slow, self._begun = slow, time.monotonic()

    @property
    def late(self) -> bool:
        """Whether time is up."""
        return self._took > SECONDS

    def ends(self, deals: int) -> bool:
        """Whether to stop after this many deals, at least one."""
        return deals > 0 and (self.late or (deals >= self._slow and self._took > PATIENT))

    @property
    def _took(self) -> float:
        return time.monotonic() - self._begun
