"""Rotary positions: the library's angles, tabulated once and applied in few operations."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

BLOCK = 1024
STATIC = ("default", "linear", "llama3", "yarn")
"""Rotary frequency types that do not depend on the text length."""


class RotaryTable:
    """Cosines and sines by position, from the network's own rotary module."""

    def __init__(self, module: Any, device: torch.device, dtype: torch.dtype) -> None:
        self._module = module
        self._table: tuple[Tensor, Tensor] | None = None
        self._like = torch.empty(0, device=device, dtype=dtype)

    def at(self, places: Tensor, furthest: int) -> tuple[Tensor, Tensor]:
        """Cosine and signed sine at each position, (rows, 1, head size); `furthest` is the
        largest."""
        if self._table is None or len(self._table[0]) <= furthest:
            self._table = self._grown(furthest)
        return self._table[0][places, None], self._table[1][places, None]

    def _grown(self, furthest: int) -> tuple[Tensor, Tensor]:
        blocks = []
        for start in range(0, furthest + 1, BLOCK):
            places = torch.arange(start, start + BLOCK, device=self._like.device)[None]
            cosine, sine = self._module(self._like, places)
            half = sine.shape[-1] // 2
            signed = torch.cat([-sine[..., :half], sine[..., half:]], dim=-1)
            blocks.append((cosine[0], signed[0]))
        return torch.cat([c for c, _ in blocks]), torch.cat([s for _, s in blocks])


def apply_rotary_(heads: Tensor, rotary: tuple[Tensor, Tensor]) -> Tensor:
    """Rotate (rows, heads, head size) in place by (cosine, signed sine) of each row's position."""
    cosine, sine = rotary
    swapped = heads.roll(heads.shape[-1] // 2, dims=-1)
    return heads.mul_(cosine).add_(swapped.mul_(sine))
