"""Matches as pages of one file each. The report links to those in the folder beside it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path

from markupsafe import Markup

from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import UserError
from gauntlet.common.sanitize import file_name
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.tables.media.page import render
from gauntlet.pipeline.viewer.data import SCRIPT, Pack, Twin, divergence, style
from gauntlet.pipeline.viewer.judged import Judged, read_judged
from gauntlet.pipeline.viewer.match import MatchView, match_view

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
