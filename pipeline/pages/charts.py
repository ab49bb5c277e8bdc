"""What is drawn of a run's cells: intervals on one axis, and means as deals come in.

Drawings are elements, so that no text in them can become markup, and take their colours from the
page, light or dark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from nicegui import html, ui
from nicegui.elements.mixins.text_element import TextElement

from pipeline.pages.standing import Estimate
from pipeline.tables.scale import Scale

SERIES = 8
"""Curves that can be told apart; of more cells the first are drawn."""
WIDTH, HEIGHT, LEFT, BELOW = 640, 260, 52, 24
"""Of a chart, in its own units, and the room of its two axes."""


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
    low, high = _reach([curve for _, curve in curves])
    across, up = (LEFT, WIDTH - 8, 0.0, most), (HEIGHT - BELOW, 8, low, high)
    told = "; ".join(f"{one.name}: {one.told}" for one, _ in curves)
    box = {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img", "aria-label": told}
    with _node("svg", **box).classes("chart"):
        for value in np.linspace(low, high, 5):
            y = _place(value, *up)
            _node("line", x1=LEFT, x2=WIDTH - 8, y1=y, y2=y).classes("grid")
            _text(scale.mean(value), LEFT - 6, y + 4, "end")
        for deals in np.unique(np.linspace(0, most, 5).astype(int)):
            _text(f"{deals:,}", _place(deals, *across), HEIGHT - 6, "middle")
        for at, (_, curve) in enumerate(curves, 1):
            _curve(curve, at, across, up)
    with html.div().classes("key"):
        for at, (one, _) in enumerate(curves, 1):
            html.span(one.name).classes(f"series-{at}")
        html.span(f"{scale.title} after so many deals; bands: 95% intervals, each of one look")


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
        html.span(one.name).classes("name")
        with html.span().classes("track").props('aria-hidden="true"'):
            if not np.isnan(one.low):
                left, right = _percent(one.low, low, high), _percent(one.high, low, high)
                html.i().style(f"left:{left:.2f}%;width:{right - left:.2f}%")
            if not np.isnan(one.baseline):
                html.u().style(f"left:{_percent(one.baseline, low, high):.2f}%")
            if not np.isnan(one.mean):
                html.b().style(f"left:{_percent(one.mean, low, high):.2f}%")
        html.span(one.told).classes("told")


def _range(found: Sequence[Estimate]) -> tuple[float, float]:
    """Of an axis that shows all of them."""
    drawn = np.array([[one.mean, one.low, one.high, one.baseline] for one in found])
    known = drawn[~np.isnan(drawn)]
    if not known.size:
        return 0.0, 1.0
    margin = 0.05 * (known.max() - known.min()) or 0.5
    return float(known.min() - margin), float(known.max() + margin)


def _reach(curves: Sequence[np.ndarray]) -> tuple[float, float]:
    """Of an axis for these curves; the first few deals, whose bands are wide, may leave it."""
    late = [curve[1:, max(0, curve.shape[1] // 10) :] for curve in curves]
    known = np.concatenate([each[~np.isnan(each)] for each in late])
    margin = 0.02 * (known.max() - known.min()) or 0.5
    return float(known.min() - margin), float(known.max() + margin)


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


def _text(text: str, x: float, y: float, anchor: str) -> None:
    node = TextElement(tag="text", text=text)
    node.props.update({"x": x, "y": y, "text-anchor": anchor})
