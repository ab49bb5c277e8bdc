"""How much memory there is, and how much of it a scorer may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from gauntlet.models.engine.attention import KeysValues

GIB = 1 << 30
RESIDENT_SHARE, PACK_SHARE = 1 / 4, 1 / 4
"""Of the free memory: for kept keys and values, and for the activations of one pass."""
RESIDENT_MOST = {"cpu": GIB, "cuda": 16 * GIB}
"""More bytes than that hold no static part that comes again."""
PACK_MOST = {"cpu": 1024, "cuda": 16384}
"""More tokens than that do not make a pass faster; on a CPU they leave its caches."""
PACK_LEAST = 256
OFFLOADED_PACKS = 4
"""As many times longer packs where weights are read from the disk for every pass."""
TEXTS_MOST = 256
"""Texts that are written at once, at most."""
MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")
UNKNOWN = 8 * GIB
"""Taken for free where the machine does not say."""


Least = Callable[[int], int]
"""The smallest of a number over all processes that run one network together."""


class OutOfMemory(torch.OutOfMemoryError):
    """One of the processes that run a network together lacks memory, and all of them know."""


def alone(number: int) -> int:
    """`Least` of a process that runs its network by itself."""
    return number


@dataclass(frozen=True, slots=True)
class Budget:
    """Bytes of keys and values to keep between calls, and tokens of a pack."""

    resident: int
    pack_tokens: int


class Memory:
    """The memory of a network's device, as all processes see it that run the network together.

    They take the same steps only if they decide the same: so a number that differs between them
    counts as the least of all, and no pass begins for which one of them lacks the memory.
    """

    def __init__(self, network: Any, least: Least = alone) -> None:
        self._network, self._least = network, least

    def budget(self) -> Budget:
        """What the free memory allows."""
        return budget(self._network, self._least(free_bytes(self._network.device)))

    def size(self, states: KeysValues) -> int:
        """Bytes of kept keys and values, in the process where they take most."""
        return -self._least(-sum(tensor.nbytes for layer in states for tensor in layer))

    def claim(self, tokens: int, further: int = 0) -> None:
        """Raises OutOfMemory in all processes unless each has room for a pass of so many tokens
        and for `further` bytes. Alone nothing is claimed: there a pass may simply fail."""
        if self._least is alone:
            return
        config = self._network.config.get_text_config(decoder=True)
        wanted = tokens * bytes_per_token(config, self._network.dtype.itemsize) + further
        if not self._least(self._has(wanted)):
            raise OutOfMemory(f"a rank has no {wanted / GIB:.1f} GiB left")

    def any(self, flag: bool) -> bool:
        """Whether the flag is up in one of the processes."""
        return bool(-self._least(-int(flag)))

    def ran_out(self, error: RuntimeError) -> bool:
        """Whether all processes failed here for lack of memory, so that all can try again."""
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


def budget(network: Any, free: int) -> Budget:
    """What this many free bytes of the network's device allow."""
    device = network.device
    config = network.config.get_text_config(decoder=True)
    per_token = bytes_per_token(config, network.dtype.itemsize)
    tokens = int(free * PACK_SHARE / per_token)
    most = PACK_MOST[device.type] * (OFFLOADED_PACKS if is_offloaded(network) else 1)
    return Budget(
        resident=min(int(free * RESIDENT_SHARE), RESIDENT_MOST[device.type]),
        pack_tokens=min(max(tokens, PACK_LEAST), most),
    )


def is_offloaded(network: Any) -> bool:
    """Whether some of the network's weights are on the disk."""
    return "disk" in getattr(network, "hf_device_map", {}).values()


def bytes_per_token(config: Any, itemsize: int) -> int:
    """What a token of a pass takes at its widest: some copies of the hidden row, one in float32,
    three rows of the inner width, and an attention mask over a thousand tokens."""
    inner = getattr(config, "intermediate_size", None) or 4 * config.hidden_size
    return int(itemsize * (8 * config.hidden_size + 3 * inner + 1024) + 4 * config.hidden_size)


def state_bytes(config: Any, itemsize: int) -> int:
    """Bytes of a token's keys and values in all layers."""
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return int(2 * config.num_hidden_layers * heads * size * itemsize)


def free_bytes(device: torch.device) -> int:
    """Memory that is free now on the device; on the CPU also within the process's own limit."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(free + unused)
    return max(min(_available(), _left_in_group()), 0)


def _available() -> int:
    """Memory that the machine can give without swapping, caches it would drop included."""
    try:
        lines = MEMINFO.read_text().splitlines()
        found = next(line for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return UNKNOWN
    return int(found.split()[1]) * 1024


def _left_in_group() -> int:
    """What the control group of a container or a batch job leaves."""
    try:
        limit = (CGROUP / "memory.max").read_text().strip()
        used = (CGROUP / "memory.current").read_text().strip()
    except OSError:
        return 2**62
    return 2**62 if limit == "max" else int(limit) - int(used)
