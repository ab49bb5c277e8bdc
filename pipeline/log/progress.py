"""Progress display in the terminal that started the run."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from gauntlet.common.terminal import duration, rate

SAY_EVERY, AT_LEAST_EVERY = 10.0, 60.0
"""Seconds between progress lines if the output is not a terminal: at least, and while nothing
ends."""

PATIENCE = 2.0
"""Seconds before `Waiting` shows a bar."""


class Bar:
    """A progress bar with matches per second and time left; plain lines if not on a terminal.

    quiet: print nothing, because a person plays in this terminal. doing, done: the verb. unit: what
    is counted.
    """

    def __init__(
        self,
        out: Console,
        total: int,
        quiet: bool = False,
        doing: str = "playing",
        done: str = "played",
        unit: str = "matches",
    ) -> None:
        self._out, self._total, self._verb, self._unit = out, total, done, unit
        self._done = self._failed = 0
        self._lines = not (quiet or out.is_terminal)
        self._started = self._said = time.monotonic()
        self._progress = Progress(
            TextColumn(doing),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[count]}"),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=out,
            disable=quiet or not out.is_terminal,
        )
        self._task = self._progress.add_task("", total=total, count="", rate="")

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
        if self._lines:
            self._say()

    def advance(self, failed: bool = False) -> None:
        self._failed += failed
        self.reach(self._done + (not failed), self._total)

    def reach(self, done: int, total: int) -> None:
        """Set the number done and the total, which may have changed."""
        self._done, self._total = done, total
        self._progress.update(
            self._task,
            completed=done + self._failed,
            total=total,
            count=f"{done:,}/{total:,}{self._failures()}",
            rate=self._rate(),
        )
        if self._lines and time.monotonic() - self._said > SAY_EVERY:
            self._say(self._time_left())

    def tick(self) -> None:
        """Say that work goes on although nothing has ended for long."""
        if self._lines and time.monotonic() - self._said > AT_LEAST_EVERY:
            self._say(self._time_left())

    def _failures(self) -> str:
        return f", {self._failed:,} failed" if self._failed else ""

    def _rate(self) -> str:
        return rate(self._done / max(time.monotonic() - self._started, 1e-3), self._unit)

    def _time_left(self) -> str:
        ended, took = self._done + self._failed, time.monotonic() - self._started
        if not ended:
            return f", under way for {duration(took)}"
        return f", {duration((self._total - ended) * took / ended)} left"

    def _say(self, time_left: str = "") -> None:
        self._said = time.monotonic()
        reached = f"{self._verb} {self._done:,} of {self._total:,} {self._unit}"
        self._out.print(f"{reached}{self._failures()}, {self._rate()}{time_left}")


class Waiting:
    """A bar for work that is usually instant: it appears after PATIENCE seconds."""

    def __init__(self, out: Console, doing: str, unit: str, done: str = "played") -> None:
        self._out, self._doing, self._unit, self._done = out, doing, unit, f"{doing}: {done}"
        self._started = time.monotonic()
        self._bar: Bar | None = None

    def reach(self, done: int, total: int) -> None:
        """Set the number done and the total, which may have changed."""
        if self._bar is None and time.monotonic() - self._started > PATIENCE:
            self._bar = Bar(self._out, total, doing=self._doing, done=self._done, unit=self._unit)
            self._bar.__enter__()
        if self._bar is not None:
            self._bar.reach(done, total)

    def __enter__(self) -> Waiting:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.__exit__()
