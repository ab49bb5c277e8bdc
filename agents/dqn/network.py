"""The Q-network at play, in numpy: trained weights, and what they say each code is worth."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Network(NamedTuple):
    """A multilayer perceptron with tanh between its layers.

    weights: a float32 matrix a layer, of shape (inputs, outputs). biases: float32 of (outputs,).
    """

    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]

    def values(self, features: np.ndarray) -> np.ndarray:
        """features: (decisions, features). Returns the worth of every code, legal or not: the
        discounted result expected of it, float32 of shape (decisions, codes)."""
        hidden = features @ self.weights[0] + self.biases[0]
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            hidden = np.tanh(hidden) @ weight + bias
        return np.asarray(hidden)


def save(path: Path, networks: Sequence[Network]) -> None:
    """Writes networks of one shape, one a seed; the same bytes for the same weights."""
    arrays = {}
    for layer in range(len(networks[0].weights)):
        arrays[f"weight{layer}"] = np.stack([network.weights[layer] for network in networks])
        arrays[f"bias{layer}"] = np.stack([network.biases[layer] for network in networks])
    np.savez_compressed(path, allow_pickle=False, **arrays)


@lru_cache
def load(path: Path) -> tuple[Network, ...]:
    """The networks that `save` wrote."""
    with np.load(path) as arrays:
        layers = range(len(arrays.files) // 2)
        weights = [arrays[f"weight{layer}"] for layer in layers]
        biases = [arrays[f"bias{layer}"] for layer in layers]
    seeds = range(len(weights[0]))
    return tuple(
        Network(tuple(weight[seed] for weight in weights), tuple(bias[seed] for bias in biases))
        for seed in seeds
    )
