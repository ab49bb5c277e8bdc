"""Variance components of a balanced design.

The input holds one value per combination of factor levels: an array with one axis per factor. All
factors are random: their levels are samples. A factor may be nested in another, as the samples of a
deal are, which have nothing in common with another deal's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from math import nan, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtri

from gauntlet.stats import checks
from gauntlet.stats.checks import Floats

Effect = frozenset[int]
"""The axes that an effect depends on, including the axis of its nesting factor."""

MOST = 1e12
"""Degrees of freedom treated as infinite."""


@dataclass(frozen=True, slots=True)
class Component:
    """A variance with its confidence limits. The estimate is unbiased, so it can be negative, which
    means that the data show no such variance; the limits cannot."""

    variance: float
    low: float
    high: float


@dataclass(frozen=True)
class Anova:
    """Analysis of variance of a balanced design; entry i of each list belongs to effect i.

    names: axes with more than one level. effects: by size; the last is the residual, with which the
    highest interaction is confounded. sizes: numbers of level combinations; degrees, squares:
    degrees of freedom and mean squares.
    """

    names: tuple[str, ...]
    effects: tuple[Effect, ...]
    sizes: tuple[int, ...]
    degrees: tuple[int, ...]
    squares: tuple[float, ...]

    def effect(self, *names: str) -> Effect:
        """Return the effect of these factors."""
        return frozenset(self.names.index(name) for name in names)

    @cached_property
    def _weights(self) -> Floats:
        """Each variance as a sum of mean squares: (effects, effects).

        The expected mean square of A is the sum over all B that contain A of N / n_B times B's
        variance (R. L. Brennan (2001), Generalizability Theory, section 3.4).
        """
        full = max(self.sizes)
        expected = [
            [full / size * (a <= b) for b, size in zip(self.effects, self.sizes, strict=True)]
            for a in self.effects
        ]
        return np.linalg.inv(np.array(expected))

    def component(self, *effects: Effect, level: float = 0.95) -> Component:
        """Return the sum of the variances of these effects: method of moments, with the modified
        large-sample limits of N. Ting, R. K. Burdick, F. A. Graybill, S. Jeyaratnam and T.-F. C. Lu
        (1990), J. Stat. Comput. Simul. 35, 135-143 (Burdick and Graybill (1992), Confidence
        Intervals on Variance Components, section 3.3).

        The limits are exact for one normal mean square and good for combinations; negative ones
        become 0. Raises ValueError for a level outside (0, 1).
        """
        checks.inside(level, "level")
        weights = sum(self._weights[self.effects.index(effect)] for effect in effects)
        parts = np.asarray(weights) * np.array(self.squares)
        used = np.abs(weights) > 1e-12
        degrees = np.array(self.degrees, float)
        estimate, tail = float(parts.sum()), (1 - level) / 2
        plus, minus = used & (parts >= 0), used & (parts < 0)
        up, down = (parts[plus], degrees[plus]), (-parts[minus], degrees[minus])
        low = estimate - _lower_width(up, down, tail)
        high = estimate + _lower_width(down, up, tail)
        return Component(estimate, max(low, 0.0), max(high, 0.0))


def anova(
    values: ArrayLike, names: Sequence[str], within: Mapping[str, str] | None = None
) -> Anova:
    """Return the analysis of variance of `values`, one finite number per combination of levels.

    names: of the axes. within: maps a nested factor to the one around it. Axes with one level are
    dropped, and factors nested in them then count as not nested. Sums of squares by S. R. Searle,
    G. Casella and C. E. McCulloch (1992), Variance Components, chapter 4. Raises ValueError for
    names that do not match the axes, and if no factor has two levels.
    """
    x = checks.finite(np.asarray(values, float), "values")
    if x.ndim != len(names):
        raise ValueError(f"values need an axis for each of {', '.join(names)}, got {x.ndim}")
    varying = [name for name, size in zip(names, x.shape, strict=True) if size > 1]
    if not varying:
        raise ValueError("a component needs a factor of two levels or more")
    x = x.reshape([size for size in x.shape if size > 1])
    nested = {
        varying.index(inner): varying.index(outer)
        for inner, outer in (within or {}).items()
        if inner in varying and outer in varying
    }
    effects = _effects(len(varying), nested)
    sizes = [int(np.prod([x.shape[axis] for axis in effect])) for effect in effects]
    totals = [_total(x, effect) for effect in effects]
    correction = x.size * float(x.mean()) ** 2
    squares, degrees = list[float](), list[int]()
    for place, effect in enumerate(effects):
        parts = [at for at in range(place) if effects[at] < effect]
        degrees.append(sizes[place] - 1 - sum(degrees[at] for at in parts))
        squares.append(totals[place] - correction - sum(squares[at] for at in parts))
    means = [max(square, 0.0) / free for square, free in zip(squares, degrees, strict=True)]
    return Anova(tuple(varying), tuple(effects), tuple(sizes), tuple(degrees), tuple(means))


def _effects(axes: int, nested: Mapping[int, int]) -> list[Effect]:
    """Return every set of axes that contains the nesting axis of each nested one, by size."""
    sets = chain.from_iterable(combinations(range(axes), size) for size in range(1, axes + 1))
    closed = [one for one in sets if all(nested.get(axis, axis) in one for axis in one)]
    return list(map(frozenset, closed))


def _total(x: Floats, effect: Effect) -> float:
    """Return the sum over all values of the squared mean of the value's levels of this effect."""
    others = tuple(axis for axis in range(x.ndim) if axis not in effect)
    means = x.mean(axis=others) if others else x
    return x.size / means.size * float((means**2).sum())


def _lower_width(gain: tuple[Floats, Floats], loss: tuple[Floats, Floats], tail: float) -> float:
    """Return how far the lower limit lies below sum(gain) - sum(loss), each a list of terms and
    their degrees of freedom: V_L of Ting et al. With the lists swapped, how far the upper limit
    lies above: V_U, whose terms are those of V_L for the negated sum."""
    (up, free), (down, others) = gain, loss
    g, h = 1 - 1 / _point(tail, free, MOST), 1 / _point(1 - tail, others, MOST) - 1
    spread = float((g**2 * up**2).sum() + (h**2 * down**2).sum())
    for a, n, own in zip(up, free, g, strict=True):
        for b, m, other in zip(down, others, h, strict=True):
            point = _point(tail, n, m)
            spread += ((point - 1) ** 2 - own**2 * point**2 - other**2) / point * a * b
    for (a, n, own), (b, m, other) in combinations(zip(up, free, g, strict=True), 2):
        both = (1 - 1 / _point(tail, n + m, MOST)) ** 2 * (n + m) ** 2 / (n * m)
        spread += (both - own**2 * n / m - other**2 * m / n) / (len(up) - 1) * a * b
    return sqrt(spread) if spread > 0 else 0.0 if spread <= 0 else nan


def _point(tail: float, n: ArrayLike, m: ArrayLike) -> Floats:
    """Return the upper `tail` point of Fisher's F."""
    return np.asarray(fdtri(n, m, 1 - tail))
