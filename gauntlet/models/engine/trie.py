"""The prompts of one decision as a token trie, so that shared tokens are computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class PromptTree:
    """The nodes of a trie of token sequences, parents before children.

    tokens: (nodes,) token ids.
    depths: (nodes,) number of tokens before a node in its sequence.
    sees: (nodes, nodes) whether the row's node attends to the column's: to itself and ancestors.
    ends: (sequences,) the node of each sequence's last token, in the order given.
    """

    tokens: NDArray[np.int64]
    depths: NDArray[np.int64]
    sees: NDArray[np.bool_]
    ends: NDArray[np.int64]


def grow(sequences: Sequence[list[int]]) -> PromptTree:
    """The tree of non-empty sequences. Its layout depends only on them."""
    # In sorted order a sequence shares most with its predecessor, so one comparison places it.
    order = sorted(range(len(sequences)), key=lambda index: sequences[index])
    paths: list[NDArray[np.int64]] = []
    shared_lengths: list[int] = []
    tokens: list[int] = []
    ends = np.zeros(len(sequences), dtype=np.int64)
    before: list[int] = []
    for index in order:
        sequence = sequences[index]
        shared = shared_length(before, sequence)
        new = np.arange(len(tokens), len(tokens) + len(sequence) - shared)
        path = np.concatenate([paths[-1][:shared], new]) if paths else new
        tokens.extend(sequence[shared:])
        ends[index] = path[-1]
        paths.append(path)
        shared_lengths.append(shared)
        before = sequence
    return _laid_out(tokens, paths, shared_lengths, ends)


def _laid_out(
    tokens: list[int],
    paths: list[NDArray[np.int64]],
    shared_lengths: list[int],
    ends: NDArray[np.int64],
) -> PromptTree:
    sees = np.zeros((len(tokens), len(tokens)), dtype=np.bool_)
    depths = np.zeros(len(tokens), dtype=np.int64)
    for path, shared in zip(paths, shared_lengths, strict=True):
        new = path[shared:]
        if not len(new):
            continue
        first, last = new[0], new[-1] + 1
        sees[first:last, path[:shared]] = True
        sees[first:last, first:last] = np.tri(len(new), dtype=np.bool_)
        depths[first:last] = np.arange(shared, len(path))
    return PromptTree(np.array(tokens, dtype=np.int64), depths, sees, ends)


def shared_length(left: Sequence[Any], right: Sequence[Any]) -> int:
    """The length of the common prefix; both are lists, or both strings."""
    # Bisection: comparing slices is far cheaper than comparing tokens one at a time.
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def chain(tokens: Sequence[int]) -> PromptTree:
    """The tree of a single text without a query at its end."""
    return PromptTree(
        np.array(tokens, dtype=np.int64),
        np.arange(len(tokens)),
        np.tri(len(tokens), dtype=np.bool_),
        np.array([], dtype=np.int64),
    )
