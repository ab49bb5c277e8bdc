"""Matches as plain data for the viewer in a browser (match.js).

Data are packed as base64 of deflated JSON. HTML is cut into pieces, each stored once: successive
states of a game, and twins, share most of them. Large packs are several files: the viewer loads
those parts of a match that it shows.
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
LARGEST = 250_000
"""Bytes of a file. Two parts of a larger pack, one for each of two matches side by side, are as
large together."""


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
    _styles: list[str] = field(default_factory=list)
    _plies: list[str] = field(default_factory=list)

    def add(
        self,
        match: MatchView,
        judged: Judged | None = None,
        twins: Iterable[Twin] = (),
        href: str = "",
    ) -> None:
        """href: of the match alone."""
        judged = judged or Judged()
        if (style := style_of(match.game)) not in self._styles:
            self._styles.append(style)
        plies = [*_plies(match, judged), ({"moves": "over"}, str(html.ending(match)))]
        self.matches[match.match] = {
            "title": f"Match {match.match}",
            "name": visible(match.cell),
            "href": href,
            "facts": [[term, list(map(visible, values))] for term, values in match.facts],
            "note": judged.note(match.match),
            "start": len(self._plies),
            "plies": [facts for facts, _ in plies],
            "twins": [
                {"match": one.match, "name": visible(one.name), "href": one.href, "at": one.at}
                for one in twins
            ],
        }
        self._plies += (text for _, text in plies)

    def text(self) -> str:
        return self._text({0: _part(self._plies)})

    def files(self, name: str) -> dict[str, str]:
        """The texts of files of at most LARGEST bytes, by name. The first one names the others,
        and a part that is a single ply may be larger."""
        whole = self.text()
        if len(whole) <= LARGEST:
            return {name: whole}
        parts = self._split(0, len(self._plies))
        names = {start: f"{name}-{at}" for at, start in enumerate(parts)}
        return {name: self._text(names), **dict(zip(names.values(), parts.values(), strict=True))}

    def embed(self, *matches: str) -> Markup:
        """An element that match.js turns into the viewer of one match, or of two side by side."""
        return tag("div", class_="match", data_packed=self.text(), data_matches=" ".join(matches))

    def _text(self, parts: Mapping[int, object]) -> str:
        """parts: each as data, or the name of its file, by its first ply."""
        return packed(
            {
                "styles": self._styles,
                "starts": list(parts),
                "parts": list(parts.values()),
                "matches": self.matches,
            }
        )

    def _split(self, start: int, stop: int) -> dict[int, str]:
        """Packed parts that are small enough, by their first ply."""
        text = packed(_part(self._plies[start:stop]))
        if len(text) <= LARGEST / 2 or stop - start == 1:
            return {start: text}
        middle = (start + stop) // 2
        return self._split(start, middle) | self._split(middle, stop)


def _part(plies: Sequence[str]) -> dict[str, Any]:
    """Some plies as numbers of pieces."""
    pieces: defaultdict[str, int] = defaultdict(int)
    pieces.default_factory = pieces.__len__  # a new piece has the next number
    known = pieces.__getitem__
    return {"plies": [[*map(known, _cut(ply))] for ply in plies], "pieces": list(pieces)}


def _cut(text: str) -> list[str]:
    for start in CUTS:
        text = text.replace(start, f"\0{start}")  # no text of a page holds this character
    return text.replace("\n", "\n\0").split("\0")


def _plies(match: MatchView, judged: Judged) -> Iterator[tuple[dict[str, Any], str]]:
    """For each ply what lists and charts show of it, and its HTML."""
    judgements, number = judged.matches.get(match.match, {}), 0
    for ply, moves in zip(match.plies, match.moves, strict=True):
        own = {at: judgements.get(number + at) for at in range(len(ply.decisions))}
        number += len(own)
        facts: dict[str, Any] = {"moves": moves}
        if known := [one for one in own.values() if one]:
            facts |= {"mark": max(map(judged.mark, known)), "value": round(known[0].value, 3)}
        if any(one.fallback for one in ply.decisions):
            facts["fallback"] = True
        yield facts, _ply(match, ply, own)


def packed(data: object) -> str:
    """Plain data as base64 of deflated JSON, which match.js unpacks."""
    return b64encode(zlib.compress(encode(data))).decode()


def _ply(match: MatchView, ply: Ply, judgements: Mapping[int, Judgement | None]) -> str:
    markup = html.ply(match.game, ply, [_judgement(one) for one in judgements.values()])
    return str(markup)  # not Markup, whose methods are slow


def _judgement(judgement: Judgement | None) -> Markup | str:
    if judgement is None:
        return ""
    lost = f"; gave away {judgement.lost:.2f}" if judgement.lost > 0 else ", the best option"
    return tag("p", f"chance to win after it: {judgement.value:.2f}{lost}", class_="note")


def divergence(moves: Sequence[str], other_moves: Sequence[str]) -> int:
    """The first ply at which the moves of two matches of a deal differ, or that only one has; their
    number of plies if they are the same."""
    pairs = enumerate(zip(moves, other_moves, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(moves), len(other_moves)))


def style() -> str:
    """The style sheet of the viewer, without that of a game's own drawing."""
    return "\n".join(file.read_text(encoding="utf-8") for file in (html.STYLE, DRAWING_STYLE))
