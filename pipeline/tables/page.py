"""Pages that need nothing beside themselves: one look for all, light, dark, narrow and printed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from gauntlet.common.sanitize import visible
from gauntlet.pipeline.tables.numbers import number, p_value

HERE = Path(__file__).parent
"""Where head.html.j2 and parts.html.j2 lie."""
LONGEST = 8_000
"""Characters that a page shows of a prompt or reply."""


@dataclass(frozen=True)
class Entry:
    """A line at the top of a page. code: whether its values are to be typed."""

    term: str
    values: Sequence[str]
    code: bool = False


@dataclass
class Contents:
    """The headings of a page: each gets an id of its own, and `parts` those of the parts."""

    parts: dict[str, str] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)

    def part(self, title: str) -> str:
        """The id of a heading that the table of contents lists."""
        name = self.within(title)
        self.parts[name] = title
        return name

    def within(self, title: str) -> str:
        """The id of a heading below those."""
        name = start = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "part"
        times = 1
        while name in self.ids:
            times += 1
            name = f"{start}-{times}"
        self.ids.add(name)
        return name


def rendered(template: Path, **values: Any) -> str:
    """The page that the template makes of the values. Every text is escaped, and control characters
    in it are spelt out."""
    own = _environment(template.parent).get_template(template.name)
    return own.render(contents=Contents(), **values)


@cache
def _environment(folder: Path) -> jinja2.Environment:
    """Of the templates in a folder, each compiled once a process."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, HERE]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    own = {"number": number, "p_value": p_value, "clipped": clipped}
    environment.filters |= own
    return environment


def _shown(value: Any) -> Any:
    plain = isinstance(value, str) and not isinstance(value, Markup)
    return visible(value) if plain else value


def clipped(text: str, whole: str) -> str:
    """The text, of a long one both ends. whole: the command that shows all of it."""
    if len(text) <= LONGEST:
        return text
    half, left_out = LONGEST // 2, len(text) - LONGEST
    return f"{text[:half]}\n... {left_out:,} characters; all: {whole}\n{text[-half:]}"
