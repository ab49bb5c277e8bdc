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
"""Of the free memory, for the weights that stay in it."""


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
        """Raises Stopped where a file has changed."""
        for stamp in self.stamps:
            if Stamp.from_file(Path(stamp.file)) != stamp:
                raise Stopped(
                    f"the files of model {self.name!r} changed while its weights were read from "
                    "them; put the old ones back and start the run again, or play the new ones as "
                    "new cells"
                )


SOURCES: weakref.WeakKeyDictionary[Any, Source] = weakref.WeakKeyDictionary()
"""Those of all networks of this process that have modules on the disk."""


def options(place: torch.device, scratch: str) -> dict[str, Any]:
    """How transformers is to load a network so that half of the device's memory stays free."""
    memory: dict[str | int, int] = {"cpu": _share(torch.device("cpu"))}
    if place.type == "cuda":
        memory[place.index or 0] = _share(place)
    return {"device_map": "auto", "max_memory": memory, "offload_folder": scratch}


def _share(place: torch.device) -> int:
    return int(WEIGHTS_SHARE * free_bytes(place))


def register(network: Any, source: Source) -> None:
    """Notes where a network loaded with `options` has its weights. Raises ModelError where memory
    holds nothing of it."""
    if network.device.type == "meta":
        raise ModelError(
            f"model {source.name!r} cannot be offloaded: its embeddings do not fit in memory"
        )
    if is_offloaded(network):
        SOURCES[network] = source


@contextmanager
def turn(network: Any) -> Iterator[None]:
    """Lets one thread at a time run an offloaded network, whose weights come and go. Raises Stopped
    where its files changed meanwhile."""
    source = SOURCES.get(network)
    if source is None:
        yield
        return
    with source.lock:
        yield
    source.check()
