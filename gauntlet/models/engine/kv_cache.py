"""The key-value cache of texts that grow together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby, product
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from gauntlet.models.engine.attention import KeysValues, Layer, rounded_up
from gauntlet.models.engine.ragged_forward import Mixing

GRAIN = 64
"""Attention runs over a multiple of this many keys."""
LEAST = 4
"""Query rows of a product at the least: with fewer, float32 bits differ from those with more."""
SPREAD = 1.5
"""How many times longer than its shortest text a block's longest may be, about."""

Parts = list[tuple[list[Tensor], list[Tensor]]]
"""A text: for each layer the parts of its keys and of its values, (heads, tokens, size)."""


@dataclass
class _Block:
    """The states of neighbouring rows, in one piece of memory for the keys and one for the values
    of each layer, (texts, heads, tokens, size).

    Products over a part of a piece are slow in 16 bits. So a piece is no longer than its longest
    text needs, and texts of very different lengths are in different blocks.
    """

    rows: slice
    layers: list[Layer]

    def text(self, row: int, length: int) -> Parts:
        return [([k[row, :, :length]], [v[row, :, :length]]) for k, v in self.layers]

    def grow(self, long: int) -> None:
        """Make room for this many tokens a text."""
        more = long - self.layers[0][0].shape[2]
        for number, layer in enumerate(self.layers if more > 0 else ()):
            keys, values = (functional.pad(side, (0, 0, 0, more)) for side in layer)
            self.layers[number] = keys, values


@dataclass(frozen=True)
class _Span:
    """Neighbouring texts whose attention runs over the same number of keys.

    within: their place in the block.
    rows: their rows in the step.
    asks: the row of each of their queries, (texts * queries); texts with fewer rows than others
        repeat their last one.
    back: for each of the rows its place among the queries.
    mask: hides what is no key of a query, (texts, queries, long).
    """

    within: slice
    rows: slice
    asks: Tensor
    back: Tensor
    long: int
    mask: Tensor


class KVCache:
    """A row for each text, shortest text first. Lengths are in tokens.

    invariant: whether the bits of a text's attention do not depend on the other texts. It then runs
    over as many keys as its own length wants, otherwise over as many as its block's longest wants.
    """

    def __init__(self, invariant: bool) -> None:
        self._invariant = invariant
        self._blocks: list[_Block] = []

    def arrange(
        self,
        survivors: Sequence[tuple[int, int]],
        added: Sequence[tuple[KeysValues, KeysValues]],
        order: Sequence[int],
    ) -> None:
        """Keep only the surviving rows, and add texts.

        survivors: row and length of each.
        added: for each text the states of a known part, or (), and those of its continuation.
        order: the new rows, as places in the two together.
        """
        old = [(b, row) for b in self._blocks for row in range(b.rows.stop - b.rows.start)]
        texts = [old[row][0].text(old[row][1], length) for row, length in survivors]
        texts += [_parts(*states) for states in added]
        lengths = [sum(part.shape[1] for part in texts[place][0][0]) for place in order]
        self._blocks = [
            _Block(rows, _joined([texts[place] for place in order[rows]]))
            for rows in _similar(lengths)
        ]

    def growing(self, lengths: Sequence[int], widths: Sequence[int]) -> Mixing:
        """The attention of one step, in which every text grows from its length by as many tokens
        as its width says. The step has a row for each, those of a text together."""
        device = self._blocks[0].layers[0][0].device
        ends = np.asarray(lengths)
        starts = np.cumsum([0, *widths])
        parts: list[tuple[_Block, slice, Tensor, Tensor, list[_Span]]] = []
        for block in self._blocks:
            block.grow(_keys(max(lengths[block.rows])))
            width = np.asarray(widths[block.rows])
            text = np.repeat(np.arange(len(width)), width)
            place = ends[block.rows][text] + depths(width)
            rows = slice(starts[block.rows.start], starts[block.rows.stop])
            spans = list(self._spans(block, ends, starts))
            parts.append((block, rows, _on(device, text), _on(device, place), spans))

        def mixing(number: int, queries: Tensor, fresh: Layer, scaling: float) -> Tensor:
            out = torch.zeros_like(queries)
            for block, rows, text, place, spans in parts:
                keys, values = block.layers[number]
                keys[text, :, place] = fresh[0][rows]
                values[text, :, place] = fresh[1][rows]
                for span in spans:
                    seen = (span.within, slice(None), slice(span.long))
                    mixed = attend_last(
                        queries[span.asks], keys[seen], values[seen], span.mask, scaling
                    )
                    out[span.rows] = mixed[span.back]
            return out.flatten(1)

        return mixing

    def _spans(
        self, block: _Block, ends: NDArray[np.int64], starts: NDArray[np.int64]
    ) -> Iterator[_Span]:
        """ends: the length of each text. starts: its first row, and after the last the end."""
        like, texts = block.layers[0][0], range(block.rows.start, block.rows.stop)
        wanted = [_keys(ends[text]) if self._invariant else like.shape[2] for text in texts]
        for long, group in groupby(texts, key=lambda text: wanted[text - texts.start]):
            same = list(group)
            members = slice(same[0], same[-1] + 1)
            last = np.diff(starts)[members] - 1
            depth = np.minimum(np.arange(last.max() + 1), last[:, None])
            asks = starts[members][:, None] + depth
            back = np.searchsorted(asks.ravel(), np.arange(asks[0, 0], asks[-1, -1] + 1))
            hidden = np.arange(long) > (ends[members][:, None] + depth)[..., None]
            mask = np.where(hidden, -np.inf, 0).astype(np.float32)
            yield _Span(
                slice(members.start - texts.start, members.stop - texts.start),
                slice(asks[0, 0], asks[-1, -1] + 1),
                _on(like.device, asks.ravel()),
                _on(like.device, back),
                long,
                _on(like.device, mask),
            )


