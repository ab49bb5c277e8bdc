"""The status of a run: <output_dir>/status.json for `python -m pipeline.status`.

The file holds what the log cannot: the number of planned deals, the process that plays, its recent
rate, and when it was last alive. It is replaced as a whole about every two seconds.
"""

from __future__ import annotations

import logging
import math
import os
import socket
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from gauntlet.common.disk import write_atomically
from gauntlet.pipeline.log.events import event, redact
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.metadata_files import to_bytes
from gauntlet.pipeline.log.outcomes import Outcome
from gauntlet.pipeline.plan.cells import Plan, Task

State = Literal["loading", "playing", "judging", "finished", "interrupted", "failed"]
WRITE_SECONDS = 2.0
FEW = 20
"""Matches of a run from which on it says how long the others will take."""
WINDOW_SECONDS = 60.0
"""The rate is taken over the last minute, so it follows workers that join or are lost."""


@dataclass
class CellProgress:
    """A cell's figures so far. Means cover the gap-free deals only: short games end first."""

    rotations: int
    matches: int = 0
    decisions: int = 0
    fallbacks: int = 0
    tokens: int = 0
    device_seconds: float = 0.0
    deals: int = 0
    judged: int = 0
    figure: float = 0.0
    figures: list[float] = field(default_factory=list)
    _open: defaultdict[int, list[float | None]] = field(default_factory=lambda: defaultdict(list))

    def add(self, outcome: Outcome) -> None:
        """Add a finished match."""
        self.matches += 1
        self.decisions += outcome.decisions
        self.fallbacks += outcome.fallbacks
        self.tokens += outcome.all_tokens
        self.device_seconds += outcome.device_seconds
        self._end(outcome.deal, outcome.figure)

    def skip(self, deal: int) -> None:
        """Count a failed match of the deal: it has no result but does not hold up later deals."""
        self._end(deal, None)

    def skip_deals(self, deals: Iterable[int]) -> None:
        """Count deals that the cell does not play."""
        for deal in deals:
            for _ in range(self.rotations):
                self.skip(deal)

    def _end(self, deal: int, result: float | None) -> None:
        self._open[deal].append(result)
        while len(self._open.get(self.deals, ())) >= self.rotations:
            results = [result for result in self._open.pop(self.deals) if result is not None]
            self.deals += 1
            if results:
                self.judged += 1
                mean = sum(results) / len(results)
                self.figure += mean
                self.figures.append(mean)

    @property
    def waiting(self) -> int:
        """Finished matches that the mean leaves out, as an earlier one is missing."""
        return sum(result is not None for each in self._open.values() for result in each)

    @property
    def mean(self) -> float | None:
        """Mean of the cell's measure over the gap-free deals; None before the first."""
        return self.figure / self.judged if self.judged else None


@dataclass(frozen=True)
class Outlook:
    """How far a run of models is, by its finished matches: their decisions and tokens, how many
    decisions all matches are expected to have, and the seconds left; infinite before `FEW` matches
    have ended, as those in progress are not counted."""

    decisions: int
    expected: int
    tokens: int
    seconds_left: float


def _per_match(cells: Sequence[CellProgress]) -> tuple[float, float]:
    """The decisions, and the seconds of models, of one match of these cells."""
    matches = sum(one.matches for one in cells)
    return (
        sum(one.decisions for one in cells) / matches,
        sum(one.device_seconds for one in cells) / matches,
    )


