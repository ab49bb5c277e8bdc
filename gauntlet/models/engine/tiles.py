"""Layers on tiles of a fixed number of rows, so that a row's result is always the same.

Matrix products choose their inner loops by the number of rows, and elementwise functions take
another code path at the end of a thread's share; both can change the last bit of a row. A tile has
the same shape whatever else is computed with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

GRAIN = 32768
"""Up to this many elements torch runs an elementwise function in one piece and thread."""


def rounded_up(rows: int, tile: int) -> int:
    """The number of rows rounded up to whole tiles; at least one tile."""
    return max(1, -(-rows // tile)) * tile


def linear(module: Any, rows: Tensor, tile: int | None) -> Tensor:
    """`module` of (rows, width), `tile` rows at a time (rows must be whole tiles), or at once."""
    if tile is None:
        out: Tensor = module(rows)
        return out
    if type(module) is not nn.Linear:
        return torch.cat([module(part) for part in torch.split(rows, tile)])
    return product(rows, module.weight.t(), module.bias, tile)


def product(rows: Tensor, matrix: Tensor, bias: Tensor | None, tile: int) -> Tensor:
    """rows @ matrix + bias, `tile` rows at a time; rows must be whole tiles."""
    out = rows.new_empty(len(rows), matrix.shape[1])
    for part, result in zip(torch.split(rows, tile), torch.split(out, tile), strict=True):
        if bias is None:
            torch.mm(part, matrix, out=result)
        else:
            torch.addmm(bias, part, matrix, out=result)
    return out


def silu_(rows: Tensor) -> Tensor:
    """x * sigmoid(x) in place."""
    if rows.device.type != "cpu":
        return nn.functional.silu(rows, inplace=True)
    for part in torch.split(rows.view(-1), GRAIN):
        nn.functional.silu(part, inplace=True)
    return rows


PRODUCTS = (torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.mm, Tensor.mm)
CURVES = (
    *(functional.silu, functional.gelu, functional.sigmoid, functional.tanh),
    *(torch.sigmoid, Tensor.sigmoid, torch.tanh, Tensor.tanh),
)


class Tiled(TorchFunctionMode):
    """A context in which matrix products with weights and activation functions run on tiles.

    It does for foreign modules what `linear` and `silu_` do by hand.

    rows: tile size where all rows of a pass meet a weight.
    answers: tile size where only some do: in the head, whose weight is `head`, and in experts,
        whose weights are parts of larger ones.
    """

    def __init__(self, rows: int, answers: int, head: Tensor | None) -> None:
        super().__init__()
        self._rows, self._answers, self._head = rows, answers, head

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        given = kwargs or {}
        if func is functional.linear and not given:
            return self._product(args[0], args[1], args[1].t(), *args[2:])
        if func in PRODUCTS and args[0].dim() == args[1].dim() == 2:
            return self._product(args[0], args[1], args[1])
        if func in CURVES and args[0].device.type == "cpu" and args[0].is_contiguous():
            parts = [
                func(part, *args[1:], **given) for part in torch.split(args[0].view(-1), GRAIN)
            ]
            return torch.cat(parts).view_as(args[0])
        return func(*args, **given)

    def _product(
        self, rows: Tensor, weight: Tensor, matrix: Tensor, bias: Tensor | None = None
    ) -> Tensor:
        whole = isinstance(weight, nn.Parameter) and weight is not self._head
        tile = self._rows if whole else self._answers
        flat = rows.reshape(-1, rows.shape[-1])
        wanted = rounded_up(len(flat), tile) if len(flat) else 0
        padded = functional.pad(flat, (0, 0, 0, wanted - len(flat))) if wanted > len(flat) else flat
        out = product(padded, matrix, bias, tile)[: len(flat)]
        return out.view(*rows.shape[:-1], matrix.shape[1])
