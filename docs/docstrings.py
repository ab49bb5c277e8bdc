"""Adapts docstrings, which are written in plain Markdown, for Sphinx."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

FIELD = re.compile(r"(?P<names>\w+(?:, \w+)*): (?P<told>.*)")
"""A line that describes a field or an argument, such as `tokens: length of each prompt.`"""


def as_lists(
    _app: Any, _kind: str, _name: str, _object: Any, _options: Any, lines: list[str]
) -> None:
    """Sphinx's hook: paragraphs of field descriptions become lists; drawings keep their lines."""
    lines[:] = [
        line for paragraph in paragraphs(lines) for line in (*format_paragraph(paragraph), "")
    ]


def paragraphs(lines: Sequence[str]) -> list[list[str]]:
    """Split the lines at empty ones."""
    found: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return [one for one in found if one]


def format_paragraph(paragraph: Sequence[str]) -> list[str]:
    """A paragraph, converted to a list if it describes fields."""
    if not FIELD.match(paragraph[0]):
        return _indented(paragraph)
    items: list[str] = []
    for line in paragraph:
        found = FIELD.match(line)
        if found:
            names = ", ".join(f"``{name}``" for name in found["names"].split(", "))
            items.append(f"- {names}: {found['told']}")
        else:
            items.append(f"  {line.strip()}")
    return items


def _indented(paragraph: Sequence[str]) -> list[str]:
    """A paragraph as it is; one that is indented throughout becomes a literal block."""
    if paragraph[0].startswith("    "):
        return ["::", "", *paragraph]
    return list(paragraph)
