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
    """Space for a fixed number of texts, added in order of length, shortest first.

    lengths: tokens of each text.
    """

    def __init__(self, like: KeysValues, texts: int, room: int) -> None:
        """like: gives layers, heads, dtype and device. room: the longest text, in tokens."""
        self.lengths: list[int] = []
        self._room = room
        long = rounded_up(room + 1, GRAIN)
        self._layers: list[Layer] = []
        for keys, values in like:
            shape = (texts, keys.shape[1], long, keys.shape[2])
            self._layers.append((keys.new_zeros(shape), values.new_zeros(shape)))

    def add(self, past: KeysValues, fresh: KeysValues) -> None:
        """Add a text: a known part and its continuation."""
        row, before = len(self.lengths), len(past[0][0]) if past else 0
        length = before + len(fresh[0][0])
        for number, kept in enumerate(self._layers):
            for side, block in enumerate(kept):
                if past:
                    block[row, :, :before] = past[number][side].transpose(0, 1)
                block[row, :, before:length] = fresh[number][side].transpose(0, 1)
        self.lengths.append(length)

    def keep(self, rows: Sequence[int]) -> None:
        """Drop all other texts."""
        wanted = torch.tensor(rows, device=self._layers[0][0].device)
        for number, (keys, values) in enumerate(self._layers):
            self._layers[number] = keys[wanted], values[wanted]
        self.lengths = [self.lengths[row] for row in rows]

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
