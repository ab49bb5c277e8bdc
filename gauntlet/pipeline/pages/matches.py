"""*Matches*: a run's matches, searched and filtered, with pagination."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlencode

from msgspec.json import encode
from nicegui import background_tasks, events, html, ui
from nicegui import run as threads
from nicegui.elements.mixins.value_element import ValueElement

from gauntlet.common.process import invocation
from gauntlet.common.sanitize import visible
from gauntlet.common.terminal import short
from gauntlet.pipeline.library import Library, MatchEntry, Shelf
from gauntlet.pipeline.log.folder import damaged_lines_warning
from gauntlet.pipeline.pages import sheets
from gauntlet.pipeline.pages.frame import note, page_frame, words
from gauntlet.pipeline.pages.runs import EVERY
from gauntlet.pipeline.tables.formatting import Scale

RESULTS = ("all", "lost", "won", "drawn", "shared")
ORDERS: dict[str, Callable[[MatchEntry], Any]] = {
    "deal": lambda entry: (entry.outcome.deal, entry.outcome.rotation, entry.outcome.cell),
    "smallest margin": lambda entry: (entry.margin is None, entry.margin or 0.0),
    "most fallbacks": lambda entry: -entry.outcome.fallbacks,
    "lowest figure": lambda entry: entry.outcome.figure,
    "longest": lambda entry: -entry.outcome.plies,
    "shortest": lambda entry: entry.outcome.plies,
    "most tokens": lambda entry: -entry.outcome.all_tokens,
}
"""Sort orders by ascending key; ties stay in log order."""


@dataclass
class Choice:
    """Search criteria.

    cell: a key, "" for all.
    margin: exclusive upper bound on the least margin.
    text: the start of a match id, or "deal 7".
    phrase: text that a prompt (less the part all prompts share) or a reply must contain, ignoring
        case.
    """

    cell: str = ""
    result: str = "all"
    fallbacks: bool = False
    margin: float | None = None
    text: str = ""
    phrase: str = ""
    order: str = "deal"

    def matching(self, entries: Iterable[MatchEntry]) -> list[MatchEntry]:
        """The matching ones, in order. Raises OSError."""
        found = sorted(filter(self._matches, entries), key=ORDERS[self.order])
        return _holding(found, self.phrase) if self.phrase.strip() else found

    def _matches(self, entry: MatchEntry) -> bool:
        outcome = entry.outcome
        return (
            (not self.cell or outcome.cell == self.cell)
            and self.result in ("all", entry.result)
            and (not self.fallbacks or outcome.fallbacks > 0)
            and (self.margin is None or (entry.margin is not None and entry.margin < self.margin))
            and self._matches_name(entry)
        )

    def _matches_name(self, entry: MatchEntry) -> bool:
        word = self.text.strip().lower()
        if word.startswith("deal"):
            return word.removeprefix("deal").strip() in ("", str(entry.outcome.deal))
        return entry.outcome.match.startswith(word)


def _holding(entries: Iterable[MatchEntry], words: str) -> list[MatchEntry]:
    """Those whose lines contain the words in JSON encoding; options count too."""
    needle = encode(words.strip().lower())[1:-1]
    matching = []
    with ExitStack() as stack:
        files: dict[Path, BinaryIO] = {}
        for entry in entries:
            path = entry.place.file
            if path not in files:
                files[path] = stack.enter_context(path.open("rb"))
            files[path].seek(entry.place.start)
            if needle in files[path].read(entry.place.size).lower():
                matching.append(entry)
    return matching


PAGE = 50
"""Matches per page."""
SOON = 0.5
"""Seconds to wait for a small log to be read, so that it is shown at once."""
HEADINGS = (
    *("match", "cell", "deal", "rotation", "result", "figure", "plies"),
    *("decisions", "fallbacks", "least margin", "tokens"),
)


def register(library: Library) -> None:
    @ui.page("/matches")
    async def page(
        run: str = "",
        cell: str = "",
        result: str = "all",
        fallbacks: bool = False,
        margin: float | None = None,
        text: str = "",
        phrase: str = "",
        order: str = "deal",
    ) -> None:
        choice = Choice(
            *(cell, result if result in RESULTS else "all", fallbacks, margin, text, phrase),
            order if order in ORDERS else "deal",
        )
        with page_frame("Matches"):
            words("h1", "Matches")
            names = await threads.io_bound(library.names) or []
            if not names:
                note(
                    f"{library.outputs} holds no runs yet: "
                    f"`{invocation('pipeline.run')}` plays one."
                )
                return
            if run and run not in names:
                note(f"{library.outputs} has no run {run!r}; it has those below.", warning=True)
            chosen = run if run in names else names[0]
            _List(library.shelf(chosen), chosen, names, choice)


class _List:
    """The filters and their results."""

    def __init__(self, shelf: Shelf, name: str, names: list[str], choice: Choice) -> None:
        self._shelf, self._name, self._choice = shelf, name, choice
        self._found: list[MatchEntry] = []
        self._seen, self._drawn = -1, ""
        self._filters(names)
        self._told = note("reading the log ...")
        self._warned = note("", warning=True)
        self._table = sheets.sheet(HEADINGS, [], sortable=False)
        self._pages = ui.pagination(1, 1, direction_links=True, on_change=self._show)
        self._pages.props("max-pages=7 boundary-numbers")
        ui.timer(EVERY, self._look)

    def _filters(self, names: list[str]) -> None:
        choice = self._choice
        with html.form().classes("filters").props('role="search"').on("submit.prevent"):
            ui.select(
                names, value=self._name, label="run", with_input=True, on_change=self._other_run
            ).classes("find")
            self._cells = ui.select({"": "all cells"}, value="", label="cell").classes("find")
            fields: dict[str, ValueElement[Any]] = {
                "cell": self._cells,
                "result": ui.select([*RESULTS], value=choice.result, label="result"),
                "margin": ui.number("margin below", value=choice.margin, min=0, step=0.01),
                "text": ui.input("match id, or deal 7", value=choice.text),
                "phrase": ui.input("words in a prompt or reply", value=choice.phrase),
                "order": ui.select([*ORDERS], value=choice.order, label="order"),
                "fallbacks": ui.checkbox("with fallbacks", value=choice.fallbacks),
            }
        for name in ("margin", "text", "phrase"):
            fields[name].props("clearable debounce=300")
        for name, one in fields.items():
            one.on_value_change(partial(self._on_filter, name))

    async def _on_filter(self, name: str, event: events.ValueChangeEventArguments[Any]) -> None:
        """Handle a changed filter; an empty one is off."""
        empty = None if name == "margin" else False if name == "fallbacks" else ""
        setattr(self._choice, name, empty if event.value is None else event.value)
        await self._choose()

    def _other_run(self, event: events.ValueChangeEventArguments[str]) -> None:
        ui.navigate.to(f"/matches?{urlencode({'run': event.value})}")

    async def _look(self) -> None:
        """Continue reading in a thread, and show what is there so far."""
        reading = background_tasks.create(threads.io_bound(self._shelf.refresh))
        await asyncio.wait({reading}, timeout=SOON)
        if len(self._shelf.entries) != self._seen:
            await self._choose()
        else:
            self._tell()

    async def _choose(self) -> None:
        """Apply the filters to the matches read so far."""
        kept = list(self._shelf.entries.values())
        self._seen, choice = len(kept), replace(self._choice)
        entries = await threads.io_bound(choice.matching, kept)
        if entries is None or choice != self._choice or self._pages.is_deleted:
            return  # the filters have changed meanwhile, or the page was closed
        self._found = entries
        self._pages.max = max(1, -(-len(self._found) // PAGE))
        self._pages.value = min(self._pages.value or 1, self._pages.max)
        told = {name: value for name, value in asdict(self._choice).items() if value}
        ui.navigate.history.replace(f"/matches?{urlencode({'run': self._name, **told})}")
        self._show()

    def _show(self) -> None:
        cells = {row.key: row for row in self._shelf.rows}
        if [*self._cells.options] != ["", *cells]:
            names = {key: visible(row.name) for key, row in cells.items()}
            known = self._choice.cell if self._choice.cell in names else ""
            self._cells.set_options({"": "all cells", **names}, value=known)
        first = ((self._pages.value or 1) - 1) * PAGE
        entries = self._found[first : first + PAGE]
        scales = {key: (row.name, row.scale) for key, row in cells.items()}
        rows = [
            _cells(one, *scales.get(one.outcome.cell, (one.outcome.cell, None))) for one in entries
        ]
        if str(rows) != self._drawn:
            self._drawn = str(rows)
            links = [link(self._name, one.outcome.match) for one in entries]
            sheets.fill(self._table, HEADINGS, rows, links)
        self._tell()

    def _tell(self) -> None:
        shelf, found = self._shelf, len(self._found)
        reading = "; reading on ..." if shelf.reading else ""
        self._told.text = f"{found:,} of {self._seen:,} matches{reading}"
        if not self._seen and not reading:
            self._told.text = "This run has no finished match yet."
        left_out = (
            damaged_lines_warning(shelf.left_out, shelf.folder.path) if shelf.left_out else ""
        )
        self._warned.text = shelf.fault or left_out


def link(run: str, match: str, twin: str = "") -> str:
    """The URL of a match, with another one of its deal beside it."""
    beside = {"twin": twin} if twin else {}
    return f"/match?{urlencode({'run': run, 'id': match, **beside})}"


def _cells(entry: MatchEntry, cell: str, scale: Scale | None) -> list[sheets.Cell]:
    outcome = entry.outcome
    texts = [
        *(outcome.match, visible(cell), f"{outcome.deal}", f"{outcome.rotation}", entry.result),
        scale.mean(outcome.figure) if scale else f"{outcome.figure:g}",
        *(f"{outcome.plies:,}", f"{outcome.decisions:,}", f"{outcome.fallbacks:,}"),
        "-" if entry.margin is None else f"{entry.margin:.4f}",
        short(outcome.all_tokens),
    ]
    return [(text, None) for text in texts]
