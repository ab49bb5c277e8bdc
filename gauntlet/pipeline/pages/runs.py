"""*Runs*: every run under the directory, most recently written first, updated live."""

from __future__ import annotations

import threading
from urllib.parse import urlencode

from nicegui import background_tasks, html, run, ui

from gauntlet.common.errors import counted
from gauntlet.common.process import invocation
from gauntlet.pipeline.library import SUMMARY, Library
from gauntlet.pipeline.pages import charts
from gauntlet.pipeline.pages.frame import drawing, note, page_frame, words
from gauntlet.pipeline.pages.run_status import RunStatus, glance

EVERY = 2.0
"""Seconds between updates, the interval at which runs report."""
SHOWN = 20
"""Runs on the page; others can be found by name."""
ESTIMATES = 6
"""Cells of a run whose means are shown here; its own page has all."""


def register(library: Library) -> None:
    reader = threading.Lock()

    @ui.page("/")
    async def page() -> None:
        with page_frame("Runs"):
            words("h1", "Runs")
            search_field = (
                ui.input("Find a run by its name").classes("find").props("dense clearable")
            )
            status_note = note("looking ...")
            cards = html.div()
        board = _Board(cards)

        async def look() -> None:
            names = await run.io_bound(library.names) or []
            chosen = [name for name in names if (search_field.value or "").lower() in name.lower()]
            found = await run.io_bound(_glances, library, chosen[:SHOWN])
            if cards.is_deleted:
                return  # the page was closed meanwhile
            status_note.text = _count_text(library, names, chosen)
            board.show(found or [])
            background_tasks.create(run.io_bound(_read_on, library, chosen[:SHOWN], reader))

        search_field.on_value_change(look)
        ui.timer(EVERY, look)


class _Board:
    """The cards on a page; a card is redrawn when it changes."""

    def __init__(self, place: ui.element) -> None:
        self._place = place
        self._cards: dict[str, _Card] = {}

    def show(self, statuses: list[RunStatus]) -> None:
        """Show exactly these runs, in this order."""
        for name in self._cards.keys() - {one.name for one in statuses}:
            self._cards.pop(name).box.delete()
        for at, status in enumerate(statuses):
            if status.name not in self._cards:
                with self._place:
                    self._cards[status.name] = _Card(status.name)
            card = self._cards[status.name]
            card.show(status)
            if self._place.default_slot.children.index(card.box) != at:
                card.box.move(self._place, target_index=at)


class _Card:
    """A run on the page. Its link is never replaced, so that keyboard focus is not lost."""

    def __init__(self, name: str) -> None:
        self._before = ""
        with html.article().classes("card") as self.box:
            with html.h2():
                ui.link(name, link(name))
            self._body = html.div()

    def show(self, status: RunStatus) -> None:
        if str(status) == self._before:
            return
        self._before = str(status)
        self._body.clear()
        with self._body:
            summary(status)
            drawing(charts.intervals(status.estimates[:ESTIMATES]))
            if len(status.estimates) > ESTIMATES:
                note(f"and {len(status.estimates) - ESTIMATES:,} further cells")


def summary(status: RunStatus) -> None:
    """What was played and found, and the state."""
    if status.title:
        words("p", status.title).classes("played")
    for paragraph in status.verdict:
        words("p", paragraph).classes("verdict")
    with html.div().classes("line"):
        words("span", status.state).classes(f"state {status.state}")
        note(status.headline)
    if status.share is not None and status.state not in ("finished", "imported", "simulated"):
        bar = ui.linear_progress(round(status.share, 4), show_value=False).classes("bar")
        bar.props(f'aria-label="{status.share:.0%} done"')
    note(status.pace)
    for told in status.warnings:
        note(told, warning=True)


def link(name: str) -> str:
    return f"/run?{urlencode({'name': name})}"


def _count_text(library: Library, names: list[str], chosen: list[str]) -> str:
    if not names:
        return (
            f"{library.outputs} holds no runs yet. `{invocation('pipeline.run')}` plays "
            "one; it shows up "
            "here by itself."
        )
    shown = min(len(chosen), SHOWN)
    return f"{shown:,} of {counted(len(names), 'run')} under {library.outputs}"


def _glances(library: Library, names: list[str]) -> list[RunStatus]:
    """The states available without reading logs."""
    return [glance(name, library.shelf(name)) for name in names]


def _read_on(library: Library, names: list[str], reader: threading.Lock) -> None:
    """Read the logs of runs in progress or without tables; for one page at a time."""
    if not reader.acquire(blocking=False):
        return
    try:
        for name in names:
            shelf = library.shelf(name)
            tables = (shelf.folder.path / SUMMARY).exists()
            if shelf.run.get("state") != "finished" or not tables:
                shelf.refresh()
    finally:
        reader.release()
