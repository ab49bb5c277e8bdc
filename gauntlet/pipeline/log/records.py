"""The write side of a sweep's log: one JSON line per finished match, appended and synced, never
rewritten. `folder.py` describes the files of an output folder; the writing process holds `lock`."""

from __future__ import annotations

import logging
import os
import socket
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gauntlet.common.disk import DISK, Disk, append, write_atomically
from gauntlet.common.errors import UserError
from gauntlet.pipeline.config.read import Seed
from gauntlet.pipeline.log.events import event
from gauntlet.pipeline.log.folder import Folder, check_schema, key_of
from gauntlet.pipeline.log.lines import LINES, Lines, line
from gauntlet.pipeline.log.metadata_files import (
    LOGS,
    CellDescription,
    Claim,
    parse_line,
    parse_object,
    to_bytes,
)
from gauntlet.pipeline.log.outcomes import Outcome, Outcomes, outcome
from gauntlet.pipeline.log.reading import Reader
from gauntlet.pipeline.log.recovery import repair_lines
from gauntlet.pipeline.log.results import CellInfo, measures
from gauntlet.pipeline.log.schema import MatchRecord, Preparation, Record
from gauntlet.pipeline.plan.cells import SCHEMA, Cell, Task

SYNC_SECONDS = 0.25
"""Most play time that a power failure can lose."""


class Log:
    """The records of one output_dir, which this process alone appends to."""

    def __init__(
        self,
        folder: Path,
        seed: Seed,
        disk: Disk = DISK,
        clock: Callable[[], float] = time.monotonic,
        kinds: Lines = LINES,
        infos: Sequence[CellInfo] = (),
    ) -> None:
        """Take the lock, move damaged lines aside and read the log. Records files of cells that are
        neither described in the folder nor in `infos` are left alone. Raises UserError.

        infos: the cells to be played.
        """
        self.folder, self._measures = folder, measures(infos)
        self.notes: list[str] = []
        self.outcomes: dict[str, Outcomes] = {}
        self._place = Folder(folder, kinds)
        self._disk, self._clock = disk, clock
        records = self._place.records_folder
        with self._writing():
            disk.make(records)
            disk.make(self._place.cells_folder)
            self._lock = _locked(folder, disk)
            try:
                self._open(seed, kinds, {about.stem for about in infos})
                for named in (folder, records):  # a killed run may not have synced them
                    disk.sync_folder(named)
            except BaseException:
                disk.close(self._lock)
                raise
        self._synced = clock()

    def describe_cell(self, cell: Cell, about: Mapping[str, Any]) -> None:
        """Write the cell's description; tables list cells in the order of their descriptions.
        Controls from earlier runs are kept. Raises UserError."""
        data = {**about, "players": [player.name for player in cell.players]}
        data["controls"] = {**self._controls(cell.stem), **about["controls"]}
        data["described"] = time.time_ns()
        text = to_bytes({**data, "identity": cell.identity}, indent=1, default=str)
        with self._writing():
            write_atomically(self._place.cell_file(cell.stem), text, self._disk)

    def outcomes_of(self, key: str) -> Outcomes:
        """The logged outcomes of the cell with this key."""
        return self.outcomes.setdefault(key, Outcomes(key))

    def has(self, task: Task) -> bool:
        return self.outcomes_of(task.cell).has(task.deal, task.rotation)

    def append(self, cell: Cell, record: MatchRecord) -> Outcome:
        """Append a finished match. It is durable after the next sync, at most SYNC_SECONDS
        later."""
        stem = cell.stem
        if stem not in self._files:
            path = self._place.records_file(stem)
            self._files[stem] = _File(path, self._disk)
        self._files[stem].add(record)
        result = outcome(record, self._measures)
        self.outcomes_of(result.cell).add(result)
        if self._clock() - self._synced > SYNC_SECONDS:
            self.sync()
        return result

    def append_line(self, name: str, data: Mapping[str, Any]) -> None:
        """Append a line to one of the small logs, durable on return. Raises UserError."""
        with self._writing():
            append(self._disk, self._place.lines_file(name), line(data))

    def sync(self) -> None:
        """Flush all appended matches to disk. Raises UserError; what was synced before stays
        safe."""
        with self._writing():
            for file in self._files.values():
                file.sync()
        self._synced = self._clock()

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        """Release the lock without flushing: after a disk error nothing more is written."""
        self._disk.close(self._lock)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Turn an OSError into a UserError that says what is safe."""
        try:
            yield
        except OSError as error:
            event("flush error", logging.ERROR, error=str(error))
            named = error.filename or self.folder
            hint = "choose another output_dir"
            if any(self.outcomes.values()):
                hint = (
                    "every match up to the last sync is safe, run the same command again to go on"
                )
            raise UserError(
                f"{named} cannot be written: {error.strerror or error}; {hint}"
            ) from error

    def _open(self, seed: Seed, kinds: Lines, planned: Collection[str]) -> None:
        """Read the whole log. planned: the cells to be played, by file stem."""
        _claim(self._place, seed, self._disk)
        self._files = {
            path.stem: _File(path, self._disk) for path in self._records_files(planned, seed)
        }
        for stem, file in self._files.items():
            reader = Reader(kinds, key_of(stem), seed)
            for record in file.read(reader, self.notes):
                if isinstance(record, MatchRecord):
                    self.outcomes_of(record.cell).add(outcome(record, self._measures))

    def _controls(self, stem: str) -> Mapping[str, str]:
        """Those in the cell's description, if there is one."""
        try:
            text = self._disk.read(self._place.cell_file(stem))
            return CellInfo.read(parse_object(text, CellDescription)).controls
        except (OSError, ValueError):
            return {}

    def _records_files(self, planned: Collection[str], seed: Seed) -> Iterator[Path]:
        """Repair the small logs, then yield the log's records files; note foreign files."""
        place, disk, foreign = self._place, self._disk, list[str]()
        for path in disk.logs(self.folder):
            if path.stem in LOGS:
                for _ in repair_lines(disk, path, partial(parse_line, path.stem), self.notes):
                    pass
            else:
                foreign.append(path.name)
        for path in disk.logs(place.records_folder):
            if path.stem in planned or disk.exists(place.cell_file(path.stem)):
                yield path
            else:
                foreign.append(f"{place.records_folder.name}/{path.name}")
        if foreign:
            names = ", ".join(foreign)
            self.notes.append(f"{self.folder}: not part of the log; left unchanged: {names}")


