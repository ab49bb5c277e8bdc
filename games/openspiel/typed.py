"""Moves that are typed: where there are too many to list, a seat writes one as OpenSpiel does."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from games.base import TextSpec

SHOWN = 3
"""Moves that are given as examples of how one is written."""
NAME = "type a move"
"""What the one option is called."""


@dataclass(frozen=True, slots=True)
class Moves(TextSpec):
    """Wants one of the legal moves, by its name. Upper and lower case, and space, count only where
    two moves differ by it. The examples are all of them, so that a player that takes one at random
    takes each alike."""

    def fault(self, text: str) -> str:
        if meant(text, self.examples):
            return ""
        return f"is none of the {len(self.examples)} legal moves"

    def __post_init__(self) -> None:
        """Each example is a legal move, so there is nothing to check."""


def wanted(names: Sequence[str]) -> Moves:
    """What a typed move has to be. The first examples are told in prompts, so these are drawn at
    random: by the names alone, which the seat knows, and not by what is hidden."""
    mixed = list(names)
    random.Random("\n".join(names)).shuffle(mixed)
    some = ", ".join(repr(one) for one in mixed[:SHOWN])
    ask = f"one of {len(mixed)} legal moves, written as in {some}"
    return Moves(ask, tuple(mixed), max_chars=max(map(len, mixed)))


def meant(text: str, names: Sequence[str]) -> str:
    """The name that the text stands for; "" where it is none, or one of several."""
    if text in names:
        return text
    found = [one for one in names if _plain(one) == _plain(text)]
    return found[0] if len(found) == 1 else ""


def _plain(text: str) -> str:
    return re.sub(r"\s", "", text).casefold()


def apart(names: Sequence[str], actions: Sequence[int]) -> tuple[str, ...]:
    """The names, those of several actions with the number that OpenSpiel gives each."""
    often: Mapping[str, int] = Counter(names)
    return tuple(
        one if one and often[one] == 1 else f"{one} (action {action})".strip()
        for one, action in zip(names, actions, strict=True)
    )
