"""The key-value cache of texts that grow together, in one block of memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from gauntlet.models.engine.attention import KeysValues, Layer
from gauntlet.models.engine.ragged_forward import Mixing
from gauntlet.models.engine.tiles import rounded_up

GRAIN = 64
"""Attention runs over a multiple of this many keys, which depends only on the text's length."""


class KVCache:
    """A row for each text, in the order of their lengths, shortest first.

    lengths: tokens of each text. They may be set to less, which drops a text's last tokens.
    """

    def __init__(self) -> None:
        self.lengths: list[int] = []
        self._room = 0
        self._layers: list[Layer] = []

    def arrange(
        self, kept: Sequence[int], added: Sequence[tuple[KeysValues, KeysValues]], room: int
    ) -> list[int]:
        """Drop all rows but `kept`, and add texts; return the new order of the two together.

        added: for each text the states of a known part, or (), and those of its continuation.
        room: tokens of the longest text at its end.
        """
        lengths = [self.lengths[row] for row in kept]
        lengths += [sum(len(part[0][0]) for part in parts if part) for parts in added]
        order = sorted(range(len(lengths)), key=lengths.__getitem__)
        long = rounded_up(room + 1, GRAIN)
        self._layers = self._layers or [_empty(layer) for layer in (added[0][1] if added else ())]
        for number, layer in enumerate(self._layers):  # one at a time, to hold little twice
            blocks = []
            for side, old in enumerate(layer):
                rows = [[old[row, :, : self.lengths[row]]] for row in kept]
                for parts in added:
                    rows.append([part[number][side].transpose(0, 1) for part in parts if part])
                blocks.append(_joined(old, [rows[place] for place in order], long))
            self._layers[number] = blocks[0], blocks[1]
        self.lengths, self._room = [lengths[place] for place in order], room
        return order

    @contextmanager
    def growing(self) -> Iterator[Mixing]:
        """The attention of one step, in which every text grows by one token."""
        spans = self._spans()
        device = self._layers[0][0].device
        rows = torch.arange(len(self.lengths), device=device)
        ends = torch.tensor(self.lengths, device=device)
        masks = [_mask(ends[first:last], long) for first, last, long in spans]

        def mixing(number: int, queries: Tensor, fresh: Layer, scaling: float) -> Tensor:
            kept, count = self._layers[number], len(self.lengths)
            for block, new in zip(kept, fresh, strict=True):
                block[rows, :, ends] = new[:count]
            out = torch.zeros_like(queries)
            for (first, last, long), mask in zip(spans, masks, strict=True):
                keys, values = (block[first:last, :, :long] for block in kept)
                out[first:last] = attend_last(queries[first:last], keys, values, mask, scaling)
            return out.flatten(1)

        yield mixing
        # A finished text may stay for some steps; it overwrites its last position.
        self.lengths = [min(length + 1, self._room) for length in self.lengths]

    def _spans(self) -> list[tuple[int, int, int]]:
        """(first, last, keys) of neighbours whose lengths round up to the same number of keys."""
        spans: list[tuple[int, int, int]] = []
        for row, length in enumerate(self.lengths):
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


def _joined(like: Tensor, rows: Sequence[Sequence[Tensor]], long: int) -> Tensor:
    """A block (texts, heads, long, size) of the parts of each text, (heads, tokens, size)."""
    block = like.new_zeros((len(rows), like.shape[1], long, like.shape[3]))
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
