"""The look of figures: colours for white and black pages, two widths, heat maps, and their files.

A figure is as wide as its medium. On the page its colours are CSS variables, which a dark page
redefines; in files they are these, on white.
"""

from __future__ import annotations

import html
import io
import re
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakSet

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from gauntlet.common.disk import naming

matplotlib.rcParams["text.parse_math"] = False  # a `$` in a label is a `$`

INK, MUTED, PALE, GROUND = "#1f2933", "#7b8794", "#e6eaee", "#fefefe"
ACCENT, CONTRAST = "#0b6e99", "#c2410c"
COLOURS = (ACCENT, CONTRAST, "#7e22ce", "#a16207", "#0f766e", "#be185d", "#475569", "#4d7c0f")
DASHES: Sequence[Any] = 2 * ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)))
"""Distinguish lines besides their colours."""
SIZE = 7.5
"""Font size, in points."""

THEME = {INK: "ink", MUTED: "muted", PALE: "line", GROUND: "ground", ACCENT: "accent"}
THEME |= {colour: f"series-{at}" for at, colour in enumerate(COLOURS[1:], 2)}
"""The page's CSS variable for each colour."""
ON_BLACK = ("#fb923c", "#c4a1ff", "#facc15", "#2dd4bf", "#f472b6", "#cbd5e1", "#a3e635")
PAGE_STYLE = f"""\
.drawing svg {{ display: block; width: 100%; max-width: 64rem; height: auto; }}
.drawing .column {{ display: none; }} .drawing .column svg {{ max-width: 34rem; }}
@media (max-width: 40rem) {{
  .drawing .wide {{ display: none; }} .drawing .column {{ display: block; }}
}}
@media screen and (prefers-color-scheme: dark) {{
  :root {{ {" ".join(f"--series-{at}: {colour};" for at, colour in enumerate(ON_BLACK, 2))} }}
}}
"""
"""What a page needs besides --ink, --muted, --line, --accent and --ground."""


@dataclass(frozen=True)
class Medium:
    """What a figure is drawn for. width: in inches."""

    name: str
    width: float


WIDE, COLUMN = Medium("wide", 7.0), Medium("column", 3.3)
"""A page or a screen; one of two columns, or a telephone."""
NARROW = 5.0
"""Below this width, in inches, row names do not fit beside their rows."""


@contextmanager
def drawing_for(medium: Medium) -> Iterator[None]:
    """Figures made in this context have the medium's width, and this look."""
    style: dict[Any, Any] = {
        "figure.figsize": (medium.width, 3.0),
        "font.size": SIZE,
        **dict.fromkeys(("axes.titlesize", "axes.labelsize", "figure.titlesize"), SIZE),
        **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), SIZE - 0.5),
        **dict.fromkeys(("text.color", "axes.labelcolor", "axes.titlecolor"), INK),
        **dict.fromkeys(("xtick.labelcolor", "ytick.labelcolor"), INK),
        **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), MUTED),
        **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
        "axes.facecolor": "none",
        "axes.linewidth": 0.6,
        "axes.titlelocation": "left",
    }
    with matplotlib.rc_context(style):
        yield


def width() -> float:
    """The current figure width, in inches."""
    return float(matplotlib.rcParams["figure.figsize"][0])


def narrow() -> bool:
    return width() < NARROW


def room(share: float) -> int:
    """The number of characters that fit on this share of the width."""
    return int(share * width() * 72 / (0.6 * SIZE))


def shorten(name: str, most: int) -> str:
    """The name; of a long one both ends, where names differ."""
    half = (most - 3) // 2
    return name if len(name) <= most else f"{name[:half]}...{name[-half:]}"


def wrap(text: str, share: float = 0.95) -> str:
    """The text wrapped to this share of the width, line by line."""
    return "\n".join("\n".join(textwrap.wrap(line, room(share))) for line in text.split("\n"))


def canvas(height: float) -> tuple[Figure, Axes]:
    """A figure with one pair of axes. height: in inches."""
    figure, axes = panels(1, 1, height)
    return figure, axes[0]