class RunStatus:
    """The status of one run, written while it goes; as a context manager it marks an early end.

    found: what an adaptive sweep has settled, and what is open, in sentences.
    """

    def __init__(
        self,
        folder: Path,
        plan: Plan,
        outcomes: Iterable[Outcome],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path, self.plan, self._clock = Folder(folder).status_file, plan, clock
        self.cells: dict[str, CellProgress] = {}
        self._planned: dict[str, int] = {}
        self._players: dict[str, tuple[str, ...]] = {}
        self.add(plan, outcomes)
        self.state: State = "loading"
        self.stopped: frozenset[str] = frozenset()
        self.workers = 0
        self.error: str | None = None
        self.found: Sequence[str] = ()
        self._played = self._failed = 0
        self._began = self._device_seconds()
        self._started, self._written = time.time(), -WRITE_SECONDS
        self._marks: deque[tuple[float, int]] = deque()

    def add(self, plan: Plan, outcomes: Iterable[Outcome]) -> None:
        """Add the cells of this plan; `outcomes` are already in the log."""
        cells = {cell.key: CellProgress(len(cell.rotations)) for cell in plan.cells}
        self.cells |= cells
        for cell in plan.cells:
            self._players[cell.key] = tuple(player.name for player in cell.players)
        self.follow(plan, range(plan.deals))
        planned = {key: {*plan.deals_of(key)} for key in cells}
        for outcome in outcomes:
            if outcome.deal in planned.get(outcome.cell, ()):
                cells[outcome.cell].add(outcome)

    def follow(self, plan: Plan, new: range) -> None:
        """Take over a plan's numbers of matches. new: the deals that it adds."""
        self._planned |= {cell.key: plan.matches_of(cell) for cell in plan.cells}
        for cell in plan.cells if plan.rounds is not None else ():
            own = {*plan.deals_of(cell.key)}
            self.cells[cell.key].skip_deals(deal for deal in new if deal not in own)

    def __enter__(self) -> RunStatus:
        self.write()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, _: object) -> None:
        if kind is KeyboardInterrupt:
            self.end("interrupted")
        elif kind is not None:
            self.end("failed", f"{error}")
            event("failed", logging.ERROR, error=f"{kind.__name__}: {error}")
        self.write()
        seconds = round(time.time() - self._started, 1)
        event("end", state=self.state, played=self._played, failed=self._failed, seconds=seconds)

    def play(self, workers: int) -> None:
        """Mark the workers as ready."""
        self.state, self.workers = "playing", workers
        self._marks.append((self._clock(), 0))
        event("models loaded", workers=workers, seconds=round(time.time() - self._started, 1))
        self.write()

    def judge(self) -> None:
        """Mark play as over; the tables are being made."""
        self.state = "judging"
        self.write()

    def end(self, state: State, error: str | None = None) -> None:
        """Set how the run ended and, if it failed, why."""
        self.state, self.error = state, redact(error) if error else None

    def summary(self) -> dict[str, Any]:
        """What is planned, and where it runs."""
        keys = ("experiment", "deals", "host", "process")
        data = self._data()
        return {**{key: data[key] for key in keys}, "cells": len(self.plan.cells)}

    def finished(self, outcome: Outcome) -> None:
        self._played += 1
        self.cells[outcome.cell].add(outcome)

    def give_up(self, task: Task, error: str) -> None:
        self._failed += 1
        self.cells[task.cell].skip(task.deal)
        last = error.strip().splitlines()[-1]
        event("match given up", logging.ERROR, match=task.match, cell=task.cell, error=last)

    def tick(self, stopped: Iterable[str]) -> None:
        """Write the file if it is due."""
        if self._clock() - self._written >= WRITE_SECONDS:
            self.stopped = frozenset(stopped)
            self.write()

    @property
    def rate(self) -> float | None:
        """Recent matches per second; None before two writes."""
        if len(self._marks) < 2:
            return None
        (first, before), (last, ended) = self._marks[0], self._marks[-1]
        return (ended - before) / max(last - first, 1e-9)

    def outlook(self, elapsed: float) -> Outlook | None:
        """What is left after `elapsed` seconds of play, each match as long as its cell's others,
        else as those of the same players, else as all of models; None before one of these has
        ended."""
        at_work = self._device_seconds() - self._began
        known = defaultdict(list)
        for key, one in self.cells.items():
            if one.matches:
                known[self._players[key]].append(one)
        if at_work <= 0 or not known:
            return None
        of_players = {players: _per_match(own) for players, own in known.items()}
        of_models = _per_match([one for one in chain(*known.values()) if one.device_seconds])
        expected, seconds = 0.0, 0.0
        for key, one in self.cells.items():
            left = 0 if key in self.stopped else max(0, self._planned[key] - one.matches)
            alike = of_players.get(self._players[key], of_models)
            decisions_each, seconds_each = _per_match([one]) if one.matches else alike
            expected += one.decisions + left * decisions_each
            seconds += left * seconds_each
        decisions, tokens = (
            sum(getattr(one, name) for one in self.cells.values())
            for name in ("decisions", "tokens")
        )
        left_seconds = seconds * elapsed / at_work if self._played >= FEW else math.inf
        return Outlook(decisions, round(expected), tokens, left_seconds)

    def _device_seconds(self) -> float:
        return sum(one.device_seconds for one in self.cells.values())

    def write(self) -> None:
        """Replace the file. A failing disk is only logged here: the match log reports it."""
        self._written = self._clock()
        if self._marks and self.state == "playing":
            self._marks.append((self._written, self._played + self._failed))
            while self._marks[-1][0] - self._marks[1][0] >= WINDOW_SECONDS:
                self._marks.popleft()
        try:
            write_atomically(self._path, to_bytes(self._data(), indent=1))
        except OSError as failure:
            event("status not written", logging.WARNING, error=str(failure))

    def _data(self) -> dict[str, Any]:
        return {
            "state": self.state,
            "started": self._started,
            "updated": time.time(),
            "host": socket.gethostname(),
            "process": os.getpid(),
            "experiment": self.plan.cells[0].experiment,
            "deals": self.plan.deals,
            "cells": self._planned,
            "stopped": sorted(self.stopped),
            "workers": self.workers,
            "played": self._played,
            "failed": self._failed,
            "rate": self.rate,
            "error": self.error,
            "found": [*self.found],
        }
