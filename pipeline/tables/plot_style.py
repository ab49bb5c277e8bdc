"""How figures look: colours that read on white and on black, two widths, and files of them.

A figure is as wide as its medium, and all of it lies inside. On the page its colours are CSS
variables, which a dark page sets anew; in files they are these, on white.
"""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakSet

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

matplotlib.rcParams["text.parse_math"] = False  # a `$` in a label is a `$`

INK, MUTED, PALE, GROUND = "#1f2933", "#7b8794", "#e6eaee", "#fefefe"
ACCENT, CONTRAST = "#0b6e99", "#c2410c"
COLOURS = (ACCENT, CONTRAST, "#7e22ce", "#a16207", "#0f766e", "#be185d", "#475569", "#4d7c0f")
DASHES: Sequence[Any] = (
    *("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5))),
    *("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5))),
)
"""What tells a line from another besides its colour."""
SIZE = 7.5
"""Type, in points."""

THEME = {INK: "ink", MUTED: "muted", PALE: "line", GROUND: "ground", ACCENT: "accent"}
THEME |= {colour: f"series-{at}" for at, colour in enumerate(COLOURS[1:], 2)}
"""The CSS variables of the page, by the colour that each has on white."""
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
"""What a page needs beside --ink, --muted, --line, --accent and --ground."""


@dataclass(frozen=True)
class Medium:
    """What a figure is drawn for. width: in inches."""

    name: str
    width: float


WIDE, COLUMN = Medium("wide", 7.0), Medium("column", 3.3)
"""A page, or a screen; a column of two, or a telephone."""
NARROW = 5.0
"""Inches below which names have no room beside what they name."""


@contextmanager
def drawn_for(medium: Medium) -> Iterator[None]:
    """Figures that are made meanwhile are as wide as this, and of this look."""
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
    """That of a figure made now, in inches."""
    return float(matplotlib.rcParams["figure.figsize"][0])


def narrow() -> bool:
    """Whether a figure made now has little room."""
    return width() < NARROW


def room(share: float) -> int:
    """How many characters have room on this share of the width."""
    return int(share * width() * 72 / (0.6 * SIZE))


def shortened(name: str, most: int) -> str:
    """The name, of a long one both ends, where names differ."""
    half = (most - 3) // 2
    return name if len(name) <= most else f"{name[:half]}...{name[-half:]}"


def wrapped(text: str, share: float = 0.95) -> str:
    """The text in lines of so much of the width; line breaks stay."""
    return "\n".join("\n".join(textwrap.wrap(line, room(share))) for line in text.split("\n"))


def canvas(height: float) -> tuple[Figure, Axes]:
    """One pair of axes. height: in inches."""
    figure, axes = panels(1, 1, height)
    return figure, axes[0]


def panels(lines: int, columns: int, height: float, **more: Any) -> tuple[Figure, list[Axes]]:
    """So many pairs of axes, line by line. more: as `Figure.subplots` has it."""
    figure = Figure(figsize=(width(), height), layout="constrained")
    found = list(figure.subplots(lines, columns, squeeze=False, **more).flat)
    for axes in found:
        axes.tick_params(labelsize=SIZE - 0.5, width=0.6, length=2.5)
        axes.tick_params(color=MUTED, labelcolor=INK)  # later ticks too, made when all is drawn
    return figure, found


def titled(figure: Figure, text: str) -> None:
    """What the figure shows, at its top; it is the caption where it is printed."""
    figure.suptitle(wrapped(text), x=0.01, ha="left", fontweight="bold")


def keyed(figure: Figure, columns: int = 2) -> None:
    """A legend of all that has a label, once, under everything."""
    known: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            known.setdefault(label, handle)
    if known:
        columns = 1 if narrow() else min(columns, len(known))
        labels = [shortened(label, room(0.85 / columns)) for label in known]
        handles = list(known.values())
        figure.legend(handles, labels, loc="outside lower left", ncols=columns, frameon=False)


def rows() -> int:
    """How many rows with names there is room for, on a page of a paper too."""
    return 24 if narrow() else 40


def row_height(number: int) -> float:
    """Of one of so many rows with a name, in inches: in little room the name stands above what it
    names."""
    most, least = (0.36, 0.3) if narrow() else (0.26, 0.19)
    return max(least, most - (most - least) * max(0, number - 10) / 14)


def name_rows(
    axes: Axes, places: Sequence[float], names: Sequence[str], above: bool, share: float = 1.0
) -> None:
    """A row a name, the first on top. above: the names stand over their rows, which have this share
    of the width, not beside them."""
    if not above:
        axes.set_yticks(places, [shortened(name, room(0.36)) for name in names])
        axes.set_ylim(places[-1] + 0.6, -0.6)
        return
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    for place, name in zip(places, names, strict=True):
        axes.annotate(
            shortened(name, room(0.92 * share)),
            (0, place - 0.22),
            xycoords=axes.get_yaxis_transform(),
            va="bottom",
            fontsize=SIZE - 0.5,
            bbox={"facecolor": GROUND, "pad": 0.8, "linewidth": 0},
            zorder=4,
            in_layout=False,
        )
    axes.set_ylim(places[-1] + 0.4, -0.75)


def svg(figure: Figure, name: str = "") -> str:
    """The figure as an <svg> element on no ground, its colours those of THEME.

    name: what tells it from the other figures of a page, whose parts must not be called alike.
    """
    text = io.StringIO()
    style: Any = {"svg.fonttype": "none", "svg.hashsalt": name}
    with matplotlib.rc_context(style), _any_script(), _as_laid_out(figure):
        figure.savefig(text, format="svg", dpi=150, facecolor="none", metadata={"Date": None})
    told = text.getvalue()
    told = told[told.index("<svg") :]
    told = re.sub(r"\s*<metadata>.*?</metadata>", "", told, count=1, flags=re.DOTALL)
    told = re.sub(r'<g id="[^"]*"', "<g", told)
    told = re.sub(r" font-family: [^;\"]*;", "", told)  # the page has its own
    return re.sub(r"\b(fill|stroke): (#[0-9a-f]{6})", _variable, told)


def _variable(found: re.Match[str]) -> str:
    name = THEME.get(found[2])
    return f"{found[1]}: var(--{name}, {found[2]})" if name else found[0]


def save_png(figures: dict[str, Figure], folder: Path) -> None:
    """Writes NAME.png of each; the folder is made where there is none."""
    folder.mkdir(exist_ok=True)
    for name, figure in figures.items():
        with _any_script():
            figure.savefig(folder / f"{name}.png", dpi=200, bbox_inches="tight")
        _LAID_OUT.add(figure)


def save_pdf(figure: Figure, file: Path) -> None:
    """Writes the figure as lines and text, its fonts embedded as TrueType, without its title."""
    figure.suptitle("")
    style: Any = {"pdf.fonttype": 42}
    with matplotlib.rc_context(style), _any_script():
        figure.savefig(file, format="pdf", dpi=300, metadata={"CreationDate": None})


_LAID_OUT: WeakSet[Figure] = WeakSet()
"""Figures that were saved as they are: all has its place, which takes longest."""


@contextmanager
def _as_laid_out(figure: Figure) -> Iterator[None]:
    """Nothing is moved meanwhile in a figure that was laid out before."""
    engine = figure.get_layout_engine()
    if figure in _LAID_OUT:
        figure.set_layout_engine("none")
    try:
        yield
    finally:
        figure.set_layout_engine(engine)


@contextmanager
def _any_script() -> Iterator[None]:
    """Characters that the font lacks are drawn as boxes, and nothing is said."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        yield
