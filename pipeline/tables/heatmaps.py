"""Heat maps: shades around nothing with their numbers, names beside them or in a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from gauntlet.pipeline.tables import plot_style
from gauntlet.pipeline.tables.plot_style import INK, PALE, SIZE

LIGHT, DARK = "white", "black"
"""Text on a shade, which no page changes."""
SHADES = "RdBu_r"
DEEP = 0.6
"""The part of the darkest shade from which on text on it is light."""


def shaded(
    axes: Axes,
    shades: np.ndarray,
    most: float,
    texts: Sequence[Sequence[str]] | None = None,
    bold: np.ndarray | None = None,
) -> AxesImage:
    """A heat map from -most to most, red above 0; fields of nan stay empty. texts: one a field."""
    axes.set_facecolor(PALE)
    shown: dict[str, Any] = {
        "vmin": -most,
        "vmax": most,
        "aspect": "auto",
        "interpolation": "nearest",
    }
    image = axes.imshow(shades, SHADES, **shown)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    for row, line in enumerate(texts or ()):
        for column, text in enumerate(line):
            shade = shades[row, column]
            on_it = LIGHT if abs(shade) > DEEP * most else DARK
            axes.text(
                *(column, row, text),
                ha="center",
                va="center",
                fontsize=SIZE - 1,
                fontweight="bold" if bold is not None and bold[row, column] else "normal",
                color=on_it if np.isfinite(shade) else INK,
            )
    return image


def named(figure: Figure, axes: Axes, names: Sequence[str], both: bool = False) -> None:
    """Names of the rows, and of the columns too where they are the same; numbers with a key below
    where there is no room beside the rows."""
    shown = [plot_style.shortened(name, plot_style.room(0.3)) for name in names]
    if plot_style.narrow():
        shown = [str(number) for number in range(1, len(names) + 1)]
        lines = zip(shown, names, strict=True)
        key = [
            plot_style.shortened(f"{number} {name}", plot_style.room(0.95))
            for number, name in lines
        ]
        figure.supxlabel("\n".join(key), x=0.01, ha="left", fontsize=SIZE - 0.5)
    axes.set_yticks(range(len(names)), shown)
    if both:
        axes.set_xticks(range(len(names)), shown)
        if not plot_style.narrow():
            upright(axes)


def upright(axes: Axes) -> None:
    """The names of the columns from bottom to top."""
    for label in axes.get_xticklabels():
        label.set(rotation=90, rotation_mode="anchor", ha="right", va="center")


def scaled(figure: Figure, axes: Axes | Sequence[Axes], image: AxesImage, label: str) -> None:
    """The key of the shades: beside the map, or below it in little room."""
    where = "bottom" if plot_style.narrow() else "right"
    size: dict[str, Any] = (
        {"aspect": 30, "pad": 0.02} if plot_style.narrow() else {"aspect": 25, "shrink": 0.8}
    )
    bar = figure.colorbar(image, ax=axes, location=where, **size)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=SIZE - 0.5, length=2)
    bar.set_label(
        plot_style.wrapped(label, 0.9) if plot_style.narrow() else plot_style.wrapped(label, 0.22)
    )
