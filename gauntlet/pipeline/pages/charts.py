"""Charts of a run's cells: intervals on one axis, and curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike

from gauntlet.common.markup import join_markup, tag
from gauntlet.pipeline.pages.run_status import Estimate
from gauntlet.pipeline.tables.formatting import Scale

SERIES = 8
"""Maximum number of distinguishable curves; further ones are not drawn."""
LEFT, RIGHT, ABOVE, BELOW = 62, 20, 8, 24
"""The margins of a chart, in its own units."""
TICKS = 6
"""Maximum number of ticks of an axis."""


@dataclass(frozen=True)
class Curve:
    """Values along an axis, NaN where missing. band: its lower and upper limits."""

    name: str
    x: np.ndarray
    y: np.ndarray
    band: tuple[np.ndarray, np.ndarray] | None = None


@dataclass(frozen=True)
class Axes:
    """Maps values to positions in a chart of this size. x, y: the ranges of both axes."""

    width: float
    height: float
    x: tuple[float, float]
    y: tuple[float, float]

    def across(self, value: float) -> float:
        return _scaled(value, *self.x, LEFT, self.width - RIGHT)

    def up(self, value: float) -> float:
        return _scaled(value, *self.y, self.height - BELOW, ABOVE)

    def line(self, y: float, kind: str) -> Markup:
        """A horizontal line across the chart."""
        up, right = self.up(y), self.width - RIGHT
        return tag("line", x1=LEFT, x2=right, y1=up, y2=up, class_=kind)


def intervals(estimates: Sequence[Estimate]) -> Markup:
    """One row per cell: name, interval with mean and baseline, and the numbers as text. Cells with
    the same measure share an axis."""
    groups = []
    for scale in dict.fromkeys(one.scale for one in estimates):
        cells = [one for one in estimates if one.scale == scale]
        low, high = _range([[one.mean, one.low, one.high, one.baseline] for one in cells], 0.05)
        rows = (_interval(one, low, high) for one in cells)
        groups.append(tag("div", *rows, class_="intervals", role="list"))
    return join_markup(*groups)


def growth(estimates: Sequence[Estimate], scale: Scale) -> Markup:
    """The running means with their 95% intervals, each for a single look; for one measure."""
    cells = [one for one in estimates if one.scale == scale and one.curve is not None][:SERIES]
    data = [one.curve for one in cells if one.curve is not None]
    if not data:
        return Markup()
    curves = [
        Curve(one.name, deals, means, (lows, highs))
        for one, (deals, means, lows, highs) in zip(cells, data, strict=True)
    ]
    baselines = sorted({one.baseline for one in cells if not np.isnan(one.baseline)})
    # the wide bands of the first deals may leave the chart
    late = [each[1:, max(0, each.shape[1] // 10) :].ravel() for each in data]
    low, high = _range([*late, baselines], 0.02)
    if scale.share:
        low, high = max(low, 0.0), min(high, 1.0)
    axes = Axes(640, 260, (0.0, max(float(each[0, -1]) for each in data)), (low, high))
    label = "; ".join(f"{one.name}: {one.text}" for one in cells)
    note = f"raw {scale.words} by number of deals; bands: 95% intervals of a single look"
    note += "; dashed: baseline" * bool(baselines)
    return _chart(label, curves, axes, scale.mean, baselines, note)


def _chart(
    label: str,
    curves: Sequence[Curve],
    axes: Axes,
    text: Callable[[float], str],
    baselines: Sequence[float] = (),
    note: str = "",
) -> Markup:
    """A chart with its legend. text: formats a value of the vertical axis."""
    rows = [
        join_markup(
            axes.line(value, "grid"), _word(text(value), LEFT - 6, axes.up(value) + 4, "end")
        )
        for value in _ticks(*axes.y)
    ]
    columns = [
        _word(f"{value:,.0f}", axes.across(value), axes.height - 6)
        for value in _ticks(*axes.x)
        if value == round(value)
    ]
    drawing = tag(
        "svg",
        *(*rows, *columns, *(axes.line(value, "baseline") for value in baselines)),
        *(_curve(curve, at, axes) for at, curve in enumerate(curves, 1)),
        viewBox=f"0 0 {axes.width} {axes.height}",
        role="img",
        aria_label=label,
        class_="chart",
    )
    names = [tag("span", one.name, class_=f"series-{at}") for at, one in enumerate(curves, 1)]
    return join_markup(drawing, tag("div", *names, tag("span", note) if note else "", class_="key"))


def _curve(curve: Curve, at: int, axes: Axes) -> Markup:
    """A line, broken where values are missing, over its band."""
    x = [axes.across(each) for each in curve.x]
    parts = []
    if curve.band:
        low, high = curve.band
        known = np.flatnonzero(~np.isnan(low))
        ends = [(x[i], axes.up(low[i])) for i in known]
        ends += [(x[i], axes.up(high[i])) for i in known[::-1]]
        points = " ".join(f"{across},{up}" for across, up in ends)
        parts.append(tag("polygon", points=points, class_=f"band series-{at}"))
    path, down = "", False
    for across, value in zip(x, curve.y, strict=True):
        if not np.isnan(value):
            path += f"{'L' if down else 'M'}{across} {axes.up(value)}"
        down = not np.isnan(value)
    return join_markup(*parts, tag("path", d=path, class_=f"line series-{at}"))


def _interval(estimate: Estimate, low: float, high: float) -> Markup:
    parts = []
    if not np.isnan(estimate.low):
        left, right = (_scaled(end, low, high, 0, 100) for end in (estimate.low, estimate.high))
        parts.append(tag("i", style=f"left:{left}%;width:{right - left:.1f}%"))
    for name, value in (("u", estimate.baseline), ("b", estimate.mean)):
        if not np.isnan(value):
            parts.append(tag(name, style=f"left:{_scaled(value, low, high, 0, 100)}%"))
    return tag(
        "div",
        tag("span", estimate.name, class_="name"),
        tag("span", *parts, class_="track", aria_hidden="true"),
        tag("span", estimate.text, class_="told"),
        class_="interval",
        role="listitem",
    )


def _range(figures: Sequence[ArrayLike], margin: float) -> tuple[float, float]:
    """The range of an axis that shows all values, with this share of it as margin at both ends."""
    every = np.concatenate([np.asarray(each, float) for each in figures])
    finite = every[~np.isnan(every)]
    if not finite.size:
        return 0.0, 1.0
    free = margin * (finite.max() - finite.min()) or 0.5
    return float(finite.min() - free), float(finite.max() + free)


def _ticks(low: float, high: float) -> list[float]:
    """Round values within a range."""
    unit = 10.0 ** floor(log10((high - low or 1.0) / TICKS))
    step = next(by * unit for by in (1, 2, 5, 10) if (high - low) / (by * unit) <= TICKS)
    return [at * step for at in range(ceil(low / step), floor(high / step) + 1)]


def _scaled(value: float, low: float, high: float, first: float, last: float) -> float:
    """The position between two ends of a value on an axis from `low` to `high`."""
    share = float(np.clip((value - low) / (high - low or 1.0), 0, 1))
    return round(first + share * (last - first), 1)


def _word(word: str, x: float, y: float, anchor: str = "middle") -> Markup:
    return tag("text", word, x=x, y=y, text_anchor=anchor, class_="d-word")
