"""The log of a sweep: one JSON line a finished match, appended, synced, never rewritten.

    <output_dir>/sweep.json              seed and schema; an output_dir belongs to one of each
    <output_dir>/lock                    held by the one process that writes
    <output_dir>/cells/<cell>.json       what the cell is: labels, identity, baseline
    <output_dir>/records/<cell>.jsonl    its finished matches
    <output_dir>/set_aside.jsonl         matches that failed three times, with their errors
    <output_dir>/runs.jsonl              who wrote when, with which versions, on which machine

Everything else that a run leaves is a view of these files.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from common.disk import DISK, Disk, append, mend, write_atomically
from common.errors import UserError
from pipeline.log.events import event
from pipeline.log.outcomes import WINS, Measures, Outcome, Outcomes, outcome
from pipeline.plan.cells import SCHEMA, Cell, Task

SYNC_SECONDS = 0.25
"""How much play, at most, a power cut can take back."""


class Log:
    """The records of one output_dir, open for appending by this process alone."""

    def __init__(
        self,
        folder: Path,
        seed: int,
        disk: Disk = DISK,
        clock: Callable[[], float] = time.monotonic,
        measures: Measures = WINS,
    ) -> None:
        """Takes the lock, mends a torn end, reads what is there. Raises UserError."""
        self.folder, self._measures = folder, measures
        self.notes: list[str] = []
        self.outcomes: dict[str, Outcomes] = {}
        self._disk, self._clock = disk, clock
        with self._writing():
            disk.make(folder / "records")
            disk.make(folder / "cells")
            self._lock = _locked(folder, disk)
            _claim(folder, seed, disk)
            for path in disk.logs(folder):
                for _ in mend(disk, path):
                    pass
            paths = disk.logs(folder / "records")
            self._files = {path.stem: _File(path, disk) for path in paths}
            for file in self._files.values():
                self._read(file)
            for named in (folder, folder / "records"):  # a killed run may not have come to that
                disk.sync_folder(named)
        self._synced = clock()

    def describe_cell(self, cell: Cell, about: Mapping[str, Any]) -> None:
        """Writes what the cell is, beside its records. Raises UserError."""
        data = {**about, "players": [player.name for player in cell.players]}
        text = json.dumps({**data, "identity": cell.identity}, indent=1, default=str)
        with self._writing():
            write_atomically(self.folder / "cells" / f"{cell.stem}.json", text, self._disk)

    def outcomes_of(self, key: str) -> Outcomes:
        """What the log holds of the cell with this key."""
        return self.outcomes.setdefault(key, Outcomes(key))

    def has(self, task: Task) -> bool:
        return self.outcomes_of(task.cell).has(task.deal, task.rotation)

    def append(self, cell: Cell, record: dict[str, Any]) -> Outcome:
        """Adds a finished match. It is safe after the next sync, at most SYNC_SECONDS later."""
        stem = cell.stem
        if stem not in self._files:
            self._files[stem] = _File(self.folder / "records" / f"{stem}.jsonl", self._disk)
        self._files[stem].add(record)
        ended = outcome(record, self._measures)
        self.outcomes_of(ended.cell).add(ended)
        if self._clock() - self._synced > SYNC_SECONDS:
            self.sync()
        return ended

    def append_line(self, name: str, data: Mapping[str, Any]) -> None:
        """Adds a line to one of the small logs beside the records; it is safe at once. Raises
        UserError."""
        line = orjson.dumps(data, option=orjson.OPT_APPEND_NEWLINE)
        with self._writing():
            append(self._disk, self.folder / f"{name}.jsonl", line)

    def sync(self) -> None:
        """Brings every appended match to the disk. Raises UserError; what was safe stays safe."""
        with self._writing():
            for file in self._files.values():
                file.sync()
        self._synced = self._clock()

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        """Lets go of the lock. What was not synced is not written: a failed disk stays failed."""
        self._disk.close(self._lock)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Says what a failing disk means for the user."""
        try:
            yield
        except OSError as error:
            event("flush error", logging.ERROR, error=str(error))
            raise UserError(
                f"{self.folder} cannot be written: {error.strerror or error}; every match up to "
                "the last sync is safe, run the same command again to go on"
            ) from error

    def _read(self, file: _File) -> None:
        for record in file.read(self.notes):
            file.statics.update(record.get("statics", ()))
            file.prepared |= "preparation" in record
            self.outcomes_of(record["cell"]).add(outcome(record, self._measures))


