"""Attention of a flat pass, over the tokens that each piece may see.

Pieces of one shape are computed in one call. A piece's shape depends only on the piece, and its
result does not depend on the others in the call, so its bits are batch-invariant. On a GPU, padding
all pieces to the longest for a single call is cheaper than several calls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from gauntlet.models.engine.tiles import rounded_up

Layer = tuple[Tensor, Tensor]
"""Keys and values of a text in one layer, each (tokens, heads, head size)."""

KeysValues = tuple[Layer, ...]
"""Keys and values of a text in every layer; () for no text."""

EVEN = 16
"""Attention runs on multiples of this many queries and keys. With a few rows left over, the bits of
matrix products varied with the number of threads; from 16 on they did not."""


@dataclass(frozen=True, slots=True)
class Group:
    """Pieces that are computed in one call.

    asks: (pieces * queries,) rows of the pass's queries.
    sees: (pieces * keys,) rows of the bank: the texts before the pieces, then the pass's rows.
    mask: (pieces, 1, queries, keys), added to attention scores: 0 where visible, else minus
        infinity.
    """

    asks: Tensor
    sees: Tensor
    mask: Tensor


@dataclass(frozen=True, slots=True)
class Attention:
    """The attention of the querying rows of a pass to the rows they see.

    pasts: the distinct texts before the pieces.
    back: for each querying row its index among the groups' queries.
    """

    pasts: Sequence[KeysValues]
    groups: Sequence[Group]
    back: Tensor

    def __call__(
        self,
        queries: Tensor,
        fresh: Layer,
        layer: int,
        scaling: float,
        softcap: float | None = None,
        sinks: Tensor | None = None,
    ) -> Tensor:
        """Attention output, (querying rows, heads * value size).

        queries: (querying rows, heads, head size) of a layer.
        fresh: the keys and values of all rows of the pass.
        """
        if not self.groups:
            return queries.new_zeros(*queries.shape[:2], fresh[1].shape[-1]).flatten(1)
        banks = zip(*[past[layer] for past in self.pasts], fresh, strict=True)
        keys, values = (torch.cat(bank) for bank in banks)
        mixed = []
        for group in self.groups:
            pieces, _, asking, seen = group.mask.shape
            out = attend(
                queries.index_select(0, group.asks).view(pieces, asking, *queries.shape[1:]),
                keys.index_select(0, group.sees).view(pieces, seen, *keys.shape[1:]),
                values.index_select(0, group.sees).view(pieces, seen, *values.shape[1:]),
                group.mask,
                scaling,
                softcap,
                sinks,
            )
            mixed.append(out.flatten(0, 1))
        return torch.cat(mixed).index_select(0, self.back).flatten(1)


def arrange(
    pasts: Sequence[KeysValues],
    rows: Sequence[slice],
    asks: Sequence[slice],
    masks: Sequence[NDArray[np.float32]],
    asking: int,
    like: Tensor,
    at_once: bool,
) -> Attention:
    """Arrange the attention of a pass.

    pasts, rows, asks: per piece, the text before it, its rows in the pass, and its rows among the
        `asking` querying rows (padding included).
    masks: per piece, added to its scores, (its querying rows, past + tokens).
    like: gives device and dtype.
    at_once: pad all pieces to the longest to form one group instead of one per shape.
    """
    distinct = {id(past): past for past in pasts if past}
    stops = np.cumsum([0, *(len(past[0][0]) for past in distinct.values())])
    starts = dict(zip(distinct, stops.tolist(), strict=False))
    back, groups, place = np.zeros(asking, dtype=np.int64), [], 0
    for (wide, long), members in _shapes(masks, at_once).items():
        asked = np.zeros((len(members), wide), dtype=np.int64)
        sees = np.zeros((len(members), long), dtype=np.int64)
        mask = np.full((len(members), 1, wide, long), -np.inf, dtype=np.float32)
        mask[..., 0] = 0  # padding rows must see something, or they become NaN
        for i, member in enumerate(members):
            queries, keys = masks[member].shape
            own, before = rows[member], keys - (rows[member].stop - rows[member].start)
            asked[i, :queries] = np.arange(asks[member].start, asks[member].stop)
            sees[i, :before] = np.arange(before) + starts.get(id(pasts[member]), 0)
            sees[i, before:keys] = np.arange(own.start, own.stop) + stops[-1]
            mask[i, 0, :queries, :keys] = masks[member]
            back[asks[member]] = np.arange(queries) + place + i * wide
        place += asked.size
        moved = [torch.from_numpy(array.ravel()).to(like.device) for array in (asked, sees)]
        groups.append(Group(moved[0], moved[1], torch.from_numpy(mask).to(like)))
    return Attention(list(distinct.values()), groups, torch.from_numpy(back).to(like.device))


def _shapes(
    masks: Sequence[NDArray[np.float32]], at_once: bool
) -> dict[tuple[int, int], list[int]]:
    """The querying pieces, by their rounded numbers of queries and keys."""
    shapes: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for member, (queries, keys) in enumerate(mask.shape for mask in masks):
        if queries:
            shapes[rounded_up(queries, EVEN), rounded_up(keys, EVEN)].append(member)
    if at_once and shapes:
        longest = tuple(max(side) for side in zip(*shapes, strict=True))
        return {(longest[0], longest[1]): [m for group in shapes.values() for m in group]}
    return dict(shapes)


def attend(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor,
    scaling: float,
    softcap: float | None = None,
    sinks: Tensor | None = None,
) -> Tensor:
    """Attention of (batch, queries, heads, size) over (batch, tokens, key heads, size).

    mask: added to the scores, (batch, 1, queries, tokens).
    softcap: scores are squashed into this range by tanh.
    sinks: (heads,), a score per head that takes part in the softmax without contributing a value.

    Returns (batch, queries, heads, value size). Several heads may share a key head; their queries
    are then concatenated, so that keys and values are not copied.
    """
    batch, asking, heads, size = queries.shape
    shared = heads // keys.shape[2]
    grouped = queries.view(batch, asking, -1, shared, size).permute(0, 2, 3, 1, 4).flatten(2, 3)
    wide = mask.repeat(1, 1, shared, 1) if shared > 1 else mask
    keys, values = keys.transpose(1, 2), values.transpose(1, 2)
    if softcap is None and sinks is None:
        out: Tensor = scaled_dot_product_attention(
            grouped, keys, values, attn_mask=wide, scale=scaling
        )
    else:
        scores = grouped @ keys.transpose(2, 3) * scaling
        if softcap is not None:
            scores = torch.tanh(scores / softcap) * softcap
        scores = scores + wide
        if sinks is not None:
            each = sinks.view(-1, shared).repeat_interleave(asking, dim=1)
            scores = torch.cat([scores, each[None, :, :, None].expand(batch, -1, -1, -1)], dim=-1)
        chances = torch.softmax(scores, dim=-1, dtype=torch.float32).to(values.dtype)
        out = chances[..., : keys.shape[2]] @ values
    split = out.view(batch, -1, shared, asking, out.shape[-1])
    return split.permute(0, 3, 1, 2, 4).reshape(batch, asking, heads, -1)
