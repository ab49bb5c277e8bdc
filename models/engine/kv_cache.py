"""The key-value cache of texts that grow together, in one block of memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.nn import functional

from gauntlet.models.engine.attention import KeysValues, Layer
from gauntlet.models.engine.ragged_forward import Mixing
from gauntlet.models.engine.tiles import rounded_up

GRAIN = 64
"""Attention runs over a multiple of this many keys."""


class KVCache:
    """A row for each text. Lengths are in tokens; rows in the order of their lengths are fastest.

    invariant: whether the bits of a text's attention do not depend on the other texts. It then runs
    over as many keys as its own length wants, otherwise over as many as the longest text's.
    """

    def __init__(self, invariant: bool) -> None:
        self._invariant = invariant
        self._layers: list[Layer] = []

    def arrange(
        self,
        kept: Sequence[tuple[int, int]],
        added: Sequence[tuple[KeysValues, KeysValues]],
        order: Sequence[int],
    ) -> None:
        """Drop all rows but the kept ones, and add texts.

        kept: row and length of each.
        added: for each text the states of a known part, or (), and those of its continuation.
        order: the new rows, as places in the two together.
        """
        if not self._layers and added:
            self._layers = [_empty(layer) for layer in added[0][1]]
        for number, layer in enumerate(self._layers):  # one at a time, to hold little twice
            blocks = []
            for side, old in enumerate(layer):
                rows = [[old[row, :, :length]] for row, length in kept]
                for parts in added:
                    rows.append([part[number][side].transpose(0, 1) for part in parts if part])
                blocks.append(_joined(old, [rows[place] for place in order]))
            self._layers[number] = blocks[0], blocks[1]

    @contextmanager
    def growing(self, lengths: Sequence[int]) -> Iterator[Mixing]:
        """The attention of one step, in which every text grows by one token from its length."""
        self._grow(rounded_up(max(lengths) + 1, GRAIN))
        spans = self._spans(lengths)
        device = self._layers[0][0].device
        rows = torch.arange(len(lengths), device=device)
        ends = torch.tensor(lengths, device=device)
        masks = [_mask(ends[first:last], long) for first, last, long in spans]

        def mixing(number: int, queries: Tensor, fresh: Layer, scaling: float) -> Tensor:
            kept = self._layers[number]
            for block, new in zip(kept, fresh, strict=True):
                block[rows, :, ends] = new[: len(lengths)]
            out = torch.zeros_like(queries)
            for (first, last, long), mask in zip(spans, masks, strict=True):
                keys, values = (block[first:last, :, :long] for block in kept)
                out[first:last] = attend_last(queries[first:last], keys, values, mask, scaling)
            return out.flatten(1)

        yield mixing

    def _grow(self, long: int) -> None:
        """Make room for this many tokens a text. Products over a part of a block are slow in 16
        bits, so blocks are no longer than they need to be."""
        if long > self._layers[0][0].shape[2]:
            for number, layer in enumerate(self._layers):
                more = long - layer[0].shape[2]
                keys, values = (functional.pad(side, (0, 0, 0, more)) for side in layer)
                self._layers[number] = keys, values

    def _spans(self, lengths: Sequence[int]) -> list[tuple[int, int, int]]:
        """(first, last, keys) of neighbours whose attention runs over the same number of keys."""
        if not self._invariant:
            return [(0, len(lengths), self._layers[0][0].shape[2])]
        spans: list[tuple[int, int, int]] = []
        for row, length in enumerate(lengths):
            long = rounded_up(length + 1, GRAIN)
            if spans and spans[-1][2] == long:
                spans[-1] = (spans[-1][0], row + 1, long)
            else:
                spans.append((row, row + 1, long))
        return spans


def _empty(layer: Layer) -> Layer:
    """Blocks without rows for texts whose states are like these."""
    keys, values = (side.new_zeros((0, side.shape[1], 0, side.shape[2])) for side in layer)
    return keys, values


def _joined(like: Tensor, rows: Sequence[Sequence[Tensor]]) -> Tensor:
    """A block (texts, heads, tokens, size) of the parts of each text, (heads, tokens, size)."""
    longest = max((sum(part.shape[1] for part in parts) for parts in rows), default=0)
    block = like.new_zeros(
        (len(rows), like.shape[1], rounded_up(longest + 1, GRAIN), like.shape[3])
    )
    for row, parts in zip(block, rows, strict=True):
        start = 0
        for part in parts:
            row[:, start : start + part.shape[1]] = part
            start += part.shape[1]
    return block


def attend_last(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor, scaling: float
) -> Tensor:
    """Attention of each text's last token, (texts, heads, size); returns the same shape.

    keys, values: (texts, key heads, tokens, size).
    mask: added to the scores, (texts, 1, 1, tokens).
    """
    # Batched products: fused attention is slower for a single query and, on a CPU, its bits
    # depended on the number of threads.
    grouped = queries.reshape(len(queries), keys.shape[1], -1, queries.shape[-1])
    scores = torch.matmul(grouped, keys.transpose(2, 3)).mul_(scaling).add_(mask)
    chances = torch.softmax(scores, dim=-1, dtype=torch.float32).to(values.dtype)
    return torch.matmul(chances, values).flatten(1, 2)


def _mask(ends: Tensor, long: int) -> Tensor:
    """(texts, 1, 1, long): 0 up to and including each end, minus infinity after it."""
    hidden = torch.arange(long, device=ends.device)[None] > ends[:, None]
    mask = torch.zeros(hidden.shape, device=ends.device).masked_fill_(hidden, -torch.inf)
    return mask[:, None, None]