class _File:
    """One cell's records: the lines not yet written, and what is there and need not come again:
    the statics, and what the players asked in preparation."""

    def __init__(self, path: Path, disk: Disk) -> None:
        self.path, self._disk = path, disk
        self.statics: set[str] = set()
        self.prepared = False
        self._lines: list[bytes] = []

    def add(self, record: dict[str, Any]) -> None:
        new = {name: text for name, text in record["statics"].items() if name not in self.statics}
        self.statics.update(new)
        line = {**record, "statics": new}
        if self.prepared:
            line.pop("preparation", None)
        self.prepared |= "preparation" in record
        self._lines.append(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))

    def sync(self) -> None:
        if self._lines:
            append(self._disk, self.path, b"".join(self._lines))
            self._lines.clear()

    def read(self, notes: list[str]) -> Iterator[dict[str, Any]]:
        """The records. Cuts off a torn last line; moves damaged lines aside, to be played again."""
        damaged = []
        for line in mend(self._disk, self.path):
            record = _parsed(line)
            if record is None:
                damaged.append(line)
            else:
                yield record
        if damaged:
            append(self._disk, self.path.with_suffix(".damaged"), b"".join(damaged))
            good = b"".join(line for line in self._disk.lines(self.path) if _parsed(line))
            write_atomically(self.path, good, self._disk)
            notes.append(
                f"{self.path}: {len(damaged)} damaged line(s) moved to "
                f"{self.path.with_suffix('.damaged').name}; those matches are played again"
            )


def read_records(folder: Path, stem: str = "*") -> Iterator[dict[str, Any]]:
    """Every whole record of an output_dir, or of one cell's file in it; a file's statics are put
    back into its records."""
    for path in _record_files(folder, stem):
        statics: dict[str, str] = {}
        with path.open("rb") as lines:
            for line in lines:
                record = _parsed(line) if line.endswith(b"\n") else None
                if record is not None:
                    statics.update(record["statics"])
                    yield {**record, "statics": statics}


def read_outcomes(folder: Path, measures: Measures) -> dict[str, Outcomes]:
    """What tables need of every match of an output_dir, by the cell's key. Raises UserError."""
    found: dict[str, Outcomes] = {}
    for ended in (outcome(record, measures) for record in read_records(folder)):
        found.setdefault(ended.cell, Outcomes(ended.cell)).add(ended)
    return found


def read_lines(folder: Path, name: str) -> list[dict[str, Any]]:
    """The lines of one of the small logs beside the records; none where there is no such log."""
    path = folder / f"{name}.jsonl"
    lines = path.read_bytes().splitlines() if path.exists() else []
    return [data for line in lines if (data := _data(line)) is not None]


def _record_files(folder: Path, stem: str = "*") -> list[Path]:
    return sorted((folder / "records").glob(f"{stem}.jsonl"))


def outcome_of(line: bytes, measures: Measures) -> Outcome | None:
    """The outcome of one line of a records file; None for a line that is no record. Raises
    UserError."""
    record = _parsed(line)
    return None if record is None else outcome(record, measures)


def _parsed(line: bytes) -> dict[str, Any] | None:
    """The record, or None for a line that is none."""
    record = _data(line)
    try:
        return record if record is not None and outcome(record) else None
    except (KeyError, TypeError, IndexError):
        return None


def _data(line: bytes) -> dict[str, Any] | None:
    try:
        data = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return data if isinstance(data, dict) else None


def _locked(folder: Path, disk: Disk) -> int:
    path = folder / "lock"
    try:
        descriptor = disk.lock(path)
    except BlockingIOError:
        holder = disk.read(path)[:200].decode(errors="replace").strip()
        raise UserError(
            f"{folder} is in use by {holder}; wait for it, or choose another output_dir"
        ) from None
    disk.truncate(descriptor, 0)
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    holder = f"process {os.getpid()} on {socket.gethostname()} since {since}"
    disk.write(descriptor, holder.encode())
    return descriptor


def _claim(folder: Path, seed: int, disk: Disk) -> None:
    path = folder / "sweep.json"
    mine = {"seed": seed, "schema": SCHEMA}
    if not disk.exists(path):
        write_atomically(path, json.dumps({**mine, "id": uuid.uuid4().hex}), disk)
        return
    try:
        theirs = json.loads(disk.read(path))
    except ValueError as error:
        raise UserError(f"{path} is damaged: {error}; it should read {json.dumps(mine)}") from error
    for key, value in mine.items():
        if theirs.get(key) != value:
            raise UserError(
                f"{folder} holds matches of {key} {theirs.get(key)}, not {value}; "
                f"choose another output_dir or {key}={theirs.get(key)}"
            )
