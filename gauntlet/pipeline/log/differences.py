"""Differences between two pieces of plain data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

ABSENT = "nothing"
"""Stands for a key that only one side has."""
TOLERANCE = 1e-5
"""Relative and absolute tolerance for floats: machines may round differently."""


class Difference(NamedTuple):
    """A dotted path of keys and indices, and the value on each side."""

    where: str
    left: Any
    right: Any


def differences(left: Any, right: Any, where: str = "") -> Iterator[Difference]:
    """Yield every difference."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for key in sorted({*left, *right}):
            pair = left.get(key, ABSENT), right.get(key, ABSENT)
            yield from differences(*pair, f"{where}.{key}".strip("."))
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for number, pair in enumerate(zip(left, right, strict=True)):
            yield from differences(*pair, f"{where}.{number}".strip("."))
    elif not _equal(left, right):
        yield Difference(where, left, right)


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(left) is type(right) and bool(left == right)
