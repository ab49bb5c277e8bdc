"""Networks larger than memory: what does not fit stays in the checkpoint's files.

Accelerate keeps as many modules in memory as fit and reads the others for every pass. Scores keep
their bits.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Any

import torch

from gauntlet.common.errors import ModelError, Stopped
from gauntlet.models.engine.files import Stamp
from gauntlet.models.engine.memory import free_bytes, is_offloaded

WEIGHTS_SHARE = 0.5
"""The share of the free memory that holds weights."""


@dataclass
class Source:
    """The files that an offloaded network reads its weights from, as they were at loading.

    scratch: where accelerate writes weights that it has to convert; it goes with the network.
    """

    name: str
    stamps: tuple[Stamp, ...]
    scratch: str = field(default_factory=tempfile.mkdtemp)
    lock: RLock = field(default_factory=RLock)

    def __post_init__(self) -> None:
        weakref.finalize(self, shutil.rmtree, self.scratch, ignore_errors=True)

    def check(self) -> None:
        """Raises Stopped if a file has changed or is gone."""
        if not all(map(_is_unchanged, self.stamps)):
            raise Stopped(
                f"the files of model {self.name!r} changed while its weights were read from them; "
                "put the old ones back and start the run again, or play the new ones as new cells"
            )


def _is_unchanged(stamp: Stamp) -> bool:
    try:
        return Stamp.from_file(Path(stamp.file)) == stamp
    except FileNotFoundError:
        return False


SOURCES: weakref.WeakKeyDictionary[Any, Source] = weakref.WeakKeyDictionary()
"""The files of each offloaded network in this process."""


def options(place: torch.device, scratch: str) -> dict[str, Any]:
    """Options of transformers that leave half of the device's free memory free."""
    memory: dict[str | int, int] = {"cpu": _share(torch.device("cpu"))}
    if place.type == "cuda":
        memory[place.index or 0] = _share(place)
    return {"device_map": "auto", "max_memory": memory, "offload_folder": scratch}


def _share(place: torch.device) -> int:
    return int(WEIGHTS_SHARE * free_bytes(place))


def register(network: Any, source: Source) -> None:
    """Record the files of a network loaded with `options`. Raises ModelError if no part of it fits
    in memory."""
    if network.device.type == "meta":
        raise ModelError(
            f"model {source.name!r} cannot be offloaded: its embeddings do not fit in memory"
        )
    if is_offloaded(network):
        SOURCES[network] = source


@contextmanager
def turn(network: Any) -> Iterator[None]:
    """Let one thread at a time run an offloaded network, whose weights come and go. Raises Stopped
    if its files changed meanwhile."""
    source = SOURCES.get(network)
    if source is None:
        yield
        return
    with source.lock:
        yield
    source.check()
