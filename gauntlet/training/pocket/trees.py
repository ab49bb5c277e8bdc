"""Packed trees: the prompts of one decision in one row, with their common prefix stored once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class Target(NamedTuple):
    """The target distribution at a position: token ids and their probabilities, both (choices,),
    its weight, and whether the network should know it before its last layer."""

    ids: np.ndarray
    chances: np.ndarray
    weight: float = 1.0
    early: bool = False


@dataclass(frozen=True, slots=True)
class LessonTree:
    """Token ids of prompts with a common prefix.

    stem: the common prefix. branches: the continuations. places: where answers are read, as indices
    into the stem and all branches concatenated. targets: the target after each place; () if
    unknown.
    """

    stem: Sequence[int]
    branches: Sequence[Sequence[int]]
    places: Sequence[int]
    targets: Sequence[Target] = ()

    def __len__(self) -> int:
        return len(self.stem) + sum(map(len, self.branches))


@dataclass(frozen=True, slots=True)
class Batch:
    """Trees as tensors, padded to the longest one.

    ids, positions: (trees, length). seen: (trees, length, length), the attention mask.
    asked: (trees, answers), the places (0 where a tree has fewer).
    real: (trees, answers), False where `asked` is padding.
    early: (trees, answers), True where the target applies before the last layer.
    """

    ids: Tensor
    positions: Tensor
    seen: Tensor
    asked: Tensor
    real: Tensor
    early: Tensor


def collate(trees: Sequence[LessonTree]) -> Batch:
    """Collate the trees into one batch."""
    count, length = len(trees), max(map(len, trees))
    answers = max(len(tree.places) for tree in trees)
    ids = np.zeros((count, length), np.int64)
    positions = np.zeros((count, length), np.int64)
    branch = np.full((count, length), -1)
    asked_positions = np.zeros((count, answers), np.int64)
    real, early = np.zeros((2, count, answers), bool)
    for row, tree in enumerate(trees):
        stem = end = len(tree.stem)
        ids[row, :stem] = tree.stem
        positions[row, :stem] = range(stem)
        branch[row, :stem] = 0
        for number, tokens in enumerate(tree.branches, start=1):
            start, end = end, end + len(tokens)
            ids[row, start:end] = tokens
            positions[row, start:end] = range(stem, stem + len(tokens))
            branch[row, start:end] = number
        asked_positions[row, : len(tree.places)] = tree.places
        real[row, : len(tree.places)] = True
        early[row, : len(tree.targets)] = [target.early for target in tree.targets]
    return Batch(
        *map(torch.from_numpy, (ids, positions, visible(branch), asked_positions, real, early))
    )


def target_matrix(trees: Sequence[LessonTree], vocabulary: int) -> Tensor:
    """Return the targets of all trees in order, float32 of shape (targets, vocabulary)."""
    targets = [target for tree in trees for target in tree.targets]
    chances = np.zeros((len(targets), vocabulary), np.float32)
    for row, target in enumerate(targets):
        chances[row, target.ids] = target.chances
    return torch.from_numpy(chances)


def visible(branch: np.ndarray) -> np.ndarray:
    """Return the attention mask: each token attends to itself and earlier ones of the stem or its
    branch.

    branch: (trees, length), 0 in the stem, the branch's number beyond it, -1 for padding.
    """
    earlier = np.tri(branch.shape[1], dtype=bool)
    shared = branch[:, None, :] == 0
    own = branch[:, None, :] == branch[:, :, None]
    return np.asarray((shared | own) & earlier)