class _File:
    """One cell's records file: lines not yet written, and its shared prompt texts (statics) and
    first preparation exchanges."""

    def __init__(self, path: Path, disk: Disk) -> None:
        self.path, self._disk = path, disk
        self.statics: set[str] = set()
        self.preparation: tuple[Preparation, ...] = ()
        self._lines: list[bytes] = []

    def add(self, record: MatchRecord) -> None:
        new = {name: text for name, text in record.statics.items() if name not in self.statics}
        same = record.preparation == self.preparation
        preparation = () if same else record.preparation
        self._lines.append(line(replace(record, statics=new, preparation=preparation)))
        self._note(record)

    def sync(self) -> None:
        if self._lines:
            append(self._disk, self.path, b"".join(self._lines))
            self._lines.clear()

    def read(self, reader: Reader, notes: list[str]) -> Iterator[Record]:
        """Yield the records; note damaged lines, whose matches are replayed, and lost texts."""
        needed: set[str] = set()
        then = "; those matches are played again"
        for record in repair_lines(self._disk, self.path, reader.record, notes, then):
            self._note(record)
            needed |= record.named
            yield record
        if needed - self.statics:
            notes.append(
                f"{self.path}: texts of its prompts are lost; they come again with the match that "
                "had them, and until then tables leave out whoever shares them"
            )

    def _note(self, record: Record) -> None:
        self.statics.update(record.statics)
        if isinstance(record, MatchRecord):
            self.preparation = self.preparation or record.preparation


@contextmanager
def held(folder: Path, disk: Disk = DISK) -> Iterator[None]:
    """The folder's lock. Raises UserError if a run holds it."""
    lock = _locked(folder, disk)
    try:
        yield
    finally:
        disk.close(lock)


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


def renew_id(place: Folder) -> None:
    """Give a copied folder an id of its own, so that it shares no MLflow runs with the original."""
    claim = parse_object(place.claim.read_bytes(), Claim)
    write_atomically(place.claim, to_bytes({**claim, "id": uuid.uuid4().hex}))


def _claim(place: Folder, seed: Seed, disk: Disk) -> None:
    """Check sweep.json against this seed, or write it for a new log. Raises UserError."""
    claimed = list(seed) if isinstance(seed, tuple) else seed  # as JSON reads it back
    path = place.claim
    mine = to_bytes({"seed": claimed, "schema": SCHEMA, "id": uuid.uuid4().hex})
    if not disk.exists(path):
        if any(disk.exists(place.cell_file(file.stem)) for file in disk.logs(place.records_folder)):
            raise UserError(
                f"{path} is missing, and {place.records_folder} holds matches; if they are of this "
                f"seed, write into it: {mine.decode()}"
            )
        write_atomically(path, mine, disk)
        return
    try:
        theirs = parse_object(disk.read(path), Claim)
    except ValueError as error:
        raise UserError(f"{path} is damaged: {error}; it should read {mine.decode()}") from error
    check_schema(place.path, theirs)
    if theirs["seed"] != claimed:
        raise UserError(
            f"{place.path} holds matches of seed {_seed_text(theirs['seed'])}, not "
            f"{_seed_text(claimed)}; choose another output_dir or seed={_seed_text(theirs['seed'])}"
        )


def _seed_text(seed: Any) -> str:
    return ",".join(map(str, seed)) if isinstance(seed, list) else str(seed)