def panels(lines: int, columns: int, height: float, **more: Any) -> tuple[Figure, list[Axes]]:
    """A figure with a grid of axes, line by line. more: for `Figure.subplots`."""
    figure = Figure(figsize=(width(), height), layout="constrained")
    grid = list(figure.subplots(lines, columns, squeeze=False, **more).flat)
    for axes in grid:
        axes.tick_params(labelsize=SIZE - 0.5, width=0.6, length=2.5)
        axes.tick_params(color=MUTED, labelcolor=INK)  # also for ticks made when drawing
    return figure, grid


def set_title(figure: Figure, text: str) -> Figure:
    """Sets the title, which is the caption in print."""
    figure.suptitle(wrap(text), x=0.01, ha="left", fontweight="bold")
    return figure


def add_legend(figure: Figure, columns: int = 2) -> None:
    """One legend below all axes, each label once."""
    handles_by_label: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles_by_label.setdefault(label, handle)
    if handles_by_label:
        columns = 1 if narrow() else min(columns, len(handles_by_label))
        labels = [shorten(label, room(0.85 / columns)) for label in handles_by_label]
        handles = list(handles_by_label.values())
        figure.legend(handles, labels, loc="outside lower left", ncols=columns, frameon=False)


def max_rows() -> int:
    """The number of named rows that fit on a printed page."""
    return 24 if narrow() else 40


def row_height(count: int) -> float:
    """The height of one of `count` named rows, in inches; in narrow figures the name stands above
    its row."""
    most, least = (0.36, 0.3) if narrow() else (0.26, 0.19)
    return max(least, most - (most - least) * max(0, count - 10) / 14)


def label_rows(
    axes: Axes, places: Sequence[float], names: Sequence[str], above: bool, share: float = 1.0
) -> None:
    """Names the rows, the first on top: beside them or, with `above`, over them on this share of
    the width."""
    if not above:
        axes.set_yticks(places, [shorten(name, room(0.36)) for name in names])
        axes.set_ylim(places[-1] + 0.6, -0.6)
        return
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    for place, name in zip(places, names, strict=True):
        axes.annotate(
            shorten(name, room(0.92 * share)),
            (0, place - 0.22),
            xycoords=axes.get_yaxis_transform(),
            va="bottom",
            fontsize=SIZE - 0.5,
            bbox={"facecolor": GROUND, "pad": 0.8, "linewidth": 0},
            zorder=4,
            in_layout=False,
        )
    axes.set_ylim(places[-1] + 0.4, -0.75)


# --- heat maps

DARK_SHADE = 0.6
"""The part of the darkest shade above which text is white."""


def heat_map(
    axes: Axes,
    values: np.ndarray,
    most: float,
    texts: Sequence[Sequence[str]] = (),
    bold: np.ndarray | None = None,
) -> AxesImage:
    """Shades from -most to most, red above 0; nan stays empty. texts: one per field."""
    axes.set_facecolor(PALE)
    image = axes.imshow(
        values, "RdBu_r", vmin=-most, vmax=most, aspect="auto", interpolation="nearest"
    )
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    for row, line in enumerate(texts):
        for column, text in enumerate(line):
            value = values[row, column]
            on_shade = "white" if abs(value) > DARK_SHADE * most else "black"
            axes.text(
                *(column, row, text),
                ha="center",
                va="center",
                fontsize=SIZE - 1,
                fontweight="bold" if bold is not None and bold[row, column] else "normal",
                color=on_shade if np.isfinite(value) else INK,
            )
    return image


def label_heat_map(
    figure: Figure, axes: Axes, names: Sequence[str], both_axes: bool = False
) -> None:
    """Names the rows, with `both` the columns too; in narrow figures by numbers with a key."""
    labels = [shorten(name, room(0.3)) for name in names]
    if narrow():
        labels = [str(number) for number in range(1, len(names) + 1)]
        key = "\n".join(shorten(f"{at} {name}", room(0.95)) for at, name in enumerate(names, 1))
        figure.supxlabel(key, x=0.01, ha="left", fontsize=SIZE - 0.5)
    axes.set_yticks(range(len(names)), labels)
    if both_axes:
        axes.set_xticks(range(len(names)), labels)
        if not narrow():
            rotate_labels(axes)


