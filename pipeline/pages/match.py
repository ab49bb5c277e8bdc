"""A match move by move: the game as it was, and how each decision came about."""

from __future__ import annotations

import asyncio
import json

from nicegui import background_tasks, events, html, ui
from nicegui import run as threads

from gauntlet.common.errors import UserError
from gauntlet.common.sanitize import one_line, visible
from gauntlet.games.base import Game
from gauntlet.pipeline.log.replayed import Ply, ReplayedMatch, ReplayedTurn
from gauntlet.pipeline.log.trace import TracedPrompt
from gauntlet.pipeline.pages import drawn
from gauntlet.pipeline.pages.frame import framed, note, text_block, words
from gauntlet.pipeline.pages.library import Library, Shelf
from gauntlet.pipeline.pages.matches import link
from gauntlet.pipeline.pages.runs import link as run_link
from gauntlet.pipeline.tables.page import rows

KEYS = {"ArrowLeft": -1, "ArrowRight": 1, "PageUp": -10, "PageDown": 10}
"""How many plies a key goes on."""
SCROLL = """
    const one = getHtmlElement(ID), list = one?.closest("ol");
    if (list) list.scrollTop = one.offsetTop - list.offsetTop - list.clientHeight / 2;
"""
"""Brings a move into view in the list of moves, and leaves the page where it is."""


def register(library: Library) -> None:
    """Serves /match."""

    @ui.page("/match")
    def page(run: str = "", id: str = "", ply: int = 0) -> None:
        with framed(f"Match {id}", "Matches"):
            words("h1", f"Match {id}")
            waiting = note("looking for it in the log ...")
            place = html.div()

        async def show() -> None:
            try:
                shelf = library.shelf(run)
                await found(shelf, id)
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


async def found(shelf: Shelf, match: str) -> None:
    """Reads the log until the match is met, or to its end."""
    reading = background_tasks.create(threads.io_bound(shelf.refresh))
    while match not in shelf.kept and not (reading.done() and not shelf.reading):
        await asyncio.sleep(0.1)  # a thread fills the shelf, and tells of no single match


class _Viewer:
    """A match at one of its plies; the last place is the end."""

    def __init__(self, run: str, match: ReplayedMatch, ply: int) -> None:
        self._run, self._match = run, match
        self._last = len(match.plies)
        _facts(run, match)
        with html.div().classes("viewer"):
            with html.div().classes("moves"):
                self._controls()
                self._moves()
            self._place = html.div().classes("ply")
        ui.keyboard(self._key)
        self._go(ply)

    def _controls(self) -> None:
        with html.div().classes("controls"):
            steps = {
                "first": ("first_page", -self._last),
                "back": ("chevron_left", -1),
                "on": ("chevron_right", 1),
                "last": ("last_page", self._last),
            }
            for name, (icon, by) in steps.items():
                button = ui.button(icon=icon, on_click=lambda by=by: self._go(self._at + by))
                button.props(f'flat dense aria-label="{name}"').mark(name)
            self._where = html.span()
        self._slider = ui.slider(min=0, max=self._last, value=0).props('aria-label="ply"')
        self._slider.on_value_change(lambda event: self._go(int(event.value)))

    def _moves(self) -> None:
        self._links: list[ui.element] = []
        with html.ol(start=0).classes("list"):
            for ply in self._match.plies:
                told = "; ".join(f"{turn.seat}: {one_line(turn.move, 60)}" for turn in ply.turns)
                with html.li():
                    button = words("button", told).props('type="button"')
                button.on("click", lambda at=ply.number: self._go(at))
                if any(turn.fallback for turn in ply.turns):
                    button.classes("warning")
                self._links.append(button)

    def _key(self, event: events.KeyEventArguments) -> None:
        if event.action.keydown and event.key.name in KEYS and not event.modifiers.alt:
            self._go(self._at + KEYS[event.key.name])

    _at = -1

    def _go(self, ply: int) -> None:
        """Shows the ply of this number, or the nearest."""
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
        self._place.clear()
        with self._place:
            if at < self._last:
                _ply(self._match.game, self._match.plies[at])
            else:
                _board(self._match.game, self._match.ended)
                words("p", self._match.outcome.capitalize() + ".")


def _facts(run: str, match: ReplayedMatch) -> None:
    players = [
        f"{seat} {player}{' (measured)' if seat in match.measured else ''}"
        for seat, player in enumerate(match.players)
    ]
    returns = ", ".join(f"{value:g}" for value in match.returns)
    with html.dl().classes("facts"):
        words("dt", "run")
        with html.dd():
            ui.link(run, run_link(run))
        for term, text in (
            ("cell", match.cell),
            ("deal", f"{match.deal}, rotation {match.rotation}"),
            ("players", "; ".join(players)),
            ("outcome", f"{match.outcome}; returns {returns}"),
        ):
            words("dt", term)
            words("dd", text)


def _board(game: Game[object], state: object) -> None:
    ui.html(str(drawn.whole(game, state)))


def _ply(game: Game[object], ply: Ply) -> None:
    _board(game, ply.state)
    for turn in ply.turns:
        _turn(turn)


def _turn(turn: ReplayedTurn) -> None:
    with html.section().classes("turn"):
        words("h2", f"Player {turn.seat} plays {turn.move}").classes("part")
        note(_how(turn))
        if turn.forced and not turn.trace.asked:
            return
        _options(turn)
        for number, asked in enumerate(turn.trace.asked):
            _asked(number, asked, turn.trace.options)
        if turn.notes:
            with ui.expansion("notes").classes("prompt"):
                text_block(json.dumps(turn.notes, indent=1, ensure_ascii=False, default=str))


def _how(turn: ReplayedTurn) -> str:
    """The player, and how its decision came about."""
    told = [turn.player]
    if turn.forced:
        told.append("the only move")
    if turn.fallback:
        told.append(f"by fallback: the reply was {turn.status}")
    if turn.margin is not None:
        told.append(f"{turn.margin:.4f} ahead of the second best")
    if turn.tokens:
        told.append(f"{turn.tokens:,} tokens")
    return "; ".join(told)


def _options(turn: ReplayedTurn) -> None:
    """Each option with its score as a bar from zero; the one that was taken stands out."""
    found = rows(turn.trace.options, turn.trace.scores, turn.trace.chosen)
    with html.table().classes("options"):
        for row in found:
            with html.tr().classes("chosen" if row.chosen else ""):
                words("td", ("\N{BLACK RIGHT-POINTING SMALL TRIANGLE} " * row.chosen) + row.option)
                if row.bar is not None:
                    words("td", f"{row.score:+.4f}")
                    with html.td().classes("bar"):
                        html.i().style(f"left:{row.bar[0]}%;width:{row.bar[1]}%")


def _asked(number: int, asked: TracedPrompt, options: tuple[str, ...]) -> None:
    """A prompt as it was sent, and what came of it."""
    if asked.text is not None:
        taken = f" was read as {one_line(asked.taken)}" if asked.taken else ""
        note(f"reply {number}{taken}")
        text_block(asked.text)
    given = [
        f"{answer.word} {answer.probability:.4f}"
        + ("" if answer.option is None else f" ({options[answer.option]})")
        for answer in asked.answers
    ]
    told = f"prompt {number}{': ' if given else ''}{', '.join(given)}"
    with html.details().classes("prompt"):
        words("summary", told)
        text_block(asked.prompt)
