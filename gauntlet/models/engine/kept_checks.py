"""Results of equivalence checks on a CPU, kept between processes in the user's cache folder.

What was found is found again only by the same weights, settings, dtype, path and code on the same
processor. The number of threads is not part of it: it moves the last bits of a difference, and a
text's path must not depend on it. On a GPU a check is cheaper than reading all weights.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import os
import platform
import tempfile
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Protocol

import torch
import transformers
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from gauntlet.models.engine.files import user_cache
from gauntlet.models.engine.memory import is_offloaded


class Differences(Protocol):
    """The differences found, by the length of the class."""

    def get(self, end: int) -> float | None: ...

    def put(self, end: int, difference: float) -> None: ...


class Nothing:
    """Keeps no differences."""

    def get(self, end: int) -> float | None:
        return None

    def put(self, end: int, difference: float) -> None:
        pass


class KeptDifferences:
    """The differences of one path of one network, in a file. A damaged file counts as empty, and
    one that cannot be written is no error."""

    def __init__(self, network: Any, path: str) -> None:
        """path: names the fast path and its settings."""
        self._network, self._path = network, path

    def get(self, end: int) -> float | None:
        return self._read().get(str(end))

    def put(self, end: int, difference: float) -> None:
        if not math.isfinite(difference):
            return
        kept = {**self._read(), str(end): difference}
        file = self._file
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            # Other processes may write the same file at the same time: each has its own partial.
            descriptor, partial = tempfile.mkstemp(dir=file.parent, prefix=".")
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(json.dumps(kept))
            os.replace(partial, file)

    def _read(self) -> dict[str, float]:
        try:
            kept = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        sound = isinstance(kept, dict) and all(
            type(value) is float and math.isfinite(value) for value in kept.values()
        )
        return kept if sound else {}

    @property
    def _file(self) -> Path:
        # The attention may be replaced after loading, so its part is not cached.
        facts = (self._fixed, attention_code(self._network), self._path)
        return kept_folder() / f"{hashlib.sha256(repr(facts).encode()).hexdigest()}.json"

    @cached_property
    def _fixed(self) -> tuple[str, ...]:
        network = self._network
        return (
            weights_hash(network),
            network.config.to_json_string(),
            str(network.dtype),
            code_hash(),
            *(torch.__version__, transformers.__version__),
            *(platform.machine(), torch.backends.cpu.get_cpu_capability(), processor()),
        )


def differences(network: Any, path: str, alone: bool) -> Differences:
    """What was kept about a path of a network.

    alone: whether this process runs the network without others, who would have to agree.
    """
    keeps = alone and network.device.type == "cpu" and not is_offloaded(network)
    return KeptDifferences(network, path) if keeps else Nothing()


def kept_folder() -> Path:
    """Where the results are."""
    return user_cache() / "equivalence"


def weights_hash(network: Any) -> str:
    """SHA-256 over names, shapes and bytes of all weights as they are in memory."""
    digest = hashlib.sha256()
    for name, weight in (*network.named_parameters(), *network.named_buffers()):
        digest.update(f"{name} {tuple(weight.shape)} {weight.dtype}\n".encode())
        digest.update(weight.detach().contiguous().view(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


@cache
def code_hash() -> str:
    """SHA-256 over this engine's source files."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.name.encode() + b"\n" + file.read_bytes())
    return digest.hexdigest()


def attention_code(network: Any) -> str:
    """The attention that the network's own pass uses: its name and its source, if registered."""
    name = str(network.config._attn_implementation)
    if name not in ALL_ATTENTION_FUNCTIONS:
        return name
    try:
        return name + inspect.getsource(ALL_ATTENTION_FUNCTIONS[name])
    except (OSError, TypeError):
        return name + repr(ALL_ATTENTION_FUNCTIONS[name])


@cache
def processor() -> str:
    """The processor's model."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith("model name")), platform.processor())
