"""*Matches*."""

from __future__ import annotations

from pathlib import Path

from nicegui import ui

from pipeline.pages.frame import framed, note


def register(outputs: Path) -> None:
    """Serves /matches."""

    @ui.page("/matches")
    def page() -> None:
        with framed("Matches"):
            ui.label("Matches").classes("title").props("role=heading aria-level=1")
            note("Nothing here yet.")
