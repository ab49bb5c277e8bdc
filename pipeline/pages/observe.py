"""*Observe*."""

from __future__ import annotations

from pathlib import Path

from nicegui import ui

from pipeline.pages.frame import framed, note


def register(outputs: Path) -> None:
    """Serves /observe."""

    @ui.page("/observe")
    def page() -> None:
        with framed("Observe"):
            ui.label("Observe").classes("title").props("role=heading aria-level=1")
            note("Nothing here yet.")
