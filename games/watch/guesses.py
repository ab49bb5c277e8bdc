"""Guesses as words: a code for each watched player, or a dash for none."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from functools import lru_cache

from games.base import Open, TextSpec

NULL = "-"
"""The guess of whoever has none."""
MANY = 1000
"""The most combinations that are all given as examples."""

Guess = tuple[int, ...]
"""Of each watched player the index of a code; () for none."""


@dataclass(frozen=True)
class Wanted:
    """The action that wants a guess, and how its words are read."""

    action: Open
    codes: dict[str, int]

    def read(self, text: str) -> Guess:
        """What words that will do say."""
        return () if text == NULL else tuple(self.codes[word] for word in text.casefold().split())


@lru_cache(maxsize=32)
def wanted(codes: tuple[str, ...], players: tuple[str, ...]) -> Wanted:
    """The action that wants one of these codes for each of these players. Its examples are
    guesses of which each is as likely as any other."""
    one = f"({'|'.join(map(re.escape, codes))})"
    told = "for player " + " and for player ".join(players)
    text = TextSpec(
        ask=f"a strategy's code {told}, in this order with a space between them",
        examples=tuple(" ".join(guess) for guess in _examples(codes, len(players))),
        pattern=f"(?i){NULL}|{' '.join([one] * len(players))}",
        max_chars=len(players) * (max(map(len, codes)) + 1),
        instead=NULL,
    )
    return Wanted(Open(0, text), {code.casefold(): at for at, code in enumerate(codes)})


def _examples(codes: tuple[str, ...], players: int) -> list[tuple[str, ...]]:
    """All guesses where they are not too many; else as many as give every code to every player
    equally often, and to any two players in every way that a step from one to the next reaches."""
    if len(codes) ** players <= MANY:
        return list(itertools.product(codes, repeat=players))
    count = len(codes)
    pairs = itertools.product(range(count), repeat=2)
    return [
        tuple(codes[(first + step * seat) % count] for seat in range(players))
        for first, step in pairs
    ]
