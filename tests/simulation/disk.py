"""A disk in memory that fails, writes half, and loses unsynced data at a power cut.

It is stricter than most: a file's content is safe once the file is synced, its name once its folder
is, and any prefix of unsynced data may survive, with a hole of zeros in it.
"""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gauntlet.common.disk import Disk


class Killed(BaseException):
    """The process is gone, in the middle of its work. Nothing may catch this."""


@dataclass(eq=False)
class _Inode:
    """A file: what a process reads, and what surely survives a power cut."""

    now: bytes = b""
    safe: bytes = b""


Names = dict[Path, _Inode]


@dataclass
class SimulatedDisk(Disk):
    """Controlled by `rng` and the settings below; reports every fault to `say`.

    killed_in: operations until the process dies in the middle of one. room: bytes until the disk is
    full. broken: probability that a sync fails.
    """

    rng: random.Random
    say: Callable[[str], None]
    killed_in: int | None = None
    room: int | None = None
    broken: float = 0.0
    _names: Names = field(default_factory=dict)
    _safe_names: Names = field(default_factory=dict)
    _renamed: list[tuple[Path, Callable[[Names], None]]] = field(default_factory=list)
    _open: list[_Inode] = field(default_factory=list)
    _locked: bool = False

    def restart(self) -> None:
        """The process has ended; the machine keeps running, and its disk works again."""
        self._locked, self.killed_in, self.room, self.broken = False, None, None, 0.0

    def power_cut(self) -> None:
        """The machine has lost power: unsafe data may be gone, or half there."""
        survive = self.rng.randint(0, len(self._renamed))
        for _, change in self._renamed[:survive]:
            change(self._safe_names)
        self._renamed.clear()
        self._names = dict(self._safe_names)
        for path, inode in self._names.items():
            before = len(inode.now)
            inode.now = inode.safe = self._left(inode)
            if len(inode.now) != before:
                self.say(f"power cut: {path.name} had {before} bytes and has {len(inode.now)}")
        self.restart()

    def content(self, folder: Path, name: str) -> dict[str, bytes]:
        """Return the files of a folder with this ending, as a process would read them."""
        return {
            path.stem: inode.now
            for path, inode in sorted(self._names.items())
            if path.parent == folder and path.name.endswith(name)
        }

    def make(self, folder: Path) -> None:
        """Folders are always there."""

    def lock(self, path: Path) -> int:
        if self._locked:
            raise BlockingIOError
        self._locked = True
        return self.open(path)

    def exists(self, path: Path) -> bool:
        return path in self._names

    def logs(self, folder: Path) -> list[Path]:
        return [folder / f"{stem}.jsonl" for stem in self.content(folder, ".jsonl")]

    def read(self, path: Path) -> bytes:
        return self._names[path].now

    def lines(self, path: Path) -> Iterator[bytes]:
        return iter(self.read(path).splitlines(keepends=True))

    def open(self, path: Path) -> int:
        if path not in self._names:
            inode = _Inode()
            self._rename(path, lambda names: names.update({path: inode}))
        self._open.append(self._names[path])
        return len(self._open) - 1

    def size(self, descriptor: int) -> int:
        return len(self._open[descriptor].now)

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        inode, data = self._open[descriptor], bytes(data)
        if self.room == 0:
            self.say("write: the disk is full")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        size = len(data) if self.room is None else min(len(data), self.room)
        if self.rng.random() < 0.2:
            size = self.rng.randint(1, size)
        half = self.rng.randint(0, size)
        if self._dies():
            inode.now += data[:half]
            self.say(f"killed in a write, after {half} of {len(data)} bytes")
            raise Killed
        inode.now += data[:size]
        if self.room is not None:
            self.room -= size
        return size

    def truncate(self, descriptor: int, size: int) -> None:
        self._strike("truncating")
        self._open[descriptor].now = self._open[descriptor].now[:size]

    def sync(self, descriptor: int) -> None:
        self._strike("syncing")
        self._break()
        self._open[descriptor].safe = self._open[descriptor].now

    def close(self, descriptor: int) -> None:
        """Nothing to do; descriptors are never used again."""

    def replace(self, partial: Path, path: Path) -> None:
        self._strike("renaming")
        self._rename(path, lambda names: names.update({path: names.pop(partial)}))

    def remove(self, path: Path) -> None:
        if path in self._names:
            self._rename(path, lambda names: names.pop(path, None))

    def sync_folder(self, folder: Path) -> None:
        self._strike("syncing a folder")
        self._break()
        for where, change in self._renamed:
            if where == folder:
                change(self._safe_names)
        self._renamed = [entry for entry in self._renamed if entry[0] != folder]

    def _rename(self, path: Path, change: Callable[[Names], None]) -> None:
        change(self._names)
        self._renamed.append((path.parent, change))

    def _left(self, inode: _Inode) -> bytes:
        """Return what a power cut leaves of a file."""
        if not inode.now.startswith(inode.safe):
            return self.rng.choice((inode.now, inode.safe))
        tail = bytearray(inode.now[len(inode.safe) :])
        del tail[self.rng.randint(0, len(tail)) :]
        if tail and self.rng.random() < 0.25:
            start = self.rng.randrange(len(tail))
            end = self.rng.randint(start, len(tail))
            tail[start:end] = bytes(end - start)
        return inode.safe + bytes(tail)

    def _strike(self, doing: str) -> None:
        if self._dies():
            self.say(f"killed before {doing}")
            raise Killed

    def _dies(self) -> bool:
        if self.killed_in is None:
            return False
        self.killed_in -= 1
        return self.killed_in < 0

    def _break(self) -> None:
        if self.rng.random() < self.broken:
            self.say("sync: input/output error")
            raise OSError(errno.EIO, os.strerror(errno.EIO))
