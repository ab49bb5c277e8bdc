"""Inference of the Q-network in numpy: trained weights and the value of each action code."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gauntlet.common.disk import write_atomically

UNREADABLE = (EOFError, KeyError, OSError, TypeError, ValueError, zipfile.BadZipFile, zlib.error)
"""What numpy raises for a truncated or damaged file, or one of another format."""


class Network(NamedTuple):
    """A multilayer perceptron with tanh between its layers.

    weights: one float32 matrix per layer, of shape (inputs, outputs).
    biases: one float32 vector per layer, of shape (outputs,).
    """

    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]

    def values(self, features: np.ndarray) -> np.ndarray:
        """The expected discounted result of every code, legal or not, float32 (decisions, codes).

        features: (decisions, features).
        """
        hidden = features @ self.weights[0] + self.biases[0]
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            hidden = np.tanh(hidden) @ weight + bias
        return np.asarray(hidden)


def save(path: Path, networks: Sequence[Network]) -> None:
    """Write networks of one shape, one per seed, atomically. The bytes depend only on the weights.
    Raises OSError."""
    arrays = {}
    for layer in range(len(networks[0].weights)):
        arrays[f"weight{layer}"] = np.stack([network.weights[layer] for network in networks])
        arrays[f"bias{layer}"] = np.stack([network.biases[layer] for network in networks])
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **arrays)
    write_atomically(path, packed.getvalue())


def load(path: Path) -> tuple[Network, ...]:
    """The networks that `save` wrote, one per seed. Raises ValueError if the file holds none."""
    try:
        weights, biases = _read(path)
    except UNREADABLE as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise ValueError(f"{path} holds no networks of training.dqn.train: {reason}") from error
    return tuple(
        Network(tuple(weight[seed] for weight in weights), tuple(bias[seed] for bias in biases))
        for seed in range(len(weights[0]))
    )


def _read(path: Path) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Weights and biases by layer, each with a leading seed axis."""
    with path.open("rb") as file, np.load(file) as arrays:
        layers = range(max(1, len(arrays.files) // 2))
        weights = [arrays[f"weight{layer}"] for layer in layers]
        biases = [arrays[f"bias{layer}"] for layer in layers]
    for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        seeds, inputs, outputs = weight.shape
        fits = layer == 0 or weights[layer - 1].shape[::2] == (seeds, inputs)
        if not fits or bias.shape != (seeds, outputs):
            raise ValueError(f"layer {layer} has weights {weight.shape} and biases {bias.shape}")
    return weights, biases
