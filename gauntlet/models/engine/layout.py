"""The layout of a flat pass: which rows belong to which piece, and which tokens each row sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gauntlet.models.engine.attention import EVEN, Attention, KeysValues, arrange
from gauntlet.models.engine.tiles import rounded_up
from gauntlet.models.engine.trie import PromptTree


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
    asked: number of real rows in `answers`.
    """

    tokens: Tensor
    places: Tensor
    furthest: int
    rows: tuple[slice, ...]
    all: Attention
    ends: Attention
    answers: Tensor
    asked: int


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
        asked=asks[-1].stop,
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
