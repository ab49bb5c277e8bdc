"""Planted bugs: each is one that a driver or a log could have, and the simulation must find."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from unittest.mock import patch

from gauntlet.common import disk
from gauntlet.common.disk import Disk
from gauntlet.pipeline.log import records, recovery
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.play.driver import Driver
from gauntlet.pipeline.play.prepare import Ready
from gauntlet.pipeline.play.scheduler import Finished
from tests.simulation.disk import SimulatedDisk


@contextmanager
def acknowledged_before_the_sync() -> Iterator[None]:
    def append(disk_: Disk, path: Path, lines: bytes) -> None:
        descriptor = disk_.open(path)
        disk.write_all(disk_, descriptor, lines)
        disk_.close(descriptor)

    with patch.object(records, "append", append):
        yield


@contextmanager
def doubled_reply_accepted() -> Iterator[None]:
    right = Driver._finish

    def ended(self: Driver, result: Finished, alone: bool) -> None:
        if result.task.match not in self._open and result.error is None:
            self.finished(result)
        right(self, result, alone)

    with patch.object(Driver, "_finish", ended):
        yield


@contextmanager
def torn_line_kept() -> Iterator[None]:
    def recover_lines(disk_: Disk, path: Path) -> Iterator[bytes]:
        return (line for line in disk_.lines(path) if line.endswith(b"\n"))

    with patch.object(recovery, "recover_lines", recover_lines):
        yield


@contextmanager
def new_name_not_synced() -> Iterator[None]:
    with patch.object(SimulatedDisk, "sync_folder", lambda self, folder: None):
        yield


@contextmanager
def lost_lease_forgotten() -> Iterator[None]:
    right = Driver._finish

    def ended(self: Driver, result: Finished, alone: bool) -> None:
        if result.error is not None and "lost" in result.error and not alone:
            self._open.pop(result.task.match, None)
        right(self, result, alone)

    with patch.object(Driver, "_finish", ended):
        yield


@contextmanager
def preparation_told_once() -> Iterator[None]:
    right, told = Ready.with_preparation, "told"

    def first_only(self: Ready, record: MatchRecord) -> MatchRecord:
        if told in self.statics:
            return record
        self.statics[told] = ""
        return right(self, record)

    with patch.object(Ready, "with_preparation", first_only):
        yield


@contextmanager
def hanging_worker_left_alone() -> Iterator[None]:
    with patch.object(Driver, "_rouse", lambda self: None):
        yield


BUGS: dict[str, Callable[[], AbstractContextManager[None]]] = {
    bug.__name__: bug
    for bug in (
        acknowledged_before_the_sync,
        doubled_reply_accepted,
        torn_line_kept,
        new_name_not_synced,
        lost_lease_forgotten,
        preparation_told_once,
        hanging_worker_left_alone,
    )
}
