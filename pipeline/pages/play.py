"""*Play*."""

from __future__ import annotations

from pathlib import Path

from nicegui import ui

from pipeline.pages.frame import framed, note


def register(outputs: Path) -> None:
    """Serves /play."""

    @ui.page("/play")
    def page() -> None:
        with framed("Play"):
            ui.label("Play").classes("title").props("role=heading aria-level=1")
            note("Nothing here yet.")
