"""Matches as plain data for the viewer in a browser (match.js).

Data are packed as base64 of deflated JSON. HTML is cut into pieces, each stored once: successive
states of a game, and twins, share most of them.
"""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markupsafe import Markup
from msgspec.json import encode

from gauntlet.common.markup import tag
from gauntlet.common.sanitize import visible
from gauntlet.games.drawing import STYLE as DRAWING_STYLE
from gauntlet.games.drawing import style_of
from gauntlet.pipeline.viewer import html
from gauntlet.pipeline.viewer.judged import Judged, Judgement
from gauntlet.pipeline.viewer.match import MatchView, Ply

SCRIPT = Path(__file__).with_name("match.js")
"""The viewer; it shows what `embed` makes."""
CUTS = ("<d", "<s")
"""Pieces begin with these tags, such as <div> and <span>, and after line breaks."""


@dataclass(frozen=True)
class Twin:
    """Another match of the same deal. at: the first ply at which both move differently, the number
    of plies if there is none; None if it is not known. href: of both side by side."""

    match: str
    name: str
    href: str
    at: int | None = None


@dataclass
class Pack:
    """Matches for one viewer."""

    matches: dict[str, Any] = field(default_factory=dict)
    _pieces: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))

    def __post_init__(self) -> None:
        self._pieces.default_factory = self._pieces.__len__  # a new piece has the next number

    def add(
        self,
        match: MatchView,
        judged: Judged | None = None,
        twins: Iterable[Twin] = (),
        href: str = "",
    ) -> None:
        """href: of the match alone."""
        judged = judged or Judged()
        self.matches[match.match] = {
            "title": f"Match {match.match}",
            "name": visible(match.cell),
            "href": href,
            "facts": [[term, list(map(visible, values))] for term, values in match.facts],
            "note": judged.note(match.match),
            "style": self._cut(style_of(match.game)),
            "plies": [*self._plies(match, judged), self._end(match)],
            "twins": [
                {"match": one.match, "name": visible(one.name), "href": one.href, "at": one.at}
                for one in twins
            ],
        }

    def text(self) -> str:
        return packed({"pieces": list(self._pieces), "matches": self.matches})

    def embed(self, *matches: str) -> Markup:
        """An element that match.js turns into the viewer of one match, or of two side by side."""
        return tag("div", class_="match", data_packed=self.text(), data_matches=" ".join(matches))

    def _plies(self, match: MatchView, judged: Judged) -> Iterator[dict[str, Any]]:
        judgements, number = judged.matches.get(match.match, {}), 0
        for ply, moves in zip(match.plies, match.moves, strict=True):
            own = {at: judgements.get(number + at) for at in range(len(ply.decisions))}
            number += len(own)
            entry: dict[str, Any] = {"moves": moves}
            if known := [one for one in own.values() if one]:
                marks = [judged.mark(one) for one in known]
                entry |= {"mark": max(marks), "value": round(known[0].value, 3)}
            if any(one.fallback for one in ply.decisions):
                entry["fallback"] = True
            yield {**entry, "html": self._cut(_ply(match, ply, own))}

    def _end(self, match: MatchView) -> dict[str, Any]:
        return {"moves": "over", "html": self._cut(html.ending(match))}

    def _cut(self, text: str) -> list[int]:
        text = str(text)  # not Markup, whose methods are slow
        for start in CUTS:
            text = text.replace(start, f"\0{start}")  # no text of a page holds this character
        return [*map(self._pieces.__getitem__, text.replace("\n", "\n\0").split("\0"))]


def packed(data: object) -> str:
    """Plain data as base64 of deflated JSON, which match.js unpacks."""
    return b64encode(zlib.compress(encode(data))).decode()


def _ply(match: MatchView, ply: Ply, judgements: Mapping[int, Judgement | None]) -> Markup:
    return html.ply(match.game, ply, [_judgement(one) for one in judgements.values()])


def _judgement(one: Judgement | None) -> Markup | str:
    if one is None:
        return ""
    lost = f"; gave away {one.lost:.2f}" if one.lost > 0 else ", the best option"
    return tag("p", f"chance to win after it: {one.value:.2f}{lost}", class_="note")


def divergence(one: Sequence[str], other: Sequence[str]) -> int:
    """The first ply at which the moves of two matches of a deal differ, or that only one has; their
    number of plies if they are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def style() -> str:
    """The style sheet of the viewer, without that of a game's own drawing."""
    return "\n".join(file.read_text(encoding="utf-8") for file in (html.STYLE, DRAWING_STYLE))
