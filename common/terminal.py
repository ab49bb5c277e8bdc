"""The terminal that people read."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

WIDTH = 100
"""The most columns that anything takes."""


def console(markup: bool = False) -> Console:
    """A console no wider than 100 columns, whatever the terminal. Without `markup` brackets in a
    text are brackets; with it, what others wrote must be escaped."""
    own = Console()
    width = min(WIDTH, own.width) if own.is_terminal else WIDTH
    return Console(highlight=False, markup=markup, width=width)


def print_line(out: Console, line: str) -> None:
    """One line: cut where a terminal ends, whole where nobody looks."""
    if out.is_terminal:
        out.print(Text(line), no_wrap=True, overflow="ellipsis")
    else:
        out.print(Text(line), soft_wrap=True)
