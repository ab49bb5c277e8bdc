"""Self-contained pages with one look: light, dark, narrow and printed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import UserError
from gauntlet.common.sanitize import file_name, visible
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.tables.formatting import number, p_value
from gauntlet.pipeline.viewer.data import SCRIPT, Pack, Twin, divergence, style
from gauntlet.pipeline.viewer.judged import Judged, read_judged
from gauntlet.pipeline.viewer.match import MatchView, match_view

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


# --- matches as pages of one file each

TEMPLATE = Path(__file__).parent / "match.html.j2"
BESIDE = "matches"
"""The folder beside the report."""
LINKED, BYTES = 40, 8_000_000
"""Most matches that a report links to, and about the most bytes of their pages."""


def match_page(
    match: MatchView, judged: Judged | None = None, twin: MatchView | None = None
) -> str:
    """The match as one self-contained page, with another match of its deal beside it."""
    pack = Pack()
    if twin:
        at = divergence(match.moves, twin.moves)
        pack.add(match, judged, [Twin(twin.match, twin.cell, "", at)])
        pack.add(twin, judged)
    else:
        pack.add(match, judged)
    return render(
        TEMPLATE,
        title=f"Match {match.match}",
        style=Markup(style()),
        script=Markup(SCRIPT.read_text(encoding="utf-8")),
        match=pack.embed(match.match, *([twin.match] if twin else [])),
    )


def write_linked(path: Path, records: Iterable[MatchRecord]) -> dict[str, str]:
    """Write a page for each of the first matches, in place of earlier pages. Returns their
    addresses, seen from the run's folder. Matches that no longer play as recorded have none."""
    folder, judged, size = Folder(path), read_judged(path), 0
    pages: dict[str, str] = {}
    for record in islice(records, LINKED):
        with suppress(UserError):
            text = match_page(match_view(folder, record), judged)
            pages[record.match] = f"{BESIDE}/{file_name(record.match)}.html"
            (path / BESIDE).mkdir(exist_ok=True)
            write_atomically(path / pages[record.match], text)
            size += len(text)
        if size > BYTES:
            break
    for old in (path / BESIDE).glob("*.html"):
        if f"{BESIDE}/{old.name}" not in pages.values():
            old.unlink()
    return pages
