"""Sizing with layers on disk: the weights in memory, and the pack size needed.

The engine measures what is estimated here (`models/engine/streamed.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from gauntlet.models.engine.memory import OFFLOADED_SHARE, SPARE, bytes_per_token
from gauntlet.models.engine.streamed import BLOCKS
from gauntlet.pipeline.sizing.hardware import GIB, Device, Shape

EFFICIENCY = 0.4
"""Assumed share of the data sheet's rate: large products reach about 80% in practice, and the
engine at least half of that (docs/performance.md)."""
DISK = 3.0
"""GB/s: the least that one solid-state disk of a server delivers."""


@dataclass(frozen=True)
class Pace:
    """Assumptions: the share of the data sheet's rate that is reached, and the disk's GB/s."""

    efficiency: float = EFFICIENCY
    disk: float = DISK


def held(shape: Shape, size: int) -> float:
    """GiB of weights in memory, at `size` bytes each: everything but the layers, plus two
    layers."""
    layers = shape.layer_parameters * min(1, BLOCKS / shape.num_hidden_layers)
    return (shape.parameters - shape.layer_parameters + layers) * size / GIB


def pass_seconds(shape: Shape, size: int, pace: Pace) -> float:
    """Seconds per pass to read all layers."""
    return shape.layer_parameters * size / (pace.disk * 1e9)


def pack(shape: Shape, size: int, device: Device, pace: Pace, room: float, usual: int) -> int:
    """Tokens per pack on a device with `room` GiB free. SPARE times the tokens whose computation
    takes as long as the reading, at least `usual`, at most what fits."""
    token = 2 * shape.layer_parameters / (device.rate * 1e12 * pace.efficiency)
    wanted = SPARE * pass_seconds(shape, size, pace) / token
    fits = OFFLOADED_SHARE * room * GIB / bytes_per_token(shape, size)
    return max(1, int(min(max(wanted, usual), fits)))
