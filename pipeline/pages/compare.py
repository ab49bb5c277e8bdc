"""Compare two runs side by side, with cells paired on the deals that both have finished."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

import pandas as pd
from nicegui import html, ui
from nicegui import run as threads

from gauntlet.common.errors import UserError
from gauntlet.common.sanitize import visible
from gauntlet.pipeline.compare import compare
from gauntlet.pipeline.library import Library
from gauntlet.pipeline.pages import charts, runs, sheets
from gauntlet.pipeline.pages.frame import drawing, note, page_frame, section_heading, words
from gauntlet.pipeline.pages.run_status import RunStatus, status_of_run
from gauntlet.pipeline.tables.formatting import number, p_value
from gauntlet.pipeline.tables.primary_test import read_difference
from gauntlet.pipeline.tables.registry import Results

HEADINGS = ("A", "B", "deals", "A ahead", "B ahead", "A - B", "95% interval", "p", "p Holm")
"""A - B is the best estimate, luck-adjusted if both cells are."""


def register(library: Library) -> None:
    @ui.page("/compare")
    async def page(a: str = "", b: str = "") -> None:
        with page_frame("Compare", "Runs"):
            words("h1", "Two runs side by side")
            with html.div().classes("line"):
                names = await threads.io_bound(library.names) or []
                chosen = [
                    ui.select(
                        names, value=given if given in names else None, label=label, with_input=True
                    ).classes("find")
                    for label, given in (("run A", a), ("run B", b))
                ]
            place = html.div()

        async def show() -> None:
            first, second = (one.value for one in chosen)
            ui.navigate.history.replace(f"/compare?{urlencode({'a': first, 'b': second})}")
            place.clear()
            with place:
                await _side_by_side(library, first, second)

        for one in chosen:
            one.on_value_change(show)
        ui.timer(0, show, once=True)


async def _side_by_side(library: Library, first: str | None, second: str | None) -> None:
    if not first or not second:
        note("Choose two runs. Only runs of one seed can be paired: they met the same deals.")
        return
    waiting = note("reading both logs ...")
    sides = [await threads.io_bound(_status, library, name) for name in (first, second)]
    with html.div().classes("sides"):
        for name, side in zip((first, second), sides, strict=True):
            with html.div():
                with html.h2().classes("part"):
                    ui.link(name, runs.link(name))
                if side:
                    runs.summary(side)
                    drawing(charts.intervals(side.estimates))
    section_heading("Paired on shared deals")
    paired = await threads.io_bound(_paired, library.outputs / first, library.outputs / second)
    waiting.delete()
    if isinstance(paired, str):
        note(paired, warning=True)
    elif paired is not None:
        sheets.sheet(HEADINGS, paired)
        note(f"`python -m pipeline.compare {first} {second}`, in {library.outputs}, has it too.")


def _status(library: Library, name: str) -> RunStatus:
    shelf = library.shelf(name)
    shelf.refresh()
    return status_of_run(name, shelf)


def _paired(first: Path, second: Path) -> list[list[sheets.Cell]] | str:
    try:
        results = compare(first, second)
    except (UserError, OSError) as error:
        return str(error)
    return [_row(results, row) for _, row in results["pairs"].iterrows()]


def _row(results: Results, row: pd.Series) -> list[sheets.Cell]:
    scale, (difference, low, high) = results.scale(row.to_dict()), read_difference(row)
    return [
        (visible(row["cell_a"]), row["cell_a"]),
        (visible(row["cell_b"]), row["cell_b"]),
        *((f"{row[name]:,}", int(row[name])) for name in ("deals", "a_only", "b_only")),
        (scale.change(difference), difference),
        (scale.reach(low, high), number(low, ".6f")),
        *((p_value(p), None if pd.isna(p) else p) for p in row[["p", "p_holm"]]),
    ]
