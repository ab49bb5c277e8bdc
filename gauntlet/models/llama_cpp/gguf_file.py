"""The header of a GGUF file, and its content hash. Needs no library and reads no weights."""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from gauntlet.common.errors import ModelError
from gauntlet.models.engine.files import GGUF, Stamp, check_fetched, file_hash

VERSIONS = (2, 3)
STRING, ARRAY = 8, 9
NUMBERS = {**dict(enumerate("BbHhIif?")), 10: "Q", 11: "q", 12: "d"}
"""The struct format of each other type of value, by the number of the type."""
LONGEST = 1 << 24
"""Most bytes of a string, and most elements of an array, that a sound header has."""
PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")


@dataclass(frozen=True)
class Header:
    """What a run must know of a GGUF file.

    context: the positions that the model was trained for; 0 if the file does not say.
    template: the chat template; "" if the file has none.
    """

    architecture: str
    context: int
    template: str


def read_header(path: str) -> Header:
    """Raises ModelError if the file is missing, or no GGUF file."""
    return _read_header(Stamp.from_file(checked(path)), path)


def checked(path: str) -> Path:
    """The file. Raises ModelError if there is none."""
    file = Path(path).expanduser()
    if file.is_file():
        return file
    where = "is a folder" if file.is_dir() else "does not exist"
    remedy = "; model=hf plays this folder" if (file / "config.json").is_file() else ""
    raise ModelError(f"model.path {path!r} {where}; it must be a GGUF file{remedy}")


def content_hash(path: str) -> str:
    """SHA-256 of the file; of a file in several parts (NAME-00001-of-00003.gguf) of their hashes.
    Raises ModelError."""
    files = _parts(checked(path))
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        raise ModelError(f"model {path!r} lacks its part {missing[0]}")
    hashes = [file_hash(file, path) for file in files]
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()


def _parts(file: Path) -> list[Path]:
    """All parts of a file in several parts, or only the file."""
    found = PART.search(file.name)
    if found is None:
        return [file]
    start, count = file.name[: found.start()], int(found[2])
    names = (f"{start}-{number:05}-of-{count:05}.gguf" for number in range(1, count + 1))
    return [file.with_name(name) for name in names]


@lru_cache(maxsize=64)
def _read_header(stamp: Stamp, path: str) -> Header:
    check_fetched(Path(stamp.file), path)
    with Path(stamp.file).open("rb") as stream:
        if stream.read(len(GGUF)) != GGUF:
            raise ModelError(f"model.path {path!r} is no GGUF file: it does not start with 'GGUF'")
        try:
            found = _values(stream)
        except (struct.error, ValueError, KeyError) as error:
            why = f"{path!r} is truncated or damaged: its header cannot be read ({error})"
            raise ModelError(f"model.path {why}") from error
    architecture = str(found.get("general.architecture", ""))
    context = found.get(f"{architecture}.context_length", 0)
    template = str(found.get("tokenizer.chat_template", ""))
    return Header(architecture, int(context), template)


def _values(stream: BinaryIO) -> Mapping[str, Any]:
    """The header's values, without arrays."""
    version, _, count = _unpack(stream, "IQQ")
    if version not in VERSIONS:
        raise ValueError(f"version {version}; known are 2 and 3")
    found = {}
    for _ in range(count):
        key = _string(stream)
        (kind,) = _unpack(stream, "I")
        found[key] = _value(stream, kind)
    return found


def _value(stream: BinaryIO, kind: int) -> Any:
    if kind == STRING:
        return _string(stream)
    if kind != ARRAY:
        return _unpack(stream, NUMBERS[kind])[0]
    inner, count = _unpack(stream, "IQ")
    if count > LONGEST:
        raise ValueError(f"an array of {count} elements")
    if inner in (STRING, ARRAY):
        for _ in range(count):
            _value(stream, inner)
    else:
        stream.seek(count * struct.calcsize(NUMBERS[inner]), 1)
    return None


def _string(stream: BinaryIO) -> str:
    (length,) = _unpack(stream, "Q")
    if length > LONGEST:
        raise ValueError(f"a text of {length} bytes")
    return stream.read(length).decode("utf-8", "replace")


def _unpack(stream: BinaryIO, kinds: str) -> tuple[Any, ...]:
    return struct.unpack(f"<{kinds}", stream.read(struct.calcsize(f"<{kinds}")))
