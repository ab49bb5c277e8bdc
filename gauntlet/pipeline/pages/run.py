"""A run: its progress and running results, and at the end its tables, figures and replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pandas as pd
from nicegui import app, html, ui
from nicegui import run as threads
from starlette.responses import FileResponse, PlainTextResponse, Response

from gauntlet.common.errors import UserError
from gauntlet.common.sanitize import one_line, visible
from gauntlet.common.terminal import short
from gauntlet.pipeline.library import Library, Shelf
from gauntlet.pipeline.pages import charts, runs, sheets
from gauntlet.pipeline.pages.frame import (
    drawing,
    note,
    page_frame,
    section_heading,
    text_block,
    words,
)
from gauntlet.pipeline.pages.run_status import Estimate, RunStatus, estimates, glance, status_of_run
from gauntlet.pipeline.status import Row
from gauntlet.pipeline.tables.formatting import percent
from gauntlet.pipeline.tables.sweep import parser

HEADINGS = (
    *("cell", "mean", "95% interval", "baseline", "done", "left", "failed"),
    *("decisions", "fallback", "tokens", "device s"),
)
ALONE = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
"""The content security policy of a run's report, which is self-contained."""
EXAMPLES = "parser_examples.csv"
ASIDE = 5
"""Maximum number of failed matches listed."""


@dataclass(frozen=True)
class View:
    """The current contents of the page."""

    standing: RunStatus
    rows: tuple[Row, ...]
    estimates: tuple[Estimate, ...]
    failures: tuple[str, ...]
    reading: bool


def register(library: Library) -> None:
    @app.get("/run/file")
    def file(name: str, file: str) -> Response:
        try:
            path = shown_files(library.shelf(name).folder.path).get(file)
        except UserError:
            path = None
        if path is None:
            return PlainTextResponse("there is no such file", 404)
        alone = {"content-security-policy": ALONE, "cache-control": "no-cache"}
        return FileResponse(path, headers=alone)

    @ui.page("/run")
    async def page(name: str = "") -> None:
        with page_frame(name or "Run", "Runs"):
            try:
                shelf = library.shelf(name)
            except UserError as error:
                note(str(error), warning=True)
                return
            words("h1", name)
            if line := shelf.folder.note_line:
                note(visible(line))
            _links(name)
            board = _Board(name, shelf)
        ui.timer(runs.EVERY, board.look)


class _Board:
    """The parts of the page that change."""

    def __init__(self, name: str, shelf: Shelf) -> None:
        self._name, self._shelf, self._before = name, shelf, ""
        self._files: list[str] = []
        self._top = html.div()
        self._reading = note("reading the log ...")
        section_heading("Cells")
        self._table = sheets.sheet(HEADINGS, [])
        self._charts = html.div()
        self._failures = html.div()
        self._views = html.div()

    async def look(self) -> None:
        view = await threads.io_bound(look, self._name, self._shelf)
        if view is None:
            return
        self._top.clear()
        with self._top:
            runs.summary(view.standing)
        self._reading.set_visibility(view.reading)
        self._reading.text = f"reading the log: {len(self._shelf.entries):,} matches so far"
        cells = [_cells(row, view.estimates) for row in view.rows]
        shown = str((cells, [one.text for one in view.estimates], view.failures))
        if shown != self._before:
            self._before = shown
            sheets.fill(self._table, HEADINGS, cells)
            self._draw(view)
        files = [*shown_files(self._shelf.folder.path)]
        if not view.standing.live and files != self._files:
            self._files = files
            self._views.clear()
            with self._views:
                await _views(self._name, self._shelf.folder.path)

    def _draw(self, view: View) -> None:
        self._charts.clear()
        with self._charts:
            drawing(charts.intervals(view.estimates))
            for scale in dict.fromkeys(one.scale for one in view.estimates):
                drawing(charts.growth(view.estimates, scale))
        self._failures.clear()
        with self._failures:
            for line in view.failures:
                note(line, warning=True)


def look(name: str, shelf: Shelf) -> View:
    if shelf.simulated:
        found = glance(name, shelf)
        return View(found, (), found.estimates, (), False)
    shelf.refresh()
    failed = [] if shelf.fault else shelf.folder.failed_matches
    messages = [f"failed: match {one['match']}: {one_line(one['error'][-300:])}" for one in failed]
    if len(messages) > ASIDE:
        messages = [
            *messages[:ASIDE],
            f"and {len(messages) - ASIDE:,} further: failed_matches.jsonl",
        ]
    return View(
        status_of_run(name, shelf),
        tuple(shelf.rows),
        tuple(estimates(shelf, curves=True)) if not shelf.fault else (),
        tuple(messages),
        shelf.reading,
    )


