"""Packed trees: the prompts of one decision in one row, their common beginning held once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class Target(NamedTuple):
    """What may come next at a place: token ids and their chances, both (choices,), how much it
    counts, and whether the network is to know it before its last layer."""

    ids: np.ndarray
    chances: np.ndarray
    weight: float = 1.0
    early: bool = False


@dataclass(frozen=True, slots=True)
class LessonTree:
    """Token ids of prompts that begin alike.

    stem: what the prompts share. branches: how each goes on. places: where answers are read, as
    indices into the stem and all branches laid end to end. targets: what should come after each
    place; () where nobody knows.
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

    ids, positions: (trees, length). seen: (trees, length, length), True where a token may look.
    asked: (trees, answers), the places (0 where a tree has fewer).
    real: (trees, answers), False where `asked` is padding.
    early: (trees, answers), True where the target is to be known before the last layer.
    """

    ids: Tensor
    positions: Tensor
    seen: Tensor
    asked: Tensor
    real: Tensor
    early: Tensor


def collate(trees: Sequence[LessonTree]) -> Batch:
    """One batch of all the trees."""
    count, length = len(trees), max(map(len, trees))
    answers = max(len(tree.places) for tree in trees)
    ids = np.zeros((count, length), np.int64)
    positions = np.zeros((count, length), np.int64)
    branch = np.full((count, length), -1)
    asked = np.zeros((count, answers), np.int64)
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
        asked[row, : len(tree.places)] = tree.places
        real[row, : len(tree.places)] = True
        early[row, : len(tree.targets)] = [target.early for target in tree.targets]
    return Batch(*map(torch.from_numpy, (ids, positions, visible(branch), asked, real, early)))


def wanted(trees: Sequence[LessonTree], vocabulary: int) -> Tensor:
    """The targets of all trees in order, float32 of shape (targets, vocabulary)."""
    targets = [target for tree in trees for target in tree.targets]
    chances = np.zeros((len(targets), vocabulary), np.float32)
    for row, target in enumerate(targets):
        chances[row, target.ids] = target.chances
    return torch.from_numpy(chances)


def visible(branch: np.ndarray) -> np.ndarray:
    """Which tokens each token may look at: itself, and earlier ones of the stem or its branch.

    branch: (trees, length), 0 in the stem, the branch's number beyond it, -1 for padding.
    """
    earlier = np.tri(branch.shape[1], dtype=bool)
    shared = branch[:, None, :] == 0
    own = branch[:, None, :] == branch[:, :, None]
    return np.asarray((shared | own) & earlier)
