"""*Play*."""

from __future__ import annotations

from pathlib import Path

from nicegui import html, ui

from pipeline.pages.frame import framed, note


def register(outputs: Path) -> None:
    """Serves /play."""

    @ui.page("/play")
    def page() -> None:
        with framed("Play"):
            html.h1("Play")
            note("Nothing here yet.")
