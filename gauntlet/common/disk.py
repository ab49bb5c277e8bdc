"""Crash-safe files: complete or absent.

The file-system operations that the log needs form a class, so that tests can substitute one that
fails, writes half, or forgets at a power cut what was not synced.

JSON objects that a run reads again detect damage: the last key is a checksum over all bytes before
it. CRC-32 detects every burst of up to 32 bits, and any other change with probability 1 - 2^-32. It
does not protect against deliberate edits.

    {"kind":"match","deal":48,"crc32":"5a0c81f2"}
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zlib import crc32

KEY = "crc32"
SEAL = re.compile(rb',\s*"crc32":\s*"([0-9a-f]{8})"\s*\}\s*\Z')
LONGEST = 64
"""Upper bound on the length of a checksum suffix in bytes."""


class Disk:
    """The real file system. Every method raises OSError as the operating system does."""

    def make(self, folder: Path) -> None:
        """Create the folder and its parents if missing."""
        folder.mkdir(parents=True, exist_ok=True)

    def lock(self, path: Path) -> int:
        """A descriptor that holds the file's lock. Raises BlockingIOError if another process has
        it."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise
        return descriptor

    def exists(self, path: Path) -> bool:
        return path.exists()

    def logs(self, folder: Path) -> list[Path]:
        """The JSON lines files in a folder, sorted by name."""
        return sorted(folder.glob("*.jsonl"))

    def read(self, path: Path) -> bytes:
        return path.read_bytes()

    def lines(self, path: Path) -> Iterator[bytes]:
        """The file line by line, so that it may be larger than memory."""
        with path.open("rb") as file:
            yield from file

    def open(self, path: Path) -> int:
        """A descriptor for appending; creates the file if missing."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def size(self, descriptor: int) -> int:
        return os.fstat(descriptor).st_size

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        """Append some of the bytes, at least one. Returns how many."""
        return os.write(descriptor, data)

    def truncate(self, descriptor: int, size: int) -> None:
        os.ftruncate(descriptor, size)

    def sync(self, descriptor: int) -> None:
        """Make the file's content survive a power cut; for its name use `sync_folder`."""
        os.fsync(descriptor)

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    def replace(self, partial: Path, path: Path) -> None:
        """Rename the first file to the second, atomically."""
        partial.replace(path)

    def remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def sync_folder(self, folder: Path) -> None:
        """Make the names in the folder survive a power cut."""
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


DISK = Disk()


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name this file in an OSError that names none, as that of a full disk or a limit, or that
    names its temporary file."""
    try:
        yield
    except OSError as error:
        unnamed = error.errno is not None and error.filename is None
        if unnamed or str(error.filename) == str(_partial(path)):
            error.filename = str(path)
        raise


def _partial(path: Path) -> Path:
    """The file that is written first and then replaces `path`."""
    return path.with_name(f".{path.name}.partial")


def append(disk: Disk, path: Path, lines: bytes) -> None:
    """Append whole lines to a file; returns once they are durable. Raises OSError, after undoing
    what was written as far as the disk allows."""
    descriptor = disk.open(path)
    try:
        safe = disk.size(descriptor)
        try:
            with naming(path):
                write_all(disk, descriptor, lines)
                disk.sync(descriptor)
            if not safe:
                disk.sync_folder(path.parent)
        except OSError:
            disk.truncate(descriptor, safe)
            raise
    finally:
        disk.close(descriptor)


def write_all(disk: Disk, descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[disk.write(descriptor, view) :]


def recover_lines(disk: Disk, path: Path) -> Iterator[bytes]:
    """Yield the file's complete lines, then cut off a torn last line and sync the file."""
    total = 0
    for line in disk.lines(path):
        if line.endswith(b"\n"):
            total += len(line)
            yield line
    descriptor = disk.open(path)
    try:
        if total < disk.size(descriptor):
            disk.truncate(descriptor, total)
        disk.sync(descriptor)
    finally:
        disk.close(descriptor)


def write_atomically(path: Path, content: str | bytes, disk: Disk = DISK) -> None:
    """Write a file that after a crash is either complete or as it was before. Characters that UTF-8
    lacks, such as those of a folder's name in another encoding, are replaced."""
    data = content.encode(errors="replace") if isinstance(content, str) else content
    partial = _partial(path)
    with naming(path):
        disk.remove(partial)
        descriptor = disk.open(partial)
        try:
            write_all(disk, descriptor, data)
            disk.sync(descriptor)
        finally:
            disk.close(descriptor)
        disk.replace(partial, path)
        disk.sync_folder(path.parent)


@contextmanager
def replacing(path: Path, disk: Disk = DISK) -> Iterator[Path]:
    """A temporary path for a large file, which replaces `path` at the end. It is removed after an
    exception; after a crash `path` is unchanged."""
    partial = _partial(path)
    with naming(path):
        disk.remove(partial)
        try:
            yield partial
            descriptor = disk.open(partial)
            try:
                disk.sync(descriptor)
            finally:
                disk.close(descriptor)
            disk.replace(partial, path)
            disk.sync_folder(path.parent)
        finally:
            disk.remove(partial)


def add_checksum(text: bytes) -> bytes:
    """The object, of at least one key, with its checksum appended."""
    body = text[: text.rindex(b"}")].rstrip()
    return b'%b,"crc32":"%08x"}' % (body, crc32(body))


def strip_checksum(text: bytes) -> bytes:
    """The object without its checksum. Raises ValueError if the checksum is missing, wrong or
    misplaced."""
    match = SEAL.search(text, max(0, len(text) - LONGEST))
    if match is None:
        if b'"crc32":' in text:
            raise ValueError("its checksum is not where it belongs")
        raise ValueError("it has no checksum")
    body = text[: match.start()]
    if crc32(body) != int(match[1], 16):
        raise ValueError("its checksum is wrong")
    return body + b"}"
