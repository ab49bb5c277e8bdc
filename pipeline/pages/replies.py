"""The replies of a run that were not plainly read: each to be opened, with the way to its match."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlencode

import pandas as pd
from nicegui import html, ui
from nicegui import run as threads

from gauntlet.pipeline.pages.frame import note, part, text_block, words
from gauntlet.pipeline.tables import parser

CELLS = 20
"""Cells that the page shows replies of; the file has all."""


async def looked_at(run: str, file: Path) -> None:
    """What parser_examples.csv has; nothing where it has no row."""
    try:
        found = await threads.io_bound(pd.read_csv, file, keep_default_na=False, dtype=str)
    except (OSError, ValueError) as error:
        note(f"{file.name} cannot be read: {error}", warning=True)
        return
    if found is None or found.empty or list(found) != [*parser.EXAMPLE_COLUMNS]:
        return
    part("Replies, looked at")
    note("Of each cell the first few that were not plainly read; all are counted in parser.csv.")
    for cell, rows in list(found.groupby("cell", sort=False))[:CELLS]:
        words("h3", str(cell))
        for row in rows.to_dict("records"):
            _one(run, {str(name): str(value) for name, value in row.items()})


def _one(run: str, row: Mapping[str, str]) -> None:
    with html.details().classes("prompt"):
        told = f"{row['kinds']}: {parser.opening(row['reply'])} => {row['outcome']}"
        words("summary", f"{told} (deal {row['deal']})")
        note("the end of what was asked")
        text_block(row["question"])
        note("the reply")
        text_block(row["reply"] or "(nothing)")
        ui.link(f"match {row['match']}", f"/match?{urlencode({'run': run, 'id': row['match']})}")