def shown_files(folder: Path) -> dict[str, Path]:
    """Figures, tables and the report of a run, by file name."""
    files = [*sorted(folder.glob("figures/*.png")), *sorted(folder.glob("*.csv"))]
    files += [file for file in [folder / "report.html"] if file.exists()]
    return {file.name: file for file in files}


def _cells(row: Row, estimates: Sequence[Estimate]) -> list[sheets.Cell]:
    running = row.running
    estimate = next((one for one in estimates if one.key == row.key), None)
    mean, low, base = (
        (estimate.mean, estimate.low, estimate.baseline) if estimate else (np.nan,) * 3
    )
    fallback = running.fallbacks / running.decisions if running.decisions else np.nan
    return [
        (visible(row.name), row.name),
        (
            row.scale.mean(mean) + " (luck-adjusted)" * bool(estimate and estimate.adjusted),
            _key(mean),
        ),
        (estimate.span if estimate else "-", _key(low)),
        (row.scale.mean(base), _key(base)),
        (f"{running.matches:,}", running.matches),
        ("-" if row.left is None else f"{row.left:,}", row.left),
        (f"{row.failed:,}", row.failed),
        (f"{running.decisions:,}", running.decisions),
        (percent(fallback), _key(fallback)),
        (short(running.tokens), running.tokens),
        (f"{running.device_seconds:,.1f}", running.device_seconds),
    ]


def _key(value: float) -> float | None:
    return None if np.isnan(value) else value


def _links(name: str) -> None:
    with html.p().classes("links"):
        ui.link("matches", f"/matches?{urlencode({'run': name})}")


def _file(name: str, file: str) -> str:
    return f"/run/file?{urlencode({'name': name, 'file': file})}"


async def _views(name: str, folder: Path) -> None:
    files = shown_files(folder)
    tables = [file for file in files if file.endswith(".csv")]
    figures = [file for file in files if file.endswith(".png")]
    if "report.html" in files:
        with html.p():
            ui.link("the report of this run", _file(name, "report.html"), new_tab=True)
    if figures:
        section_heading("Figures")
        for figure in figures:
            with html.figure().classes("figure"):
                told = figure.removesuffix(".png").replace("_", " ")
                html.img(src=_file(name, figure), alt=told, loading="lazy")
    if EXAMPLES in files:
        await _unclear_replies(name, files[EXAMPLES])
    if tables:
        section_heading("Tables")
        first = "summary.csv" if "summary.csv" in tables else tables[0]
        chosen = ui.select(tables, value=first, label="table").classes("find").props("dense")
        place = html.div()

        async def show() -> None:
            place.clear()
            with place:
                await _table(files[chosen.value])

        chosen.on_value_change(show)
        await show()


async def _table(file: Path) -> None:
    try:
        sheet = await threads.io_bound(sheets.read, file)
    except (OSError, ValueError) as error:
        note(f"{file.name} cannot be read: {error}", warning=True)
        return
    if sheet:
        sheets.sheet(*sheet)


CELLS = 20
"""Cells whose replies the page shows; the file has all."""


async def _unclear_replies(run: str, file: Path) -> None:
    """The replies in parser_examples.csv, folded, with links to their matches."""
    try:
        replies = await threads.io_bound(pd.read_csv, file, keep_default_na=False, dtype=str)
    except (OSError, ValueError) as error:
        note(f"{file.name} cannot be read: {error}", warning=True)
        return
    if replies is None or replies.empty or list(replies) != [*parser.EXAMPLE_COLUMNS]:
        return
    section_heading("Replies, looked at")
    note("Of each cell the first few that were not plainly read; all are counted in parser.csv.")
    for cell, rows in list(replies.groupby("cell", sort=False))[:CELLS]:
        words("h3", str(cell))
        for row in rows.to_dict("records"):
            _unclear_reply(run, {str(name): str(value) for name, value in row.items()})


def _unclear_reply(run: str, row: Mapping[str, str]) -> None:
    with html.details().classes("prompt"):
        line = f"{row['kinds']}: {parser.opening(row['reply'])} => {row['outcome']}"
        words("summary", f"{line} (deal {row['deal']})")
        note("the end of what was asked")
        text_block(row["question"])
        note("the reply")
        text_block(row["reply"] or "(nothing)")
        ui.link(f"match {row['match']}", f"/match?{urlencode({'run': run, 'id': row['match']})}")
