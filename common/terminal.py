"""The terminal that people read."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from common.foreign import visible

WIDTH = 100
"""The most columns that anything takes."""


def console(markup: bool = False) -> Console:
    """A console no wider than 100 columns, whatever the terminal. Without `markup` brackets in a
    text are brackets; with it, what others wrote must be escaped."""
    own = Console()
    width = min(WIDTH, own.width) if own.is_terminal else WIDTH
    return Terminal(highlight=False, markup=markup, width=width)


class Terminal(Console):
    """Shows a control character in a text by its number: a folder may be called anything."""

    def render_str(self, text: str, **how: Any) -> Text:
        return super().render_str(visible(text), **how)


def print_line(out: Console, line: str) -> None:
    """One line: cut where a terminal ends, whole where nobody looks."""
    if out.is_terminal:
        out.print(Text(visible(line)), no_wrap=True, overflow="ellipsis")
    else:
        out.print(Text(visible(line)), soft_wrap=True)
