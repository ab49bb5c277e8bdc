"""The terminal that people read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

from gauntlet.common.sanitize import visible

WIDTH = 100
"""The most columns that anything takes."""
LEAST = 12
"""Characters that a column of words keeps, however narrow the terminal."""


def console(markup: bool = False) -> Console:
    """A console no wider than 100 columns, whatever the terminal. Without `markup` brackets in a
    text are brackets; with it, what others wrote must be escaped."""
    own = Console()
    width = min(WIDTH, own.width) if own.is_terminal else WIDTH
    return Terminal(highlight=False, markup=markup, width=width)


class Terminal(Console):
    """Shows a control character in a text by its number: a folder may be called anything."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(visible(text), **options)


def print_line(out: Console, line: str) -> None:
    """One line: cut where a terminal ends, whole where nobody looks."""
    if out.is_terminal:
        out.print(Text(visible(line)), no_wrap=True, overflow="ellipsis")
    else:
        out.print(Text(visible(line)), soft_wrap=True)


class WrappedTable(Table):
    """A table without lines. Where its columns do not fit side by side, the rest follow below, the
    first column before them again: nothing is cut."""

    def __init__(self, header_style: str = "bold", gap: int = 1) -> None:
        super().__init__(
            box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style=header_style
        )
        self.gap = gap

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for number, columns in enumerate(self._blocks(console, options)):
            block = copy(self)
            block.columns = [replace(one, _index=at) for at, one in enumerate(columns)]
            if number:
                yield ""
            yield from super(WrappedTable, block).__rich_console__(console, options)

    def _blocks(self, console: Console, options: ConsoleOptions) -> Iterator[Sequence[Column]]:
        """The columns that stand side by side."""
        first, rest = self.columns[:1], self.columns[1:]
        needed = [self.gap + self._least(column, console, options) for column in rest]
        name = sum(self._least(column, console, options) for column in first)
        if sum(needed) > options.max_width - name:  # names need not be narrow as well
            whole = max((_width(column, console, options) for column in first), default=0)
            name = max(name, min(whole, options.max_width // 3))
        room = options.max_width - name
        block: list[Column] = []
        used = 0
        for column, least in zip(rest, needed, strict=True):
            if used + least > room and block:
                yield [*first, *block]
                block, used = [], 0
            if least > room:
                column = replace(column, no_wrap=False, overflow="fold")
            block.append(column)
            used += least
        yield [*first, *block]

    def _least(self, column: Column, console: Console, options: ConsoleOptions) -> int:
        """The columns of the terminal that it needs: all of a figure, a few of words."""
        whole = _width(column, console, options)
        return whole if column.no_wrap else column.min_width or min(whole, LEAST)


def _width(column: Column, console: Console, options: ConsoleOptions) -> int:
    """That of its longest entry."""
    unbounded = options.update(width=10_000)
    entries = (column.header, *column.cells)
    return max(Measurement.get(console, unbounded, one).maximum for one in entries)
