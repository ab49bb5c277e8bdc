"""Which matches of a run a person wants to see, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from msgspec.json import encode

from gauntlet.pipeline.pages.library import Kept

RESULTS = ("all", "lost", "won", "drawn", "shared")
ORDERS: dict[str, Callable[[Kept], Any]] = {
    "deal": lambda kept: (kept.ended.deal, kept.ended.rotation, kept.ended.cell),
    "smallest margin": lambda kept: (kept.margin is None, kept.margin or 0.0),
    "most fallbacks": lambda kept: -kept.ended.fallbacks,
    "lowest figure": lambda kept: kept.ended.figure,
    "longest": lambda kept: -kept.ended.plies,
    "shortest": lambda kept: kept.ended.plies,
    "most tokens": lambda kept: -kept.ended.all_tokens,
}
"""What lists are sorted by, the least first; of equals the order of the log stays."""


@dataclass
class Choice:
    """What is asked for. cell: a key, "" for all. margin: the least margin is below it, where one
    is given. text: the start of a match's id, or "deal 7". said: what a prompt, without what all
    prompts share, or a reply must hold, in upper or lower case."""

    cell: str = ""
    result: str = "all"
    fallbacks: bool = False
    margin: float | None = None
    text: str = ""
    said: str = ""
    order: str = "deal"

    def of(self, kept: Iterable[Kept]) -> list[Kept]:
        """Those that are wanted, in order. Raises OSError."""
        found = sorted(filter(self._wanted, kept), key=ORDERS[self.order])
        return _holding(found, self.said) if self.said.strip() else found

    def _wanted(self, one: Kept) -> bool:
        ended = one.ended
        return (
            (not self.cell or ended.cell == self.cell)
            and self.result in ("all", result(one))
            and (not self.fallbacks or ended.fallbacks > 0)
            and (self.margin is None or (one.margin is not None and one.margin < self.margin))
            and self._named(one)
        )

    def _named(self, one: Kept) -> bool:
        word = self.text.strip().lower()
        if word.startswith("deal"):
            return word.removeprefix("deal").strip() in ("", str(one.ended.deal))
        return one.ended.match.startswith(word)


def _holding(kept: Iterable[Kept], words: str) -> list[Kept]:
    """Those whose lines hold the words, as JSON writes them; that is where options stand, too."""
    wanted = encode(words.strip().lower())[1:-1]
    found = []
    with ExitStack() as opened:
        files: dict[Path, BinaryIO] = {}
        for one in kept:
            path = one.place.file
            if path not in files:
                files[path] = opened.enter_context(path.open("rb"))
            files[path].seek(one.place.start)
            if wanted in files[path].read(one.place.size).lower():
                found.append(one)
    return found


def result(one: Kept) -> str:
    """How a match ended for the seats that are measured; shared where some of several won."""
    won = one.ended.won
    if won in (0.0, 1.0):
        return "won" if won else "drawn" if one.ended.value == 0 else "lost"
    return "shared"
