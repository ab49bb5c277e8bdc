"""*Observe*."""

from __future__ import annotations

from pathlib import Path

from nicegui import html, ui

from pipeline.pages.frame import framed, note


def register(outputs: Path) -> None:
    """Serves /observe."""

    @ui.page("/observe")
    def page() -> None:
        with framed("Observe"):
            html.h1("Observe")
            note("Nothing here yet.")
