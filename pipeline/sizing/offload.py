"""Layers that stay in their files: what is held of a network then, and how large packs have to be.

The engine measures what is reckoned here (`models/engine/streamed.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from gauntlet.models.engine.memory import OFFLOADED_SHARE, SPARE, bytes_per_token
from gauntlet.models.engine.streamed import BLOCKS
from gauntlet.pipeline.sizing.hardware import GIB, Device, Shape

EFFICIENCY = 0.4
"""The share of a data sheet's rate that the engine is planned to reach: of a large product some
80% is reached in practice, and of that the engine a half or more (docs/performance.md)."""
DISK = 3.0
"""GB/s: what one solid-state disk of a server gives a reader at the least."""


@dataclass(frozen=True)
class Pace:
    """What is planned with: the share of the data sheet's rate, and what the disk reads in GB/s."""

    efficiency: float = EFFICIENCY
    disk: float = DISK


def held(shape: Shape, size: int) -> float:
    """GiB of weights in memory, of `size` bytes each: all but the layers, and two of them."""
    layers = shape.layer_parameters * min(1, BLOCKS / shape.num_hidden_layers)
    return (shape.parameters - shape.layer_parameters + layers) * size / GIB


def pass_seconds(shape: Shape, size: int, pace: Pace) -> float:
    """What reading all layers takes, once a pass."""
    return shape.layer_parameters * size / (pace.disk * 1e9)


def pack(shape: Shape, size: int, device: Device, pace: Pace, room: float, usual: int) -> int:
    """Tokens of a pack on a device with `room` GiB free: SPARE times those whose products take as
    long as the reading, never fewer than `usual`, as far as the room holds them."""
    token = 2 * shape.layer_parameters / (device.rate * 1e12 * pace.efficiency)
    wanted = SPARE * pass_seconds(shape, size, pace) / token
    fits = OFFLOADED_SHARE * room * GIB / bytes_per_token(shape, size)
    return max(1, int(min(max(wanted, usual), fits)))
