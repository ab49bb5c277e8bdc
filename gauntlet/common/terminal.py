"""Terminal output."""

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
"""Maximum output width in columns."""
LEAST = 12
"""Minimum width of a text column, however narrow the terminal."""
PERIODS = ((1, "s"), (60, "min"), (3600, "h"))
"""The seconds of the units of rates."""


def console(markup: bool = False) -> Console:
    """A console at most 100 columns wide.

    markup: whether brackets are markup; then text by others must be escaped.
    """
    own = Console()
    width = min(WIDTH, own.width) if own.is_terminal else WIDTH
    return Terminal(highlight=False, markup=markup, width=width)


class Terminal(Console):
    """Shows control characters in text by number: a folder may have any name."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(visible(text), **options)


def print_line(out: Console, line: str) -> None:
    """Print one line, truncated on a terminal, in full otherwise."""
    if out.is_terminal:
        out.print(Text(visible(line)), no_wrap=True, overflow="ellipsis")
    else:
        out.print(Text(visible(line)), soft_wrap=True)


class WrappedTable(Table):
    """A table without lines.

    Columns that do not fit continue in blocks below, each starting with the first column, so
    nothing is truncated.
    """

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
        """The columns of each block."""
        first, rest = self.columns[:1], self.columns[1:]
        needed = [self.gap + self._least(column, console, options) for column in rest]
        name = sum(self._least(column, console, options) for column in first)
        if sum(needed) > options.max_width - name:  # names may wrap too
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
        """The width it needs: in full for numbers, a few characters for text."""
        whole = _width(column, console, options)
        return whole if column.no_wrap else column.min_width or min(whole, LEAST)


def _width(column: Column, console: Console, options: ConsoleOptions) -> int:
    unbounded = options.update(width=10_000)
    entries = (column.header, *column.cells)
    return max(Measurement.get(console, unbounded, one).maximum for one in entries)


def duration(seconds: float) -> str:
    """In the two largest units: 3 d 4 h, 2 h 05 min, 40 s."""
    total = max(0, round(seconds))
    days, hours, minutes = total // 86400, total // 3600 % 24, total // 60 % 60
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {total % 60:02d} s" if minutes else f"{total} s"


def rate(each_second: float, unit: str) -> str:
    """A rate a second, minute or hour, in the first that makes it 1 or more; the last otherwise."""
    seconds, period = next((p for p in PERIODS if each_second * p[0] >= 1), PERIODS[-1])
    if not each_second:
        seconds, period = PERIODS[0]
    return f"{each_second * seconds:,.1f} {unit}/{period}"


def short(count: float) -> str:
    """A count in four or five characters: 812, 13.2k, 4.51M, 1.20G."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return f"{count:.0f}"
