"""The layout of a flat pass, and its attention: each piece over the tokens that it may see.

Pieces of one shape are computed in one call. A piece's shape depends only on the piece, and its
result does not depend on the others in the call, so its bits are batch-invariant. On a GPU, padding
all pieces to the longest for a single call is cheaper than several calls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from gauntlet.models.engine.tokens import PromptTree

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


def rounded_up(rows: int, tile: int) -> int:
    """The number of rows rounded up to whole tiles; at least one tile."""
    return max(1, -(-rows // tile)) * tile


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
        queried = np.zeros((len(members), wide), dtype=np.int64)
        sees = np.zeros((len(members), long), dtype=np.int64)
        mask = np.full((len(members), 1, wide, long), -np.inf, dtype=np.float32)
        mask[..., 0] = 0  # padding rows must see something, or they become NaN
        for i, member in enumerate(members):
            queries, keys = masks[member].shape
            new, before = rows[member], keys - (rows[member].stop - rows[member].start)
            queried[i, :queries] = np.arange(asks[member].start, asks[member].stop)
            sees[i, :before] = np.arange(before) + starts.get(id(pasts[member]), 0)
            sees[i, before:keys] = np.arange(new.start, new.stop) + stops[-1]
            mask[i, 0, :queries, :keys] = masks[member]
            back[asks[member]] = np.arange(queries) + place + i * wide
        place += queried.size
        moved = [torch.from_numpy(array.ravel()).to(like.device) for array in (queried, sees)]
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
            sink = sinks.view(-1, shared).repeat_interleave(asking, dim=1)
            scores = torch.cat([scores, sink[None, :, :, None].expand(batch, -1, -1, -1)], dim=-1)
        chances = torch.softmax(scores, dim=-1, dtype=torch.float32).to(values.dtype)
        out = chances[..., : keys.shape[2]] @ values
    split = out.view(batch, -1, shared, asking, out.shape[-1])
    return split.permute(0, 3, 1, 2, 4).reshape(batch, asking, heads, -1)


@dataclass(frozen=True, slots=True)
class Piece:
    """A tree of tokens that follows a text with known keys and values (or () for no text)."""

    tree: PromptTree
    past: KeysValues = ()

    @property
    def past_length(self) -> int:
        return len(self.past[0][0]) if self.past else 0


@dataclass(frozen=True, slots=True)
class Tiles:
    """How many rows of a linear layer are computed at a time; None: all at once.

    rows: in all layers but the last.
    answers: in the last layer and the head, where only answers are left.
    """

    rows: int | None
    answers: int | None


@dataclass(frozen=True, slots=True)
class Layout:
    """A pass over several pieces, padded to whole tiles.

    tokens, places: (rows,) token ids and positions.
    furthest: the largest position.
    rows: each piece's rows.
    all: attention with every token as a query, as in all layers but the last.
    ends: attention with only the ends of the pieces as queries.
    answers: (answers,) the rows of the ends, padded.
    count: number of real rows in `answers`.
    """

    tokens: Tensor
    places: Tensor
    furthest: int
    rows: tuple[slice, ...]
    all: Attention
    ends: Attention
    answers: Tensor
    count: int


def lay_out(pieces: Sequence[Piece], tiles: Tiles, like: Tensor, at_once: bool) -> Layout:
    """Concatenate the pieces; `like` gives device and dtype.

    at_once: attention of all pieces in one padded call instead of one per shape.
    """
    trees = [piece.tree for piece in pieces]
    rows = _slices([len(tree.tokens) for tree in trees])
    asks = _slices([len(tree.ends) for tree in trees])
    ends = [tree.ends + where.start for tree, where in zip(trees, rows, strict=True)]
    places = _joined([places_of(piece) for piece in pieces], tiles.rows)
    answers = _joined(ends, tiles.answers)
    pasts = [piece.past for piece in pieces]
    masks = [mask_of(piece) for piece in pieces]
    end_masks = [mask[tree.ends] for mask, tree in zip(masks, trees, strict=True)]
    every = arrange(pasts, rows, rows, masks, len(places), like, at_once)
    last = arrange(pasts, rows, asks, end_masks, len(answers), like, at_once)
    return Layout(
        tokens=torch.from_numpy(_joined([t.tokens for t in trees], tiles.rows)).to(like.device),
        places=torch.from_numpy(places).to(like.device),
        furthest=int(places.max()),
        rows=rows,
        all=every,
        ends=last,
        answers=torch.from_numpy(answers).to(like.device),
        count=asks[-1].stop,
    )


def windowed(
    layout: Layout, pieces: Sequence[Piece], window: int, like: Tensor, at_once: bool
) -> Attention:
    """`layout.all` with a sliding window: a token sees the last `window` tokens, itself
    included."""
    if window > layout.furthest:
        return layout.all
    pasts = [piece.past for piece in pieces]
    masks = [mask_of(piece, window) for piece in pieces]
    return arrange(pasts, layout.rows, layout.rows, masks, len(layout.places), like, at_once)


def places_of(piece: Piece) -> NDArray[np.int64]:
    """The position of each token of the piece in its text."""
    return piece.tree.depths + piece.past_length


def mask_of(piece: Piece, window: int | None = None) -> NDArray[np.float32]:
    """The attention mask of a piece. A token sees the whole past, itself and its ancestors in the
    tree; with `window`, only the last `window` tokens of its text."""
    nodes, past = len(piece.tree.tokens), piece.past_length
    mask = np.zeros((nodes, past + nodes), dtype=np.float32)
    mask[:, past:][~piece.tree.sees] = -np.inf
    if window is not None:
        places = places_of(piece)
        mask[places[:, None] - np.concatenate([np.arange(past), places]) >= window] = -np.inf
    return mask


def _joined(parts: Sequence[NDArray[np.int64]], tile: int | None) -> NDArray[np.int64]:
    """The parts concatenated and zero-padded to a multiple of the tile."""
    length = sum(map(len, parts))
    out = np.zeros(rounded_up(length, tile or EVEN), dtype=np.int64)
    np.concatenate(parts, out=out[:length])
    return out


def _slices(lengths: Sequence[int]) -> tuple[slice, ...]:
    stops = list(accumulate(lengths))
    return tuple(slice(stop - n, stop) for stop, n in zip(stops, lengths, strict=True))
