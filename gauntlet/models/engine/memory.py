"""How much memory is free, and how much of it a scorer may use."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import torch

from gauntlet.models.engine.attention import KeysValues

GIB = 1 << 30
WEIGHTS_SHARE = 0.5
"""The share of the free memory that holds the weights of an offloaded network."""
RESIDENT_SHARE, PACK_SHARE, TEXTS_SHARE = 1 / 4, 1 / 4, 1 / 8
"""Shares of the free memory: for cached keys and values, for the activations of one pass, and for
the keys and values of texts in progress."""
RESIDENT_MOST = {"cpu": GIB, "cuda": 16 * GIB}
"""Bytes; a larger cache of static parts brings no more hits."""
PACK_MOST = {"cpu": 1024, "cuda": 16384}
"""Tokens; larger passes are not faster, and on a CPU they no longer fit its caches."""
PACK_LEAST = 256
OFFLOADED_PACKS = 4
"""As many times longer packs where weights are read from the disk for every pass."""
TEXTS_MOST = 256
"""Maximum number of texts generated at once."""
CGROUP = Path("/sys/fs/cgroup")
BOUNDLESS = 2**62

Least = Callable[[int], int]
"""The minimum of a number over all processes that run one network together."""


class OutOfMemory(torch.OutOfMemoryError):
    """One of the processes that run a network together lacks memory, and all of them know it."""


def alone(number: int) -> int:
    """`Least` for a process that runs its network alone."""
    return number


@dataclass(frozen=True, slots=True)
class Budget:
    """Bytes of keys and values to cache between calls, tokens per pack, and bytes of keys and
    values of the texts that are written at once."""

    resident: int
    pack_tokens: int
    texts: int


class Memory:
    """The memory of a network's device, as agreed by all processes that run the network together.

    They only take the same steps if they make the same decisions, so numbers that differ are
    replaced by their minimum, and no pass begins unless all have the memory for it.
    """

    def __init__(self, network: Any, least: Least = alone) -> None:
        self._network, self._least = network, least

    def budget(self) -> Budget:
        """What the free memory allows."""
        network, device = self._network, self._network.device
        free = self._least(free_bytes(device))
        config = network.config.get_text_config(decoder=True)
        tokens = int(free * PACK_SHARE / bytes_per_token(config, network.dtype.itemsize))
        most = PACK_MOST[device.type] * (OFFLOADED_PACKS if is_offloaded(network) else 1)
        return Budget(
            resident=min(int(free * RESIDENT_SHARE), RESIDENT_MOST[device.type]),
            pack_tokens=min(max(tokens, PACK_LEAST), most),
            texts=int(free * TEXTS_SHARE),
        )

    def size(self, states: KeysValues) -> int:
        """Bytes of cached keys and values, in the process where they take most."""
        return -self._least(-sum(tensor.nbytes for layer in states for tensor in layer))

    def claim(self, tokens: int, further: int = 0) -> None:
        """Raises OutOfMemory in all processes unless each has room for a pass of this many tokens
        and for `further` bytes. Does nothing in a single process, where a pass may simply fail."""
        if self._least is alone:
            return
        config = self._network.config.get_text_config(decoder=True)
        wanted = tokens * bytes_per_token(config, self._network.dtype.itemsize) + further
        if not self._least(self._has(wanted)):
            raise OutOfMemory(f"a rank has no {wanted / GIB:.1f} GiB left")

    def any(self, flag: bool) -> bool:
        """Whether the flag is set in any process."""
        return bool(-self._least(-int(flag)))

    def ran_out(self, error: RuntimeError) -> bool:
        """Whether all processes failed here for lack of memory, so that all can retry."""
        if self._least is alone:
            return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(
                error
            )
        return isinstance(error, OutOfMemory)

    def _has(self, wanted: int) -> bool:
        try:
            torch.empty(wanted, dtype=torch.uint8, device=self._network.device)
        except RuntimeError:
            return False
        return True


def is_offloaded(network: Any) -> bool:
    """Whether some of the network's weights are elsewhere, on disk or in the host's memory, and
    come only while their module runs."""
    return any(weight.is_meta for weight in network.parameters())


def bytes_per_token(config: Any, itemsize: int) -> int:
    """Peak memory of a pass per token, in bytes.

    It covers some copies of the hidden row, one in float32, three rows of the intermediate width,
    and an attention mask over about a thousand tokens.
    """
    inner = max(map(_inner_width, layer_configs(config)))
    return int(itemsize * (8 * config.hidden_size + 3 * inner + 1024) + 4 * config.hidden_size)


def _inner_width(layer: Any) -> int:
    """Gemma 3n names its widths in a list."""
    inner = getattr(layer, "intermediate_size", None) or 4 * layer.hidden_size
    return int(max(inner) if isinstance(inner, Sequence) else inner)


def state_bytes(config: Any, itemsize: int) -> int:
    """Bytes of a token's keys and values in all layers; 0 for a state that does not grow."""
    return sum(2 * math.prod(key_heads(layer)) * itemsize for layer in layer_configs(config))


def key_heads(layer: Any) -> tuple[int, int]:
    """How many key heads a layer has, and their size; (0, ...) for one without attention."""
    queries = getattr(layer, "num_attention_heads", 0)
    heads = getattr(layer, "num_key_value_heads", None) or queries
    return heads, getattr(layer, "head_dim", None) or layer.hidden_size // max(queries, 1)


def layer_configs(config: Any) -> list[Any]:
    """The config of each layer. Most networks have one for all; Gemma 4's layers differ, and
    transformers refuses to read from its config what differs."""
    if getattr(config, "is_heterogeneous", False):
        return list(config.per_layer_config)
    return [config] * int(config.num_hidden_layers)


def free_bytes(device: torch.device) -> int:
    """Free memory on the device; on the CPU also within the limit of a container or batch job."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(free + unused)
    available = psutil.virtual_memory().available
    try:
        used = int((CGROUP / "memory.current").read_text())
    except (OSError, ValueError):
        used = 0
    return int(max(min(available, _group_limit() - used), 0))


def total_bytes() -> int:
    """The memory of the machine, or of the control group if that is less. It does not change while
    a run plays."""
    return int(min(psutil.virtual_memory().total, _group_limit()))


def _group_limit() -> int:
    try:
        limit = (CGROUP / "memory.max").read_text().strip()
    except OSError:
        return BOUNDLESS
    return BOUNDLESS if limit == "max" else int(limit)
