"""Progress display in the terminal that started the run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from gauntlet.common.terminal import duration, rate, short
from gauntlet.pipeline.log.live import Outlook

SAY_EVERY, AT_LEAST_EVERY = 10.0, 60.0
"""Seconds between progress lines if the output is not a terminal: at least, and while nothing
ends."""

PATIENCE = 2.0
"""Seconds before `Waiting` shows a bar."""


class Bar:
    """A progress bar with matches per second and time left; plain lines if not on a terminal.

    quiet: print nothing, because a person plays in this terminal. doing, done: the verb. unit: what
    is counted. total: how many of it, which may change. before: what is done before the first of
    them. outlook: given the seconds so far, how far models are, by decisions; None: unknown.
    """

    def __init__(
        self,
        out: Console,
        total: int,
        quiet: bool = False,
        doing: str = "playing",
        done: str = "played",
        unit: str = "matches",
        before: str = "",
        outlook: Callable[[float], Outlook | None] = lambda seconds: None,
    ) -> None:
        self._out, self.total, self._verb, self._unit = out, total, done, unit
        self._before, self._outlook = before, outlook
        self._done = self._failed = 0
        self._lines = not (quiet or out.is_terminal)
        self._started = self._said = time.monotonic()
        self._progress = Progress(
            TextColumn(doing),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[count]}"),
            TextColumn("{task.fields[rate]}"),
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
        self.reach(self._done + (not failed), self.total)

    def reach(self, done: int, total: int) -> None:
        """Set the number done and the total, which may have changed."""
        self._done, self.total = done, total
        self._progress.update(
            self._task,
            completed=done + self._failed,
            total=total,
            count=f"{done:,}/{total:,}{self._failures()}",
            rate=self._pace(),
        )
        if self._lines and time.monotonic() - self._said > SAY_EVERY:
            self._say(self._pace())

    def tick(self) -> None:
        """Say that work goes on although nothing has ended for long."""
        if not self._done + self._failed:
            self._progress.update(self._task, rate=self._pace())
        if self._lines and time.monotonic() - self._said > AT_LEAST_EVERY:
            self._say(self._pace())

    def _failures(self) -> str:
        return f", {self._failed:,} failed" if self._failed else ""

    @property
    def _seconds(self) -> float:
        return max(time.monotonic() - self._started, 1e-3)

    def _rate(self) -> str:
        return rate(self._done / self._seconds, self._unit)

    def _under_way(self) -> str:
        return f"under way for {duration(self._seconds)}"

    def _pace(self) -> str:
        """The rate and the time left: of models by their decisions, else by what has ended."""
        ended = self._done + self._failed
        if found := self._outlook(self._seconds):
            known = math.isfinite(found.seconds_left)
            left = f"{duration(found.seconds_left)} left" if known else self._under_way()
            return (
                f"{found.decisions:,} of about {found.expected:,} decisions, "
                f"{short(found.tokens)} tokens, {left}"
            )
        if not ended:
            return f"{self._before or self._rate()}, {self._under_way()}"
        rest = (self.total - ended) * self._seconds / ended
        return f"{self._rate()}, {duration(rest)} left"

    def _say(self, pace: str = "") -> None:
        self._said = time.monotonic()
        reached = f"{self._verb} {self._done:,} of {self.total:,} {self._unit}"
        self._out.print(f"{reached}{self._failures()}, {pace or self._rate()}", soft_wrap=True)


class Waiting:
    """A bar for work that is usually instant: it appears after PATIENCE seconds."""

    def __init__(self, out: Console, doing: str, unit: str, done: str = "played") -> None:
        self._out, self._doing, self._unit, self._done = out, doing, unit, f"{doing}: {done}"
        self._started = time.monotonic()
        self._reached = 0
        self._bar: Bar | None = None

    def reach(self, done: int, total: int) -> None:
        """Set the number done and the total, which may have changed. If fewer are done than
        before, other work has begun, with a bar and a clock of its own."""
        if done < self._reached:
            self.__exit__()
            self._started, self._bar = time.monotonic(), None
        self._reached = done
        if self._bar is None and total and time.monotonic() - self._started > PATIENCE:
            self._bar = Bar(self._out, total, doing=self._doing, done=self._done, unit=self._unit)
            self._bar.__enter__()
        if self._bar is not None:
            self._bar.reach(done, total)

    def __enter__(self) -> Waiting:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.__exit__()
