"""*Runs*."""

from __future__ import annotations

from pathlib import Path

from nicegui import ui

from pipeline.pages.frame import framed, note


def register(outputs: Path) -> None:
    """Serves /."""

    @ui.page("/")
    def page() -> None:
        with framed("Runs"):
            ui.label("Runs").classes("title").props("role=heading aria-level=1")
            note("Nothing here yet.")
