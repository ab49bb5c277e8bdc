"""The key-value cache of texts that grow together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor
from torch.nn import functional

from gauntlet.models.engine.attention import KeysValues, Layer
from gauntlet.models.engine.ragged_forward import Mixing
from gauntlet.models.engine.tiles import rounded_up

GRAIN = 64
"""Attention runs over a multiple of this many keys."""
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
    """Neighbouring rows whose attention runs over the same number of keys; `within` is their place
    in the block, `mask` hides what is no key of theirs."""

    rows: slice
    within: slice
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
        kept: Sequence[tuple[int, int]],
        added: Sequence[tuple[KeysValues, KeysValues]],
        order: Sequence[int],
    ) -> None:
        """Drop all rows but the kept ones, and add texts.

        kept: row and length of each.
        added: for each text the states of a known part, or (), and those of its continuation.
        order: the new rows, as places in the two together.
        """
        old = [(b, row) for b in self._blocks for row in range(b.rows.stop - b.rows.start)]
        texts = [old[row][0].text(old[row][1], length) for row, length in kept]
        texts += [_parts(*states) for states in added]
        lengths = [sum(part.shape[1] for part in texts[place][0][0]) for place in order]
        self._blocks = [
            _Block(rows, _joined([texts[place] for place in order[rows]]))
            for rows in _similar(lengths)
        ]

    @contextmanager
    def growing(self, lengths: Sequence[int]) -> Iterator[Mixing]:
        """The attention of one step, in which every text grows by one token from its length."""
        device = self._blocks[0].layers[0][0].device
        ends = torch.tensor(lengths, device=device)
        for block in self._blocks:
            block.grow(_keys(max(lengths[block.rows])))
        spans = [list(self._spans(block, lengths, ends)) for block in self._blocks]
        places = [torch.arange(b.rows.stop - b.rows.start, device=device) for b in self._blocks]

        def mixing(number: int, queries: Tensor, fresh: Layer, scaling: float) -> Tensor:
            out = torch.zeros_like(queries)
            for block, own, rows in zip(self._blocks, spans, places, strict=True):
                keys, values = block.layers[number]
                keys[rows, :, ends[block.rows]] = fresh[0][block.rows]
                values[rows, :, ends[block.rows]] = fresh[1][block.rows]
                for span in own:
                    seen = (span.within, slice(None), slice(span.long))
                    out[span.rows] = attend_last(
                        queries[span.rows], keys[seen], values[seen], span.mask, scaling
                    )
            return out.flatten(1)

        yield mixing

    def _spans(self, block: _Block, lengths: Sequence[int], ends: Tensor) -> Iterator[_Span]:
        wanted = [_keys(length) for length in lengths[block.rows]]
        if not self._invariant:
            wanted = [block.layers[0][0].shape[2]] * len(wanted)
        start = 0
        for long, same in groupby(wanted):
            within = slice(start, start + len(list(same)))
            start = within.stop
            rows = slice(block.rows.start + within.start, block.rows.start + within.stop)
            yield _Span(rows, within, long, _mask(ends[rows], long))


def _keys(length: int) -> int:
    """The number of keys that a text of this length attends over when it grows by a token."""
    return rounded_up(length + 1, GRAIN)


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
