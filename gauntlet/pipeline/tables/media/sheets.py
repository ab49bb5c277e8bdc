"""How a table is shown in every medium: its columns as text, its title, foot and order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from gauntlet.common.sanitize import visible
from gauntlet.pipeline.tables.formatting import Scale, number, p_value, percent
from gauntlet.pipeline.tables.registry import MEDIA, ROWS, Part, Results, Sheet, truncation_note

Text = str | Callable[[Part], str]
"""A constant or a function of the part."""
WINS = Scale("", share=True)


@dataclass(frozen=True)
class Row:
    """A row of a table, with the results it belongs to."""

    results: Results
    values: Mapping[Any, Any]

    def __getitem__(self, column: str) -> Any:
        return self.values[column]

    @property
    def scale(self) -> Scale:
        return self.results.scale(self.values)

    def name(self, column: str = "cell") -> str:
        """The short name of the cell in this column."""
        return self.results.names.get(self[column], visible(str(self[column])))


Format = Callable[[Row], str]


@dataclass(frozen=True)
class Column:
    """A column as shown. media: where it is shown, if `where` holds."""

    heading: Text
    text: Format
    media: Sequence[str] = MEDIA
    where: Callable[[Part], bool] = lambda part: True


@dataclass(frozen=True)
class View:
    """One way to show a table.

    order: selects and sorts the rows.
    split_by: columns that split it into several sheets.
    which_rows: names the rows that a truncated table shows.
    total: the name of a last row with the sums.
    """

    title: Text
    columns: Sequence[Column] | Callable[[Part], Sequence[Column]]
    foot: Text = ""
    order: Callable[[pd.DataFrame], pd.DataFrame] = lambda rows: rows
    split_by: Sequence[str] = ()
    which_rows: str = "first"
    total: str = ""

    def __call__(self, part: Part) -> Iterator[Sheet]:
        groups = [part.rows]
        if self.split_by:
            groups = [rows for _, rows in part.rows.groupby([*self.split_by], sort=False)]
        for rows in map(self.order, groups):
            if not rows.empty:
                yield self._sheet(replace(part, rows=rows))

    def _sheet(self, part: Part) -> Sheet:
        columns = self.columns(part) if callable(self.columns) else self.columns
        columns = [col for col in columns if part.medium in col.media and col.where(part)]
        records = part.rows.head(ROWS[part.medium]).to_dict("records")
        if self.total:
            sums = part.rows.select_dtypes("number").sum().to_dict()
            records.append({**sums, "cell": self.total})
        rows = [[col.text(Row(part.results, row)) for col in columns] for row in records]
        note = truncation_note(ROWS[part.medium], len(part.rows), part.file, self.which_rows)
        title, foot, *headings = (
            text(part) if callable(text) else text
            for text in (self.title, self.foot, *(col.heading for col in columns))
        )
        foot = "\n".join(filter(None, (note, foot)))
        return Sheet(title, headings, rows, foot, part.file)


# --- formats of columns


def cell_name(row: Row) -> str:
    return row.name()


def text(column: str) -> Format:
    return lambda row: visible(str(row[column]))


def count(column: str) -> Format:
    return lambda row: number(row[column], ",.0f")


def decimal(column: str, form: str) -> Format:
    """A number in this format, such as `.2f`."""
    return lambda row: number(row[column], form)


def share(column: str, total: str = "", digits: int = 1) -> Format:
    """A share in percent, or a count as a share of another column."""

    def text(row: Row) -> str:
        count = row[total] if total else 1
        return percent(row[column] / count if count else math.nan, digits)

    return text


def share_span(low: str, high: str) -> Format:
    """An interval of a share, whatever the row's measure."""
    return lambda row: WINS.span(row[low], row[high])


def mean(column: str) -> Format:
    """A value of the row's measure."""
    return lambda row: row.scale.mean(row[column])


def span(low: str, high: str) -> Format:
    """An interval of such a value; "-" if an end is unknown."""

    def text(row: Row) -> str:
        known = math.isfinite(row[low] + row[high])
        return row.scale.span(row[low], row[high]) if known else "-"

    return text


def change(column: str) -> Format:
    """A difference of two such values."""
    return lambda row: row.scale.change(row[column])


def change_span(low: str, high: str) -> Format:
    """An interval of such a difference."""
    return lambda row: row.scale.reach(row[low], row[high])


def ends(low: str, high: str, form: Callable[[str], Format]) -> Format:
    """An interval in this format; "-" if it is unknown."""
    first, last = form(low), form(high)
    return lambda row: "-" if math.isnan(row[low]) else f"{first(row)} to {last(row)}"


def p(column: str) -> Format:
    return lambda row: p_value(row[column])


def only_where(column: str, value: str, form: Format) -> Format:
    """This format in rows whose column has the value, else "-"."""
    return lambda row: form(row) if row[column] == value else "-"
