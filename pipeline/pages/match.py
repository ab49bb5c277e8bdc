"""A match move by move: the game's states, and how each decision was made."""

from __future__ import annotations

import asyncio

from nicegui import background_tasks, events, ui
from nicegui import html as tags
from nicegui import run as threads

from gauntlet.common.errors import UserError
from gauntlet.common.sanitize import one_line, visible
from gauntlet.games.drawing import style_of
from gauntlet.pipeline.pages.frame import note, page_frame, words
from gauntlet.pipeline.pages.library import Library, Shelf
from gauntlet.pipeline.pages.matches import link
from gauntlet.pipeline.pages.runs import link as run_link
from gauntlet.pipeline.viewer import html
from gauntlet.pipeline.viewer.match import MatchView

KEYS = {"ArrowLeft": -1, "ArrowRight": 1, "PageUp": -10, "PageDown": 10}
"""How many plies a key moves."""
SCROLL = """
    const one = getHtmlElement(ID), list = one?.closest("ol");
    if (list) list.scrollTop = one.offsetTop - list.offsetTop - list.clientHeight / 2;
"""
"""Scrolls a move into view in the list of moves, without scrolling the page."""


def register(library: Library) -> None:
    @ui.page("/match")
    def page(run: str = "", id: str = "", ply: int = 0) -> None:
        with page_frame(f"Match {id}", "Matches"):
            words("h1", f"Match {id}")
            waiting = note("looking for it in the log ...")
            place = tags.div()

        async def show() -> None:
            try:
                shelf = library.shelf(run)
                await read_to(shelf, id)
                match = await threads.io_bound(shelf.match, id)
            except (UserError, OSError) as error:
                waiting.text = visible(str(error))
                waiting.classes(replace="warning")
                return
            waiting.delete()
            if match:
                with place:
                    _Viewer(run, match, ply)

        ui.timer(0, show, once=True)


async def read_to(shelf: Shelf, match: str) -> None:
    """Read the log up to the match, or to its end."""
    reading = background_tasks.create(threads.io_bound(shelf.refresh))
    while match not in shelf.kept and not (reading.done() and not shelf.reading):
        await asyncio.sleep(0.1)  # the thread does not signal single matches


class _Viewer:
    """A match at one of its plies; the last position is the end."""

    def __init__(self, run: str, match: MatchView, ply: int) -> None:
        self._run, self._match = run, match
        self._last = len(match.plies)
        ui.add_css(style_of(match.game))
        _facts(run, match)
        with tags.div().classes("viewer"):
            with tags.div().classes("moves"):
                self._controls()
                self._moves()
            self._place = ui.html().classes("ply")
        ui.keyboard(self._key)
        self._go(ply)

    def _controls(self) -> None:
        with tags.div().classes("controls"):
            steps = {
                "first": ("first_page", -self._last),
                "back": ("chevron_left", -1),
                "on": ("chevron_right", 1),
                "last": ("last_page", self._last),
            }
            for name, (icon, by) in steps.items():
                button = ui.button(icon=icon, on_click=lambda by=by: self._go(self._at + by))
                button.props(f'flat dense aria-label="{name}"').mark(name)
            self._where = tags.span()
        self._slider = ui.slider(min=0, max=self._last, value=0).props('aria-label="ply"')
        self._slider.on_value_change(lambda event: self._go(int(event.value)))

    def _moves(self) -> None:
        self._links: list[ui.element] = []
        with tags.ol(start=0).classes("list"):
            for ply in self._match.plies:
                moves = (f"{each.seat}: {one_line(each.move, 60)}" for each in ply.decisions)
                with tags.li():
                    button = words("button", "; ".join(moves)).props('type="button"')
                button.on("click", lambda at=ply.number: self._go(at))
                if any(each.fallback for each in ply.decisions):
                    button.classes("warning")
                self._links.append(button)

    def _key(self, event: events.KeyEventArguments) -> None:
        if event.action.keydown and event.key.name in KEYS and not event.modifiers.alt:
            self._go(self._at + KEYS[event.key.name])

    _at = -1

    def _go(self, ply: int) -> None:
        """Show the ply of this number, or the nearest."""
        at = min(max(ply, 0), self._last)
        if at == self._at:
            return
        if 0 <= self._at < self._last:
            self._links[self._at].props(remove="aria-current")
        self._at = at
        self._slider.value = at
        self._where.clear()
        with self._where:
            note(f"ply {at} of {self._last}" if at < self._last else "over")
        if at < self._last:
            self._links[at].props('aria-current="step"')
            ui.run_javascript(SCROLL.replace("ID", f"{self._links[at].id}"))
        ui.navigate.history.replace(link(self._run, self._match.match, at))
        match = self._match
        shown = html.ply(match.game, match.plies[at]) if at < self._last else html.ending(match)
        self._place.content = str(shown)


def _facts(run: str, match: MatchView) -> None:
    with tags.dl().classes("facts"):
        words("dt", "run")
        with tags.dd():
            ui.link(run, run_link(run))
        for term, values in match.facts:
            words("dt", term)
            words("dd", "; ".join(values))
