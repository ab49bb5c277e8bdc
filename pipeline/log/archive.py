"""A log in one file: packed without what names the machine, and unpacked again."""

from __future__ import annotations

import re
import shutil
import tarfile
import zipfile
import zlib
from fnmatch import fnmatchcase
from pathlib import Path

from gauntlet.common.disk import replacing
from gauntlet.common.errors import UserError
from gauntlet.pipeline.log.folder import Folder

UNREADABLE = (ValueError, OSError, EOFError, tarfile.TarError, zipfile.BadZipFile, zlib.error)
"""What unpacking a damaged or hostile archive raises."""
ENDINGS = re.compile(r"(\.tar)?\.(zip|tar|gz|tgz|bz2|xz)$")
DEPTH = 3
"""Folders below an archive's top in which a run is looked for."""
PACKED = (
    *("sweep.json", "cells/*.json", "records/*.jsonl", "code.jsonl", "accepted.jsonl"),
    *("failed_matches.jsonl", "rounds.jsonl", "stop.json", "tables.json", "note.json"),
    "luck/*.json",
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
    return [name for name in names if not any(fnmatchcase(name, one) for one in PACKED)]


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o644
    return entry


def stem(source: Path) -> str:
    """The name of a folder, or of an archive without its endings."""
    return ENDINGS.sub("", source.name) if source.is_file() else source.resolve().name


def unpacked(source: Path, scratch: Path) -> Path:
    """A copy in `scratch` of the run in this folder or archive. Raises UserError if there is
    none."""
    try:
        if source.is_dir():
            shutil.copytree(source, scratch)
        elif source.suffix == ".zip":  # its members cannot leave the folder
            shutil.unpack_archive(source, scratch)
        else:
            shutil.unpack_archive(source, scratch, filter="data")
    except UNREADABLE as error:
        raise UserError(f"{source} is no folder or archive: {error}") from error
    found = min(scratch.rglob("sweep.json"), key=lambda file: len(file.parts), default=None)
    if found is None or len(found.relative_to(scratch).parts) > DEPTH:
        raise UserError(f"{source} holds no run: it has no sweep.json")
    return found.parent
