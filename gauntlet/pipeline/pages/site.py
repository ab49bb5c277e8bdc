"""All pages as one application."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from fastapi import FastAPI
from nicegui import app as nicegui_app
from nicegui import ui

from gauntlet.pipeline.library import Library
from gauntlet.pipeline.pages import match, matches, play, run, runs
from gauntlet.pipeline.pages.access import OriginCheck
from gauntlet.pipeline.pages.frame import STYLE
from gauntlet.pipeline.viewer import data

ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" '
    'rx="6" fill="#0b6e99"/><path d="M9 22V10h14M9 22h14v-6h-6" fill="none" stroke="#fff" '
    'stroke-width="3"/></svg>'
)


def site(outputs: Path, hosts: Iterable[str] = (), configs: Sequence[Path] = ()) -> OriginCheck:
    """The pages for the folders under `outputs`. hosts: further names of this server. configs:
    further folders of configs."""
    register(outputs, configs)
    nicegui_app.config.quasar_config["loadingBar"]["skipHijack"] = True  # a bar without a name
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    ui.run_with(
        app,
        title="Gauntlet",
        language="en-US",
        favicon=ICON,
        dark=None,
        tailwind=False,
        show_welcome_message=False,
    )
    return OriginCheck(app, hosts)


def register(outputs: Path, configs: Sequence[Path] = ()) -> None:
    ui.add_css(STYLE, shared=True)
    ui.add_css(data.style(), shared=True)
    ui.add_head_html(f"<script>{data.SCRIPT.read_text(encoding='utf-8')}</script>", shared=True)
    library = Library(outputs)
    for page in (runs, run, matches, match):
        page.register(library)
    play.register(outputs, configs)