def _on(device: torch.device, numbers: NDArray[Any]) -> Tensor:
    return torch.from_numpy(numbers).to(device)


def _keys(length: int) -> int:
    """The number of keys that a text of this length attends over when it grows by a token."""
    return rounded_up(length + 1, GRAIN)


def rows_left(length: int) -> int:
    """How many tokens a text of this length may grow by beyond one in a step: those for which
    attention runs over the same number of keys."""
    return GRAIN - 1 - length % GRAIN


def depths(widths: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, ... for each width, one after the other."""
    ends = np.cumsum(widths)
    counted: NDArray[np.int64] = np.arange(ends[-1]) - np.repeat(ends - widths, widths)
    return counted


def _similar(lengths: Sequence[int]) -> Iterator[slice]:
    """Runs of neighbours of similar lengths, which ascend."""
    first = 0
    for row, length in enumerate(lengths):
        if length > SPREAD * lengths[first] + GRAIN:
            yield slice(first, row)
            first = row
    if lengths:
        yield slice(first, len(lengths))


def _parts(known: KeysValues, fresh: KeysValues) -> Parts:
    """The parts of a text, from (tokens, heads, size)."""
    parts: Parts = []
    for number in range(len(fresh)):
        both = [states[number] for states in (known, fresh) if states]
        parts.append(([k.transpose(0, 1) for k, _ in both], [v.transpose(0, 1) for _, v in both]))
    return parts


def _joined(texts: Sequence[Parts]) -> list[Layer]:
    """The layers of a block with these texts."""
    return [
        (_piece([text[n][0] for text in texts]), _piece([text[n][1] for text in texts]))
        for n in range(len(texts[0]))
    ]


def _piece(rows: Sequence[Sequence[Tensor]]) -> Tensor:
    longest = max(sum(part.shape[1] for part in parts) for parts in rows)
    like = rows[0][0]
    piece = like.new_zeros((len(rows), like.shape[0], _keys(longest), like.shape[2]))
    for row, parts in zip(piece, rows, strict=True):
        start = 0
        for part in parts:
            row[:, start : start + part.shape[1]] = part
            start += part.shape[1]
    return piece


def attend_last(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor, scaling: float
) -> Tensor:
    """Attention of the last tokens of texts, (texts * queries, heads, size); returns the same
    shape.

    keys, values: (texts, key heads, tokens, size).
    mask: added to the scores, (texts, queries, tokens).
    """
    # Batched products: fused attention is slower for few queries and, on a CPU, its bits depended
    # on the number of threads.
    texts, asking, long = mask.shape
    heads, size = keys.shape[1], queries.shape[-1]
    split = queries.view(texts, asking, heads, -1, size).transpose(1, 2).flatten(2, 3)
    rows = split.shape[2]
    padded = functional.pad(split, (0, 0, 0, max(0, LEAST - rows)))
    scores = torch.matmul(padded, keys.transpose(2, 3)).mul_(scaling)
    scores[:, :, :rows].view(texts, heads, asking, -1, long).add_(mask[:, None, :, None])
    chances = torch.softmax(scores, dim=-1, dtype=torch.float32).to(values.dtype)
    mixed = torch.matmul(chances, values)[:, :, :rows].view(texts, heads, asking, -1, size)
    return mixed.transpose(1, 2).reshape(queries.shape)


@cache
def steady(
    widest: int, heads: int, key_heads: int, size: int, dtype: torch.dtype, device: torch.device
) -> bool:
    """Whether a query's bits are the same alone and with others of its text, up to `widest`."""
    numbers = torch.Generator().manual_seed(0)

    def drawn(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=numbers).to(device, dtype)

    for texts, long, width in product((1, 3), (GRAIN, 17 * GRAIN), range(2, widest + 1)):
        keys, values = (drawn(texts, key_heads, long, size) for _ in range(2))
        queries, mask = drawn(texts, width, heads, size), drawn(texts, width, long).float()
        every = attend_last(queries.flatten(0, 1), keys, values, mask, 0.1).view(queries.shape)
        for at in range(width):
            alone = attend_last(queries[:, at], keys, values, mask[:, at : at + 1], 0.1)
            if not torch.equal(alone, every[:, at]):
                return False
    return True
