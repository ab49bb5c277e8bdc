"""What is drawn of a run's cells: intervals on one axis, and means as deals come in.

Drawings are elements, so that no text in them can become markup, and take their colours from the
page, light or dark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, floor, log10
from typing import Any

import numpy as np
from nicegui import html, ui

from gauntlet.pipeline.pages.frame import words
from gauntlet.pipeline.pages.run_status import Estimate
from gauntlet.pipeline.tables.scale import Scale

SERIES = 8
"""Curves that can be told apart; of more cells the first are drawn."""
WIDTH, HEIGHT, LEFT, RIGHT, BELOW = 640, 260, 62, 20, 24
"""Of a chart, in its own units, and the room around it."""
TICKS = 6
"""Of an axis, at the most."""


def intervals(found: Sequence[Estimate]) -> None:
    """A row a cell: name, interval with the mean and the baseline, and the figures in words. Cells
    of one measure share an axis."""
    for scale in dict.fromkeys(one.scale for one in found):
        own = [one for one in found if one.scale == scale]
        low, high = _range(own)
        with html.div().classes("intervals").props('role="list"'):
            for one in own:
                _interval(one, low, high)


def growth(found: Sequence[Estimate], scale: Scale) -> None:
    """The means after so many deals with their 95% intervals, each of one look; of one measure."""
    curves = [(one, one.curve) for one in found if one.scale == scale and one.curve is not None]
    curves = curves[:SERIES]
    if not curves:
        return
    most = max(float(curve[0, -1]) for _, curve in curves)
    baselines = sorted({one.baseline for one, _ in curves if not np.isnan(one.baseline)})
    low, high = _reach([curve for _, curve in curves], baselines, scale)
    across, up = (LEFT, WIDTH - RIGHT, 0.0, most), (HEIGHT - BELOW, 8, low, high)
    told = "; ".join(f"{one.name}: {one.told}" for one, _ in curves)
    box = {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img", "aria-label": told}
    with _node("svg", **box).classes("chart"):
        for value in _ticks(low, high):
            _across(_place(value, *up)).classes("grid")
            _text(scale.mean(value), LEFT - 6, _place(value, *up) + 4, "end")
        for deals in _ticks(0.0, most):
            _text(f"{deals:,.0f}", _place(deals, *across), HEIGHT - 6, "middle")
        for baseline in baselines:
            _across(_place(baseline, *up)).classes("baseline")
        for at, (_, curve) in enumerate(curves, 1):
            _curve(curve, at, across, up)
    with html.div().classes("key"):
        for at, (one, _) in enumerate(curves, 1):
            words("span", one.name).classes(f"series-{at}")
        told = f"raw {scale.words} after so many deals; bands: 95% intervals, each of one look"
        words("span", f"{told}; dashed: baseline" if baselines else told)


def _curve(curve: np.ndarray, at: int, across: Sequence[float], up: Sequence[float]) -> None:
    deals, means, lows, highs = curve
    x = [_place(each, *across) for each in deals]
    known = np.flatnonzero(~np.isnan(lows))
    band = [(x[i], _place(lows[i], *up)) for i in known]
    band += [(x[i], _place(highs[i], *up)) for i in known[::-1]]
    if band:
        _node("polygon", points=_points(band)).classes(f"band series-{at}")
    line = zip(x, (_place(mean, *up) for mean in means), strict=True)
    _node("polyline", points=_points(line)).classes(f"line series-{at}")


def _interval(one: Estimate, low: float, high: float) -> None:
    with html.div().classes("interval").props('role="listitem"'):
        words("span", one.name).classes("name")
        with html.span().classes("track").props('aria-hidden="true"'):
            if not np.isnan(one.low):
                left, right = _percent(one.low, low, high), _percent(one.high, low, high)
                html.i().style(f"left:{left:.2f}%;width:{right - left:.2f}%")
            if not np.isnan(one.baseline):
                html.u().style(f"left:{_percent(one.baseline, low, high):.2f}%")
            if not np.isnan(one.mean):
                html.b().style(f"left:{_percent(one.mean, low, high):.2f}%")
        words("span", one.told).classes("told")


def _range(found: Sequence[Estimate]) -> tuple[float, float]:
    """Of an axis that shows all of them."""
    drawn = np.array([[one.mean, one.low, one.high, one.baseline] for one in found])
    known = drawn[~np.isnan(drawn)]
    if not known.size:
        return 0.0, 1.0
    margin = 0.05 * (known.max() - known.min()) or 0.5
    return float(known.min() - margin), float(known.max() + margin)


def _reach(
    curves: Sequence[np.ndarray], also: Sequence[float], scale: Scale
) -> tuple[float, float]:
    """Of an axis for these curves; the first few deals, whose bands are wide, may leave it."""
    late = [curve[1:, max(0, curve.shape[1] // 10) :] for curve in curves]
    known = np.concatenate([np.array(also), *(each[~np.isnan(each)] for each in late)])
    margin = 0.02 * (known.max() - known.min()) or 0.5
    low, high = float(known.min() - margin), float(known.max() + margin)
    return (max(low, 0.0), min(high, 1.0)) if scale.share else (low, high)


def _ticks(low: float, high: float) -> list[float]:
    """Round values within a range."""
    unit = 10.0 ** floor(log10((high - low or 1.0) / TICKS))
    step = next(by * unit for by in (1, 2, 5, 10) if (high - low) / (by * unit) <= TICKS)
    return [at * step for at in range(ceil(low / step), floor(high / step) + 1)]


def _percent(value: float, low: float, high: float) -> float:
    return float(np.clip(100 * (value - low) / (high - low), 0, 100))


def _place(value: float, first: float, last: float, low: float, high: float) -> float:
    """Where a value of an axis from `low` to `high` lies between two ends."""
    share = float(np.clip((value - low) / (high - low or 1.0), 0, 1))
    return round(first + share * (last - first), 1)


def _points(places: Iterator[tuple[float, float]] | Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in places)


def _node(tag: str, **props: Any) -> ui.element:
    node = ui.element(tag)
    node.props.update(props)
    return node


def _across(y: float) -> ui.element:
    """A line from the one side of a chart to the other."""
    return _node("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y)


def _text(text: str, x: float, y: float, anchor: str) -> None:
    words("text", text).props.update({"x": x, "y": y, "text-anchor": anchor})
