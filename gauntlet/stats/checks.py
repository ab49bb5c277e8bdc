"""Shared argument checks. Each raises a ValueError with a one-line message."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
"""Real numbers of any shape; a numpy scalar where all arguments were scalars."""

Side = Literal["above", "below", "either"]
"""The alternative of a test: the value is above the null, below it, or either."""


def side(value: str) -> None:
    """Raises ValueError for an invalid Side."""
    if value not in get_args(Side):
        raise ValueError(f"side is one of {', '.join(get_args(Side))}, got {value!r}")


def counts(wins: ArrayLike, games: ArrayLike, name: str = "wins") -> tuple[Floats, Floats]:
    """Return both as arrays of one shape, checked to be integers with 0 <= wins <= games."""
    k, n = np.broadcast_arrays(np.asarray(wins, float), np.asarray(games, float))
    fits = (k >= 0) & (k <= n) & (k == np.floor(k)) & (n == np.floor(n)) & np.isfinite(n)
    if not fits.all():
        bad = f"{k[~fits][0]:g} of {n[~fits][0]:g}"
        raise ValueError(f"{name} must be whole numbers from 0 to the number of games, got {bad}")
    return k.copy(), n.copy()  # broadcast views are read-only, and some libraries write to them


def probabilities(values: ArrayLike, name: str) -> Floats:
    """Return `values` as an array, checked to lie in [0, 1]. Lets nan ("not available") through."""
    p = np.asarray(values, float)
    outside = (p < 0) | (p > 1)
    if outside.any():
        raise ValueError(f"{name} must lie between 0 and 1, got {p[outside][0]:g}")
    return p


def inside(value: float, name: str, low: float = 0.0, high: float = 1.0) -> float:
    """Return `value`, checked to lie strictly between `low` and `high`."""
    if not low < value < high:
        raise ValueError(f"{name} must lie strictly between {low:g} and {high:g}, got {value:g}")
    return value


def at_least_one(value: int, name: str) -> int:
    """Return `value`, checked to be a positive integer."""
    if value < 1 or value != int(value):
        raise ValueError(f"{name} must be a whole number from 1, got {value:g}")
    return int(value)


def one_per_deal(a: ArrayLike, b: ArrayLike) -> tuple[Floats, Floats]:
    """Return two lists of finite numbers, checked to be of equal length, one entry per deal."""
    x, y = np.asarray(a, float), np.asarray(b, float)
    if x.ndim != 1 or x.shape != y.shape:
        shapes = f"{_words(x.shape)} and {_words(y.shape)}"
        raise ValueError(f"paired values must be two lists of one length, got shapes {shapes}")
    finite(x, "paired values")
    finite(y, "paired values")
    return x, y


def finite(values: Floats, name: str) -> Floats:
    """Return `values`, checked to hold neither nan nor infinity."""
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite, got {values[~np.isfinite(values)][0]}")
    return values


def _words(shape: tuple[Any, ...]) -> str:
    return "x".join(map(str, shape)) or "scalar"
