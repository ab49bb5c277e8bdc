"""What SIGINT and SIGTERM do while matches are played: the first ends play, the second the process.

The first prints a line at once. Where the playing loop checks for it, nothing is cut short; while
models load and cells are judged, KeyboardInterrupt is raised.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from gauntlet.common.process import abandon

LINE = "\ninterrupted: matches in progress are dropped; Ctrl-C again ends at once"


class Interruption:
    """Whether a signal came. held: whether it waits for the playing loop to check."""

    def __init__(self) -> None:
        self.came = self._held = False

    @contextmanager
    def held(self, held: bool) -> Iterator[None]:
        """Inside, signals wait for the playing loop, or not. Raises KeyboardInterrupt if one came
        that should not wait."""
        before, self._held = self._held, held
        try:
            if self.came and not held:
                raise KeyboardInterrupt
            yield
        finally:
            self._held = before

    def note(self, *_: object) -> None:
        """The handler of both signals."""
        if self.came:
            abandon()
        self.came = True
        with suppress(RuntimeError):  # where it came in the middle of another line
            print(LINE, file=sys.stderr, flush=True)
        if not self._held:
            raise KeyboardInterrupt


@contextmanager
def interruption() -> Iterator[Interruption]:
    """Handle the signals inside."""
    noted = Interruption()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, noted.note) for number in numbers]
    try:
        yield noted
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