def rotate_labels(axes: Axes) -> None:
    """The columns' names from bottom to top."""
    for label in axes.get_xticklabels():
        label.set(rotation=90, rotation_mode="anchor", ha="right", va="center")


def add_colour_bar(
    figure: Figure, axes: Axes | Sequence[Axes], image: AxesImage, label: str
) -> None:
    """The key of the shades: beside the map, or below it in narrow figures."""
    where, share = ("bottom", 0.9) if narrow() else ("right", 0.22)
    size = {"aspect": 30, "pad": 0.02} if narrow() else {"aspect": 25, "shrink": 0.8}
    more: dict[str, Any] = {"location": where, **size}
    bar = figure.colorbar(image, ax=axes, **more)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=SIZE - 0.5, length=2)
    bar.set_label(wrap(label, share))


# --- files


@dataclass(frozen=True)
class Drawing:
    """One figure in both widths. kind: the name under which its function is registered."""

    wide: Figure
    column: Figure
    kind: str

    @property
    def title(self) -> str:
        return " ".join(self.wide.get_suptitle().split())

    def html(self, name: str) -> str:
        """Both as <svg>; the page shows the one that fits (PAGE_STYLE)."""
        parts = (
            f'<div class="{medium.name}">{svg(figure, f"{name} {medium.name}")}</div>'
            for medium, figure in ((WIDE, self.wide), (COLUMN, self.column))
        )
        label = html.escape(self.title)
        return f'<div class="drawing" role="img" aria-label="{label}">{"".join(parts)}</div>'


def svg(figure: Figure, name: str = "") -> str:
    """The figure as an <svg> element without background, in the colours of THEME.

    name: makes its ids unique on the page.
    """
    file = io.StringIO()
    style: Any = {"svg.fonttype": "none", "svg.hashsalt": name}
    with matplotlib.rc_context(style), _no_glyph_warnings(), _fixed_layout(figure):
        figure.savefig(file, format="svg", dpi=150, facecolor="none", metadata={"Date": None})
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(r" font-family: [^;\"]*;", "", text)  # the page sets its own
    for colour, name in THEME.items():
        text = re.sub(rf"\b(fill|stroke): {colour}\b", rf"\1: var(--{name}, {colour})", text)
    return text


def save_png(figures: Mapping[str, Figure], folder: Path) -> None:
    """Writes NAME.png of each; makes the folder."""
    folder.mkdir(exist_ok=True)
    for name, figure in figures.items():
        file = folder / f"{name}.png"
        with _no_glyph_warnings(), naming(file):
            figure.savefig(file, dpi=200, bbox_inches="tight")
        _LAID_OUT.add(figure)


def save_pdf(figure: Figure, file: Path) -> None:
    """Writes the figure as vectors with TrueType fonts, without its title."""
    figure.suptitle("")
    style: Any = {"pdf.fonttype": 42}
    with matplotlib.rc_context(style), _no_glyph_warnings(), naming(file):
        figure.savefig(file, format="pdf", dpi=300, metadata={"CreationDate": None})


_LAID_OUT: WeakSet[Figure] = WeakSet()
"""Figures saved before: their layout, the slowest step, is done."""


@contextmanager
def _fixed_layout(figure: Figure) -> Iterator[None]:
    """Keeps the layout of a figure that was saved before."""
    engine = figure.get_layout_engine()
    if figure in _LAID_OUT:
        figure.set_layout_engine("none")
    try:
        yield
    finally:
        figure.set_layout_engine(engine)


@contextmanager
def _no_glyph_warnings() -> Iterator[None]:
    """Characters that the font lacks are drawn as boxes, silently."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        yield
