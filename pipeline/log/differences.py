"""Where two pieces of plain data differ."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

ABSENT = "nothing"
"""Stands for what only one of the two has."""
TOLERANCE = 1e-5
"""Floats that differ by less, or by less of their size, are the same: another machine may round in
another way."""


class Difference(NamedTuple):
    """A place, as keys and positions joined by dots, and what stands there in each."""

    where: str
    one: Any
    other: Any


def differences(left: Any, right: Any, where: str = "") -> Iterator[Difference]:
    """Every place in which the two differ."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for key in sorted({*left, *right}):
            both = left.get(key, ABSENT), right.get(key, ABSENT)
            yield from differences(*both, f"{where}.{key}".strip("."))
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for number, both in enumerate(zip(left, right, strict=True)):
            yield from differences(*both, f"{where}.{number}".strip("."))
    elif not _same(left, right):
        yield Difference(where, left, right)


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(left) is type(right) and bool(left == right)
