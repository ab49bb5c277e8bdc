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


def differences(one: Any, other: Any, where: str = "") -> Iterator[Difference]:
    """Every place in which the two differ."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted({*one, *other}):
            both = one.get(key, ABSENT), other.get(key, ABSENT)
            yield from differences(*both, f"{where}.{key}".strip("."))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, both in enumerate(zip(one, other, strict=True)):
            yield from differences(*both, f"{where}.{number}".strip("."))
    elif not _same(one, other):
        yield Difference(where, one, other)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(one) is type(other) and bool(one == other)
