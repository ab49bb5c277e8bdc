"""The prompts of one decision as a tree of tokens, so that what they share is computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class PromptTree:
    """The nodes of a trie of token sequences, each after its parent.

    tokens: (nodes,) token ids.
    depths: (nodes,) how many tokens of its sequence come before a node.
    sees: (nodes, nodes) whether the row's node attends to the column's: to itself and ancestors.
    ends: (sequences,) the node of each sequence's last token, in the order they were given.
    """

    tokens: NDArray[np.int64]
    depths: NDArray[np.int64]
    sees: NDArray[np.bool_]
    ends: NDArray[np.int64]


def grow(sequences: Sequence[list[int]]) -> PromptTree:
    """The tree of the sequences, none of them empty. Its layout depends on nothing else."""
    # In sorted order a sequence shares most with the one before it, so one comparison places it.
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
    """How many items the two begin with in common; both are lists, or both strings."""
    # By halves: comparing slices is far cheaper than comparing tokens one at a time.
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def chain(tokens: Sequence[int]) -> PromptTree:
    """The tree of one text at whose end nothing is asked."""
    return PromptTree(
        np.array(tokens, dtype=np.int64),
        np.arange(len(tokens)),
        np.tri(len(tokens), dtype=np.bool_),
        np.array([], dtype=np.int64),
    )
