"""A log in one file: packed without what names the machine, and unpacked again."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from gauntlet.common.disk import replacing
from gauntlet.common.errors import UserError
from gauntlet.pipeline.log.folder import Folder

UNREADABLE = (
    *(ValueError, OSError, EOFError, RuntimeError, zlib.error, lzma.LZMAError),
    *(tarfile.TarError, zipfile.BadZipFile, zipfile.LargeZipFile),
)
"""What unpacking a damaged or hostile archive raises; RuntimeError: it is encrypted, or packed by
an unknown method."""
OPENERS: Mapping[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".tgz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
MOST = 64 * 2**30
"""Bytes that an archive may unpack to."""
MOST_TIMES, FLOOR = 300, 2**30
"""Bytes that an archive may unpack to, a byte of its own; FLOOR bytes are always allowed. Logs
have up to 40."""
LONGEST_READ = 2**26
"""Bytes read at once: heads of a hostile archive would fill the memory."""
ENDINGS = re.compile(r"(\.tar)?\.(zip|tar|gz|tgz|bz2|xz)$")
DEPTH = 3
"""Folders below an archive's top in which a run is looked for."""
PACKED = (
    *("sweep.json", "cells/*.json", "records/*.jsonl", "code.jsonl", "accepted.jsonl"),
    *("failed_matches.jsonl", "unrepeatable.jsonl", "rounds.jsonl", "stop.json", "tables.json"),
    *("note.json", "luck/*.json"),
)
"""The log, what its readers need, and corrections for luck, which take long; not runs.jsonl,
status.json, run.log and config.yaml, which name the machine and its folders."""


def pack(folder: Folder, file: Path) -> None:
    """Write a folder's log as a .tar.xz; equal logs give equal bytes. Raises UserError, OSError."""
    if not file.name.endswith(".tar.xz"):
        raise UserError(f"{file}: the archive's name must end in .tar.xz")
    names = [path for pattern in PACKED for path in sorted(folder.path.glob(pattern))]
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as partial, tarfile.open(partial, "w:xz", preset=9) as archive:
        for path in names:
            archive.add(path, path.relative_to(folder.path).as_posix(), filter=_anonymous)


def others(file: Path) -> list[str]:
    """What an archive holds beside what `pack` writes. Raises UserError."""
    try:
        with tarfile.open(file) as archive:
            names = archive.getnames()
    except UNREADABLE as error:
        raise UserError(f"{file} is no archive: {error}") from error
    return [name for name in names if not any(_fits(name, pattern) for pattern in PACKED)]


def _fits(name: str, pattern: str) -> bool:
    """Whether the pattern describes the whole path; its `*` ends at a slash."""
    parts, wanted = PurePosixPath(name).parts, PurePosixPath(pattern).parts
    return len(parts) == len(wanted) and PurePosixPath(name).match(pattern)


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o644
    return entry


def stem(source: Path) -> str:
    """The name of a folder, or of an archive without its endings."""
    return ENDINGS.sub("", source.name) if source.is_file() else source.resolve().name


def unpacked(source: Path, scratch: Path) -> Path:
    """A copy in `scratch` of the run in this folder or archive: plain files and folders only, of a
    bounded size, as what follows a link could change files elsewhere. Raises UserError if there is
    no run or anything else."""
    try:
        if source.is_dir():
            for path in source.rglob("*"):
                _refuse_unless(path.is_dir() or path.is_file(), path.is_symlink(), path)
            shutil.copytree(source, scratch)
        elif source.suffix == ".zip":
            _unpack_zip(source, scratch)
        else:
            _unpack_tar(source, scratch)
    except UNREADABLE as error:
        raise UserError(f"{source} is no folder or archive: {error}") from error
    found = min(scratch.rglob("sweep.json"), key=lambda file: len(file.parts), default=None)
    if found is None or len(found.relative_to(scratch).parts) > DEPTH:
        raise UserError(f"{source} holds no run: it has no sweep.json")
    return found.parent


def _unpack_zip(source: Path, scratch: Path) -> None:
    with zipfile.ZipFile(source) as archive:
        members = archive.infolist()
        for member in members:
            kind = stat.S_IFMT(member.external_attr >> 16)
            plain = kind in (0, stat.S_IFREG, stat.S_IFDIR)
            _refuse_unless(plain, stat.S_ISLNK(kind), f"{member.filename} in {source}")
        _refuse_larger(sum(member.file_size for member in members), source)
        archive.extractall(scratch)  # reads no more than these sizes, and stays in the folder


def _unpack_tar(source: Path, scratch: Path) -> None:
    opened = OPENERS.get(source.suffix, open)(source, "rb")
    with opened, _Bounded(opened) as stream, tarfile.open(fileobj=stream, mode="r:") as archive:
        size = 0
        for member in archive:
            plain, linked = member.isfile() or member.isdir(), member.issym() or member.islnk()
            _refuse_unless(plain, linked, f"{member.name} in {source}")
            size += tarfile.BLOCKSIZE + member.size
            _refuse_larger(size, source)
            archive.extract(member, scratch, filter="data")


class _Bounded(io.BufferedReader):
    """A stream of which a little is read at a time: heads of a hostile archive are endless."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or not 0 <= size <= LONGEST_READ:
            raise tarfile.ReadError(f"a head of {size} bytes")
        return super().read(size)


def _refuse_unless(plain: bool, linked: bool, what: object) -> None:
    """Raises UserError for a link, a device, a pipe."""
    if linked or not plain:
        kind = "a link, which could lead elsewhere" if linked else "no file or folder"
        raise UserError(f"{what} is {kind}; put a plain file in its place")


def _refuse_larger(size: int, source: Path) -> None:
    """Raises UserError if an archive unpacks to more than a log would."""
    most = min(MOST, max(FLOOR, MOST_TIMES * source.stat().st_size))
    if size > most:
        raise UserError(
            f"{source} unpacks to {size / 1e9:,.1f} GB or more, and {most / 1e9:,.1f} are allowed; "
            "unpack it yourself if you trust it, and name the folder"
        )
