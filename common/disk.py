"""Files that are whole or not there.

The few operations that the log needs of a file system are a class, so that a test can bring its
own: one that fails, writes half, and forgets at a power cut what was not synced.

JSON objects that a run reads again notice damage: the last key is a checksum over all bytes before
it. CRC-32 finds every burst of up to 32 bits, and any other change but one in four thousand
million. It is no protection against a deliberate edit.

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
"""More bytes than a seal takes."""


class Disk:
    """The real one. Every method raises OSError as the operating system does."""

    def make(self, folder: Path) -> None:
        """The folder is there, with those above it."""
        folder.mkdir(parents=True, exist_ok=True)

    def lock(self, path: Path) -> int:
        """A descriptor that holds the file's lock; raises BlockingIOError where another has it."""
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
        """The files of JSON lines in a folder, by name."""
        return sorted(folder.glob("*.jsonl"))

    def read(self, path: Path) -> bytes:
        return path.read_bytes()

    def lines(self, path: Path) -> Iterator[bytes]:
        """The file line by line, so that it may be larger than memory."""
        with path.open("rb") as file:
            yield from file

    def open(self, path: Path) -> int:
        """A descriptor to append with; makes the file where there is none."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def size(self, descriptor: int) -> int:
        return os.fstat(descriptor).st_size

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        """Appends some of the bytes, at least one. Returns how many."""
        return os.write(descriptor, data)

    def truncate(self, descriptor: int, size: int) -> None:
        os.ftruncate(descriptor, size)

    def sync(self, descriptor: int) -> None:
        """Returns when the file's content survives a power cut; its name is `sync_folder`'s."""
        os.fsync(descriptor)

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    def replace(self, partial: Path, path: Path) -> None:
        """Gives the first file the second's name, at once and whole."""
        partial.replace(path)

    def remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def sync_folder(self, folder: Path) -> None:
        """Returns when the names in the folder survive a power cut."""
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


DISK = Disk()


def append(disk: Disk, path: Path, lines: bytes) -> None:
    """Adds whole lines to a file: returns when a power cut cannot take them back.

    Raises OSError, and then has taken back what it wrote, as far as the disk lets it.
    """
    descriptor = disk.open(path)
    try:
        safe = disk.size(descriptor)
        try:
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
    """Writes on until nothing is left."""
    view = memoryview(data)
    while view:
        view = view[disk.write(descriptor, view) :]


def mend(disk: Disk, path: Path) -> Iterator[bytes]:
    """The file's whole lines. Once all are read, a torn last one is cut off, and a power cut
    cannot take back the others."""
    whole = 0
    for line in disk.lines(path):
        if line.endswith(b"\n"):
            whole += len(line)
            yield line
    descriptor = disk.open(path)
    try:
        if whole < disk.size(descriptor):
            disk.truncate(descriptor, whole)
        disk.sync(descriptor)
    finally:
        disk.close(descriptor)


def write_atomically(path: Path, content: str | bytes, disk: Disk = DISK) -> None:
    """The file is there whole or, after a crash, as it was before."""
    partial = path.with_name(f".{path.name}.partial")
    disk.remove(partial)
    descriptor = disk.open(partial)
    try:
        write_all(disk, descriptor, content.encode() if isinstance(content, str) else content)
        disk.sync(descriptor)
    finally:
        disk.close(descriptor)
    disk.replace(partial, path)
    disk.sync_folder(path.parent)


@contextmanager
def replacing(path: Path, disk: Disk = DISK) -> Iterator[Path]:
    """Where to write a file that is too large to be held: it takes the name's place at the end, and
    is gone after an exception. After a crash the name has what it had before."""
    partial = path.with_name(f".{path.name}.partial")
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


def sealed(text: bytes) -> bytes:
    """The object, of at least one key, with its checksum."""
    body = text[: text.rindex(b"}")].rstrip()
    return b'%b,"crc32":"%08x"}' % (body, crc32(body))


def unsealed(text: bytes) -> bytes:
    """The object without its checksum. Raises ValueError where it has none, where the checksum is
    another's, or stands elsewhere."""
    found = SEAL.search(text, max(0, len(text) - LONGEST))
    if found is None:
        if b'"crc32":' in text:
            raise ValueError("its checksum is not where it belongs")
        raise ValueError("it has no checksum")
    body = text[: found.start()]
    if crc32(body) != int(found[1], 16):
        raise ValueError("its checksum is wrong")
    return body + b"}"
