"""How many matches are in progress: as many as make a model faster, and no more.

A model answers a batch sooner than its requests one by one, up to a point. Beyond it more matches
in progress only mean that all of them end late. So their number starts small and doubles while the
seconds a request takes fall, or while batches are quick anyway. Writing one text takes about as
long as writing many, so a model that writes gets all matches at once.
"""

from __future__ import annotations

from dataclasses import dataclass

FIRST = 8
"""Matches in progress at the start."""
ROUNDS = 2
"""Requests of each match in progress that are answered before their number may change."""
QUICK = 0.05
"""Seconds a request below which no measuring is needed."""
GAIN = 0.85
"""The larger number is kept if a request takes at most this part of the seconds."""


@dataclass
class Width:
    """The number of matches in progress, at most `most`, from the batches that `note` is given."""

    most: int

    def __post_init__(self) -> None:
        self.now = min(FIRST, self.most)
        self._smaller, self._before = self.now, 0.0
        self._settled = False
        self._restart()

    def open(self) -> None:
        """Allow all matches: a model is asked to write."""
        self.now, self._settled = self.most, True

    def note(self, requests: int, seconds: float) -> None:
        """Count a batch of a local model: its requests, and the seconds that it took."""
        self._requests += requests
        self._seconds += seconds
        if self._settled or self._requests < ROUNDS * self.now:
            return
        each = self._seconds / self._requests
        if self._before and each > max(QUICK, GAIN * self._before):
            self.now, self._settled = self._smaller, True
        else:
            self._settled = self.now == self.most
            self._smaller, self._before = self.now, each
            self.now = min(2 * self.now, self.most)
        self._restart()

    def _restart(self) -> None:
        self._requests, self._seconds = 0, 0.0
