"""Layers on tiles of a fixed number of rows, so that a row's floats are always the same.

Matrix products choose their inner loops by the number of rows, and elementwise functions take
another code path where the work of a thread ends; both can change the last bit of a row. A tile
has the same shape whatever else is computed with it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

GRAIN = 32768
"""Up to so many elements torch runs an elementwise function as one piece, in one thread."""


def rounded_up(rows: int, tile: int) -> int:
    """The number of rows of the tiles that hold `rows` rows; at least one tile."""
    return max(1, -(-rows // tile)) * tile


def linear(module: Any, rows: Tensor, tile: int | None) -> Tensor:
    """`module` of (rows, width), `tile` rows at a time (rows must be whole tiles), or at once."""
    if tile is None:
        out: Tensor = module(rows)
        return out
    if type(module) is not nn.Linear:
        return torch.cat([module(part) for part in torch.split(rows, tile)])
    out = rows.new_empty(len(rows), module.out_features)
    weight = module.weight.t()
    for part, result in zip(torch.split(rows, tile), torch.split(out, tile), strict=True):
        if module.bias is None:
            torch.mm(part, weight, out=result)
        else:
            torch.addmm(module.bias, part, weight, out=result)
    return out


def silu_(rows: Tensor) -> Tensor:
    """x * sigmoid(x) in place."""
    if rows.device.type != "cpu":
        return nn.functional.silu(rows, inplace=True)
    for part in torch.split(rows.view(-1), GRAIN):
        nn.functional.silu(part, inplace=True)
    return rows
