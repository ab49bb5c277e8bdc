"""Every registered figure of a folder, drawn in both widths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from gauntlet.pipeline.tables import plot_style
from gauntlet.pipeline.tables.plot_style import COLUMN, WIDE, Medium
from gauntlet.pipeline.tables.registry import Results, figures


@dataclass(frozen=True)
class Drawing:
    """One figure in both widths."""

    wide: Figure
    column: Figure

    @property
    def title(self) -> str:
        return " ".join(self.wide.get_suptitle().split())

    def html(self, name: str) -> str:
        """Both as <svg>; the page shows the one that fits (`plot_style.PAGE_STYLE`)."""
        shown = {WIDE.name: self.wide, COLUMN.name: self.column}
        drawn = (
            f'<div class="{medium}">{plot_style.svg(figure, f"{name} {medium}")}</div>'
            for medium, figure in shown.items()
        )
        return f'<div class="drawing">{"".join(drawn)}</div>'


def drawings(results: Results) -> dict[str, Drawing]:
    """By name, in the order in which they are shown."""
    wide, column = (_drawn(results, medium) for medium in (WIDE, COLUMN))
    return {name: Drawing(figure, column[name]) for name, figure in wide.items()}


def _drawn(results: Results, medium: Medium) -> dict[str, Figure]:
    found: dict[str, Figure] = {}
    with plot_style.drawn_for(medium):
        for name, draw in figures().items():
            drawn = draw(results)
            if isinstance(drawn, Figure):
                drawn = {name: drawn}
            found |= drawn or {}
    return found


def save_png(drawn: Mapping[str, Drawing], folder: Path) -> None:
    """Writes NAME.png of each; a picture of an earlier time that is none of these goes."""
    plot_style.save_png({name: one.wide for name, one in drawn.items()}, folder)
    for old in folder.glob("*.png"):
        if old.stem not in drawn:
            old.unlink()
