"""Self-contained pages with one look: light, dark, narrow and printed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from gauntlet.common.sanitize import visible
from gauntlet.pipeline.tables.formatting import number, p_value

LONGEST = 8_000
"""Characters that a page shows of a prompt or reply."""


@dataclass(frozen=True)
class Entry:
    """A line at the top of a page. code: its values are commands."""

    term: str
    values: Sequence[str]
    code: bool = False


class HeadingIds:
    """Gives each heading of a page an id that no other has."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def __call__(self, title: str) -> str:
        """Letters and digits of the title, numbered if they were given before."""
        name = start = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "part"
        times = 1
        while name in self._given:
            times += 1
            name = f"{start}-{times}"
        self._given.add(name)
        return name


def render(template: Path, **values: Any) -> str:
    """The template's page of these values. All text is escaped, control characters spelled out."""
    page = _environment(template.parent).get_template(template.name)
    return page.render(heading_id=HeadingIds(), **values)


@cache
def _environment(folder: Path) -> jinja2.Environment:
    """The templates of a folder and of this one, each compiled once per process."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, Path(__file__).parent]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_sanitize,
    )
    environment.filters |= {"number": number, "p_value": p_value, "clipped": clip}
    return environment


def _sanitize(value: Any) -> Any:
    plain = isinstance(value, str) and not isinstance(value, Markup)
    return visible(value) if plain else value


def clip(text: str, command: str) -> str:
    """The text; of a long one both ends, and the command that shows all of it."""
    if len(text) <= LONGEST:
        return text
    half, omitted = LONGEST // 2, len(text) - LONGEST
    return f"{text[:half]}\n... {omitted:,} characters; all: {command}\n{text[-half:]}"
