"""A match move by move: the game's states, and how each decision was made."""

from __future__ import annotations

import asyncio

from markupsafe import Markup
from nicegui import background_tasks, html, ui
from nicegui import run as threads

from gauntlet.common.errors import UserError
from gauntlet.common.sanitize import visible
from gauntlet.pipeline.library import Library, Shelf
from gauntlet.pipeline.pages.frame import note, page_frame, words
from gauntlet.pipeline.pages.matches import link
from gauntlet.pipeline.pages.runs import link as run_link
from gauntlet.pipeline.viewer.data import Pack, Twin, divergence
from gauntlet.pipeline.viewer.judged import read_judged


def register(library: Library) -> None:
    @ui.page("/match")
    def page(run: str = "", id: str = "", twin: str = "") -> None:
        with page_frame(f"Match {id}", "Matches"):
            words("h1", f"Match {id}")
            waiting = note("looking for it in the log ...")
            place = html.div()

        async def show() -> None:
            try:
                shelf = library.shelf(run)
                await read_to(shelf, *filter(None, (id, twin)))
                viewer = await threads.io_bound(embedded, run, shelf, id, twin)
            except (UserError, OSError) as error:
                waiting.text = visible(str(error))
                waiting.classes(replace="warning")
                return
            waiting.delete()
            if viewer:
                with place:
                    ui.link(run, run_link(run))
                    made = ui.html(viewer, sanitize=False)
                ui.run_javascript(f"gauntlet.start(getHtmlElement({made.id}).firstElementChild)")

        ui.timer(0, show, once=True)


async def read_to(shelf: Shelf, *matches: str) -> None:
    """Read the log up to these matches, or to its end."""
    reading = background_tasks.create(threads.io_bound(shelf.refresh))
    while not shelf.entries.keys() >= {*matches} and not (reading.done() and not shelf.reading):
        await asyncio.sleep(0.1)  # the thread does not signal single matches


def embedded(run: str, shelf: Shelf, id: str, twin: str) -> Markup:
    """The viewer of a match, with another one of its deal beside it. Raises UserError."""
    match, judged, pack = shelf.match(id), read_judged(shelf.folder.path), Pack()
    other = shelf.match(twin) if twin else None
    parts = {twin: divergence(match.moves, other.moves)} if other else {}
    twins = [
        Twin(name, cell, link(run, id, name), parts.get(name)) for cell, name in shelf.twins(id)
    ]
    pack.add(match, judged, twins, link(run, id))
    if other:
        pack.add(other, judged, (), link(run, twin))
    return pack.embed(id, *([twin] if other else []))
