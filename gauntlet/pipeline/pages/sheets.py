"""Tables on a page: sortable, paginated, with text shown verbatim."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nicegui import ui

from gauntlet.common.sanitize import visible
from gauntlet.pipeline.tables.formatting import amount
from gauntlet.pipeline.tables.registry import read_table

ROWS = 25
"""Rows per page."""
BY_KEY = """(a, b, x, y) => {
    const [p, q] = [x.keys["NAME"], y.keys["NAME"]];
    if (p === q) return 0;
    if (p === null || q === null) return p === null ? -1 : 1;
    return p < q ? -1 : 1;
}"""
LINKED = '<q-td :props="props"><a :href="props.row.link">{{ props.value }}</a></q-td>'

Cell = tuple[str, float | str | None]
"""The text, and the sort key."""


def sheet(
    headings: Sequence[str], rows: Sequence[Sequence[Cell]], sortable: bool = True
) -> ui.table:
    """A table with these columns, the first of which names the rows and is left-aligned.

    sortable: also paginated in the browser, which then holds all rows.
    """
    columns = [
        {
            "name": name,
            "label": name,
            "field": name,
            "sortable": sortable,
            "align": "right" if at else "left",
            ":sort": BY_KEY.replace("NAME", name.replace("\\", "").replace('"', "")),
        }
        for at, name in enumerate(headings)
    ]
    paged = {"rowsPerPage": ROWS} if sortable else None
    table = ui.table(columns=columns, rows=[], row_key="id", pagination=paged).classes("sheet")
    table.props("tabindex=0 flat dense :rows-per-page-options='[10, 25, 100, 0]'")
    fill(table, headings, rows)
    return table


def fill(
    table: ui.table,
    headings: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    links: Sequence[str] = (),
) -> None:
    """Replace the table's rows. links: the target of each row's name."""
    table.rows = [
        {
            "id": at,
            **{name: text for name, (text, _) in zip(headings, row, strict=True)},
            "keys": {name: key for name, (_, key) in zip(headings, row, strict=True)},
            **({"link": links[at]} if links else {}),
        }
        for at, row in enumerate(rows)
    ]
    if links and f"body-cell-{headings[0]}" not in table.slots:
        table.add_slot(f"body-cell-{headings[0]}", LINKED)


def read(file: Path) -> tuple[list[str], list[list[Cell]]]:
    """The headings and rows of a CSV. Raises OSError and ValueError."""
    data = read_table(file)
    columns = [column for column in data.columns if data[column].notna().any()]
    rows = [[_cell(row[column]) for column in columns] for row in data.to_dict("records")]
    return [str(column) for column in columns], rows


def _cell(value: Any) -> Cell:
    if isinstance(value, str):
        return visible(value), value
    if value is None or value != value:
        return "-", None
    if isinstance(value, bool | int):
        return f"{value:,}" if not isinstance(value, bool) else str(value), float(value)
    return _figure(float(value)), float(value)


def _figure(value: float) -> str:
    """A number with about four digits, a tiny one in scientific notation."""
    if value and abs(value) < 1e-4:
        return f"{value:.1e}"
    return amount(value)
