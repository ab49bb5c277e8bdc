"""The output folders under a directory, and what has been read of their logs.

All viewers of a folder share what was read, and each line is read once. All functions are
thread-safe; reading a log of millions of matches takes minutes, so pages call them in threads.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import force_setattr

from gauntlet.common.errors import UserError
from gauntlet.common.process import invocation
from gauntlet.common.sanitize import visible
from gauntlet.pipeline.judging import stopping
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.follow import LinePosition
from gauntlet.pipeline.log.outcomes import Outcome, Outcomes
from gauntlet.pipeline.log.reading import whole_records
from gauntlet.pipeline.log.results import CellResults, collect
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.status import Status
from gauntlet.pipeline.viewer.match import MatchView, match_view

MARKS = ("sweep.json", "status.json", "cells", "records")
"""A folder with one of these is a run's."""
SUMMARY = "summary.csv"
"""The table that a finished run leaves; for a simulated run it is the only data."""
DEEP = 3
"""Maximum depth of run folders below the directory."""


@dataclass(frozen=True, slots=True)
class MatchEntry:
    """A match as shown in lists, and the position of its line.

    margin: the smallest lead of a subject's decision over the second best; None if none was scored.
    """

    outcome: Outcome
    margin: float | None
    place: LinePosition

    @property
    def result(self) -> str:
        """The result for the measured seats; "shared" if only some of them won."""
        won = self.outcome.won
        if won in (0.0, 1.0):
            return "won" if won else "drawn" if self.outcome.value == 0 else "lost"
        return "shared"


@dataclass
class Shelf(Status):
    """A folder with everything read of its log.

    fault: why it cannot be read, as a line; "" if it can.
    reading: whether a thread is reading it.
    """

    entries: dict[str, MatchEntry] = field(default_factory=dict)
    outcomes: dict[str, Outcomes] = field(default_factory=dict)
    fault: str = ""
    reading: bool = False
    _statics: dict[Path, dict[str, str]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def simulated(self) -> bool:
        """Whether the run was simulated without recording matches."""
        folder = self.folder.path
        return (folder / SUMMARY).exists() and not any((folder / mark).exists() for mark in MARKS)

    def glance(self) -> None:
        """Read the run's own status, without its log."""
        if not self.reading:
            self.now, self.run = time.time(), self.folder.status or {}

    def refresh(self) -> None:
        """Read what is new; returns at once if another thread is reading."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            self.reading = True
            self.look()
            self.fault = ""
        except (UserError, OSError) as error:
            self.fault = str(error)
        finally:
            self.reading = False
            self._lock.release()

    def results(self) -> list[CellResults]:
        """The current cells as the tables would have them. Raises UserError."""
        abouts = self.folder.sweep_cells() if self.folder.has_cells else []
        log = self.folder
        found = collect(abouts, dict(self.outcomes), log.failed_matches, log.rounds)
        return stopping.cut_at_stop(self.folder.path, found)

    def match(self, match: str) -> MatchView:
        """The match with this id, replayed. Raises UserError."""
        return match_view(self.folder, self.record(match))

    def record(self, match: str) -> MatchRecord:
        """The record of the match with this id. Raises UserError."""
        entry = self.entries.get(match)
        record = self._record(entry) if entry else None
        if record is None or record.match != match:
            raise UserError(
                f"no match {match} can be read in {self.folder.path}: damaged lines are left out, "
                f"`{invocation('pipeline.verify')} DIR` names them"
            )
        return record

    def twins(self, match: str) -> list[tuple[str, str]]:
        """The other matches of this deal that were read: each one's cell and id. Raises
        UserError."""
        cells = {about.key: about for about in self.folder.sweep_cells()}

        def place(outcome: Outcome) -> tuple[str, int, int]:
            return cells[outcome.cell].deal_key, outcome.deal, outcome.rotation

        wanted = place(self.entries[match].outcome)
        others = [one.outcome for one in self.entries.values() if one.outcome.match != match]
        return [(cells[one.cell].name, one.match) for one in others if place(one) == wanted]

    def _record(self, entry: MatchEntry) -> MatchRecord | None:
        """The record with the texts its prompts share; None if its line is gone."""
        place = entry.place
        with place.file.open("rb") as file:
            file.seek(place.start)
            line = file.read(place.size)
        for record in whole_records(self.folder.reader(place.file.stem), [line]):
            statics = self._statics[place.file]
            if isinstance(record, MatchRecord) and statics.keys() >= record.named:
                force_setattr(record, "statics", statics)
                return record
        return None

    def _take(self, record: MatchRecord, place: LinePosition, outcome: Outcome) -> None:
        super()._take(record, place, outcome)
        own = (one for one in record.decisions if one.seat in record.subjects and not one.forced)
        margins = [one.margin for one in own if one.margin is not None]
        self._statics.setdefault(place.file, {}).update(record.statics)
        self.outcomes.setdefault(record.cell, Outcomes(record.cell)).add(outcome)
        self.entries[record.match] = MatchEntry(outcome, min(margins, default=None), place)


class Library:
    """All runs under a directory, named by their folders' paths in it."""

    def __init__(self, outputs: Path) -> None:
        self.outputs = outputs
        self._shelves: dict[str, Shelf] = {}
        self._lock = threading.Lock()

    def names(self) -> list[str]:
        """The names of the runs, most recently written first."""
        return [*self.folders()]

    def folders(self) -> dict[str, Path]:
        """Their folders by name, in the same order."""
        found = [(_last_written(path), path) for path in _runs(self.outputs, DEEP)]
        paths = [path for _, path in sorted(found)[::-1]]
        return {visible(path.relative_to(self.outputs).as_posix()): path for path in paths}

    def shelf(self, name: str) -> Shelf:
        """The run of that name. Raises UserError if there is none."""
        with self._lock:
            if name not in self._shelves:
                folder = self.folders().get(name)
                if folder is None:
                    raise UserError(f"{self.outputs} has no run {name!r}")
                self._shelves[name] = Shelf(Folder(folder))
            return self._shelves[name]


def _runs(folder: Path, deep: int) -> Iterator[Path]:
    """Run folders: this one, or those inside."""
    if any((folder / mark).exists() for mark in (*MARKS, SUMMARY)):
        yield folder
    elif deep and folder.is_dir():
        with os.scandir(folder) as entries:
            within = [entry.path for entry in entries if entry.is_dir() and entry.name[0] != "."]
        for path in within:
            yield from _runs(Path(path), deep - 1)


def _last_written(folder: Path) -> float:
    """When the run last wrote something, in seconds."""
    for name in ("status.json", "sweep.json", SUMMARY, "."):
        try:
            return (folder / name).stat().st_mtime
        except OSError:
            continue
    return 0.0
