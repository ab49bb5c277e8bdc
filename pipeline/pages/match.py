"""*Match*."""

from __future__ import annotations

from pathlib import Path

from nicegui import ui

from pipeline.pages.frame import framed, note


def register(outputs: Path) -> None:
    """Serves /match."""

    @ui.page("/match")
    def page() -> None:
        with framed("Match"):
            ui.label("Match").classes("title").props("role=heading aria-level=1")
            note("Nothing here yet.")
