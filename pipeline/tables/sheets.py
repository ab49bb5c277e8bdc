"""How a table is shown: its columns as text, its title, foot and order, for every medium alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from gauntlet.common.sanitize import visible
from gauntlet.pipeline.tables.numbers import number, p_value, percent
from gauntlet.pipeline.tables.registry import MEDIA, ROWS, Part, Results, Sheet, left_out
from gauntlet.pipeline.tables.scale import Scale

Text = str | Callable[[Part], str]
"""Fixed, or made from what is shown."""


@dataclass(frozen=True)
class Row:
    """A row of a table on its way to being shown."""

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


def always(part: Part) -> bool:
    return True


@dataclass(frozen=True)
class Column:
    """A column as it is shown. on: the media that have it, where `where` holds."""

    heading: Text
    text: Format
    on: Sequence[str] = MEDIA
    where: Callable[[Part], bool] = always


@dataclass(frozen=True)
class View:
    """One way to show a table.

    order: which rows are shown, and in which order. by: columns that split it into several sheets.
    which: what the rows are that a long table shows. total: the name of a last row, the sums.
    """

    title: Text
    columns: Sequence[Column] | Callable[[Part], Sequence[Column]]
    foot: Text = ""
    order: Callable[[pd.DataFrame], pd.DataFrame] = lambda rows: rows
    by: Sequence[str] = ()
    which: str = "first"
    total: str = ""

    def __call__(self, part: Part) -> Iterator[Sheet]:
        groups = [part.rows]
        if self.by:
            groups = [rows for _, rows in part.rows.groupby([*self.by], sort=False)]
        for rows in groups:
            ordered = self.order(rows)
            if not ordered.empty:
                yield self._sheet(replace(part, rows=ordered))

    def _sheet(self, part: Part) -> Sheet:
        given = self.columns(part) if callable(self.columns) else self.columns
        columns = [one for one in given if part.medium in one.on and one.where(part)]
        shown = part.rows.head(ROWS[part.medium]).to_dict("records")
        if self.total:
            numbers = part.rows.select_dtypes("number").sum().to_dict()
            shown = [*shown, {**numbers, "cell": self.total}]
        rows = [[one.text(Row(part.results, row)) for one in columns] for row in shown]
        cut = left_out(ROWS[part.medium], len(part.rows), part.file, self.which)
        foot = "\n".join(filter(None, (cut, _said(self.foot, part))))
        headings = [_said(one.heading, part) for one in columns]
        sums = int(bool(self.total))
        return Sheet(_said(self.title, part), headings, rows, foot, part.file, sums)


def _said(text: Text, part: Part) -> str:
    return text(part) if callable(text) else text


# --- how a column is written


def cell_name(row: Row) -> str:
    """The cell's short name."""
    return row.name()


def text(column: str) -> Format:
    return lambda row: visible(str(row[column]))


def count(column: str) -> Format:
    return lambda row: number(row[column], ",.0f")


def decimal(column: str, form: str) -> Format:
    """A number in this format, such as `.2f`."""
    return lambda row: number(row[column], form)


def share(column: str, of: str = "", digits: int = 1) -> Format:
    """A share in percent, or a count as a share of another column."""

    def told(row: Row) -> str:
        whole = row[of] if of else 1
        return percent(row[column] / whole if whole else math.nan, digits)

    return told


def mean(column: str) -> Format:
    """A figure of the row's measure."""
    return lambda row: row.scale.mean(row[column])


def span(low: str, high: str) -> Format:
    """An interval of such a figure; "-" where an end is not known."""

    def told(row: Row) -> str:
        known = math.isfinite(row[low] + row[high])
        return row.scale.span(row[low], row[high]) if known else "-"

    return told


def where(column: str, value: str, written: Format) -> Format:
    """So written in rows whose column has this value, else "-"."""
    return lambda row: written(row) if row[column] == value else "-"


def change(column: str) -> Format:
    """A difference of two such figures."""
    return lambda row: row.scale.change(row[column])


def reach(low: str, high: str) -> Format:
    """An interval of such a difference."""
    return lambda row: row.scale.reach(row[low], row[high])


def p(column: str) -> Format:
    return lambda row: p_value(row[column])


WINS = Scale("", share=True)


def share_span(low: str, high: str) -> Format:
    """An interval of a share, whatever the row's measure is."""
    return lambda row: WINS.span(row[low], row[high])
