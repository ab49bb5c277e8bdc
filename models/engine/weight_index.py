"""Where each weight of a network lies in its checkpoint's files, and how it is read from there.

Which tensor of the files becomes which weight is the library's business: names change between its
versions, and families fuse what lies apart, as experts do. So its own rules are asked, for each
name once; a weight that is one tensor of the files is then read straight to its place, and others
are put together by the library's operations.
"""

from __future__ import annotations

import copy
import json
import math
import os
import weakref
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers.conversion_mapping import get_model_conversion_mapping
from transformers.core_model_loading import WeightConverter, WeightRenaming, rename_source_key

from gauntlet.common.errors import ModelError, Stopped

DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
"""What safetensors calls the types of tensors."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A tensor in the files: of which one, from which byte on, of what type and shape."""

    file: int
    start: int
    dtype: torch.dtype
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class Part:
    """A tensor of the files with its name there, and which pattern of a conversion it answers."""

    key: str
    pattern: str
    stored: Stored


@dataclass(frozen=True, slots=True)
class Recipe:
    """What weights are made of: one tensor as it is, or several by the library's conversion.

    name: of the weight, or of the first that the conversion makes.
    """

    name: str
    parts: tuple[Part, ...]
    conversion: Any = None

    def converted(self, config: Any, tensors: Sequence[Tensor]) -> dict[str, Tensor]:
        """The weights by name, from the tensors of the parts in the network's type."""
        conversion = copy.deepcopy(self.conversion)
        for part, tensor in zip(self.parts, tensors, strict=True):
            conversion.add_tensor(self.name, part.key, part.pattern, tensor)
        made = conversion.convert(self.name, config=config)
        return {key: one[0] if isinstance(one, list) else one for key, one in made.items()}


class Files:
    """The safetensors files of a checkpoint, held open, and what they hold.

    They are read for as long as the network runs, so every reading ends with a look whether they
    are still those that were opened.
    """

    def __init__(self, files: Sequence[Path], name: str) -> None:
        """name: how the user called the checkpoint. Raises ModelError."""
        self.name = name
        self._open = [os.open(file, os.O_RDONLY) for file in files]
        weakref.finalize(self, _close, self._open)
        self._stamps = [_stamp(file) for file in self._open]
        self.tensors = {
            key: stored
            for number, file in enumerate(files)
            for key, stored in _header(number, file, name)
        }

    def read(self, stored: Stored, into: Tensor) -> None:
        """Fills `into`, of the same type and contiguous on the CPU. Raises ModelError."""
        raw: Any = into.detach().reshape(-1).view(torch.uint8).numpy()
        view = memoryview(raw)
        done = 0
        while done < len(view):
            try:
                got = os.preadv(self._open[stored.file], [view[done:]], stored.start + done)
            except OSError as error:
                why = error.strerror or str(error)
                raise ModelError(
                    f"model {self.name!r}: reading its weights failed: {why}"
                ) from error
            if not got:
                raise Stopped(f"model {self.name!r}: a file of its weights has become shorter")
            done += got

    def check(self) -> None:
        """Raises Stopped where a file was written to since it was opened."""
        if [_stamp(file) for file in self._open] != self._stamps:
            raise Stopped(
                f"the files of model {self.name!r} changed while its layers were read from them; "
                "put the old ones back and start the run again, or play the new ones as cells of "
                "their own"
            )

    def expect(self, stored: Sequence[Stored]) -> None:
        """Tells the system that these tensors are read next, so that it may begin."""
        self._advise(stored, os.POSIX_FADV_WILLNEED)

    def forget(self, stored: Sequence[Stored]) -> None:
        """Asks the system to drop what it keeps of these tensors, so that a reading is one from
        the disk."""
        self._advise(stored, os.POSIX_FADV_DONTNEED)

    def _advise(self, stored: Sequence[Stored], advice: int) -> None:
        for one in stored:
            os.posix_fadvise(self._open[one.file], one.start, one.bytes, advice)


def recipes(network: Any, tensors: Mapping[str, Stored]) -> list[Recipe]:
    """How the network's weights are made of the files' tensors; those that it does not know are
    left out, as the library does."""
    rules = get_model_conversion_mapping(network)
    renamings = [rule for rule in rules if isinstance(rule, WeightRenaming)]
    converters = [rule for rule in rules if isinstance(rule, WeightConverter)]
    by_pattern = {pattern: rule for rule in converters for pattern in rule.source_patterns}
    known, prefix = network.state_dict(), network.base_model_prefix
    whole: list[Recipe] = []
    parts: defaultdict[str, list[Part]] = defaultdict(list)
    for key in sorted(tensors, key=_natural):
        name, pattern = rename_source_key(key, renamings, converters, prefix, known)
        if name not in known and key in known:
            name, pattern = key, None
        if name not in known:
            continue
        part = Part(key, pattern or key, tensors[key])
        if pattern is None:
            whole.append(Recipe(name, (part,)))
        else:
            parts[name].append(part)
    return whole + [
        Recipe(name, tuple(own), by_pattern[own[0].pattern]) for name, own in parts.items()
    ]


def _natural(key: str) -> list[tuple[int, str]]:
    """Names in the order of the numbers in them, as experts are stacked."""
    return [(int(word), "") if word.isdigit() else (-1, word) for word in key.split(".")]


def _header(number: int, file: Path, name: str) -> Iterator[tuple[str, Stored]]:
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        header = json.loads(stream.read(length))
    for key, entry in header.items():
        if key == "__metadata__":
            continue
        if entry["dtype"] not in DTYPES:
            raise ModelError(
                f"model {name!r}: {key} is stored as {entry['dtype']}, which offload=layers does "
                "not read; set model.offload=none"
            )
        start = 8 + length + entry["data_offsets"][0]
        yield key, Stored(number, start, DTYPES[entry["dtype"]], tuple(entry["shape"]))


def _stamp(file: int) -> tuple[int, int, int]:
    found = os.fstat(file)
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _close(files: Sequence[int]) -> None:
    for file in files:
        os.close(file)
