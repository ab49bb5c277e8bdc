"""The words by which a game is recognized, which can be renamed without changing the game.

A user's game declares them as `vocabulary`. Those of the built-in games are here, since their play
does not depend on names.

A seed determines an injective map from the words to made-up ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from gauntlet.games.base import Game
from gauntlet.games.pit import Pit
from gauntlet.games.pit.rules import COMMODITIES
from gauntlet.games.rock_paper_scissors import HANDS, RockPaperScissors
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.uno import Uno
from gauntlet.games.uno.words import COLOURS, TRAITS


@dataclass(frozen=True)
class Group:
    """Words of one kind, each once. told: a heading for them, in order, if players need the list to
    know the game; "" if the rules explain each word."""

    words: Sequence[str]
    told: str = ""


@dataclass(frozen=True)
class Vocabulary:
    """All renamable words, including the title. without: parts of the rules that explain how the
    old names are formed, and so do not apply to the new ones."""

    groups: Sequence[Group]
    without: Sequence[str] = ()

    @property
    def glossary(self) -> str:
        """What a player needs to know about the names, one sentence per group."""
        told = (group for group in self.groups if group.told)
        return " ".join(f"{group.told}: {', '.join(group.words)}." for group in told)

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(word for group in self.groups for word in group.words)


@runtime_checkable
class NamedItem(Protocol):
    """A game that declares the words by which it is recognized."""

    @property
    def vocabulary(self) -> Vocabulary: ...


def vocabulary_of(game: Game[Any]) -> Vocabulary | None:
    """Return the words by which a game is recognized; None if they are not declared."""
    if isinstance(game, NamedItem):
        return game.vocabulary
    ours = OURS.get(type(game))
    return ours(game) if ours else None


def _tic_tac_toe(game: Any) -> Vocabulary:
    cells = [f"C{column + 1}R{row + 1}" for row in range(game.size) for column in range(game.size)]
    explained = "; CxRy is the cell in column x and row y, counted from 1"
    order = f"The cells of the grid, row by row, {game.size} in a row"
    return Vocabulary((Group(("Tic-Tac-Toe",)), Group(cells, order)), (explained,))


def _uno(game: Any) -> Vocabulary:
    actions = [trait for trait in TRAITS if not trait.isdigit()]
    return Vocabulary((Group(("UNO",)), Group(COLOURS, "The colours"), Group(actions)))


def _hands(game: Any) -> Vocabulary:
    return Vocabulary((Group(("Rock-Paper-Scissors",)), Group(HANDS)))


def _pit(game: Any) -> Vocabulary:
    return Vocabulary((Group(("Pit",)), Group(COMMODITIES), Group(("bull", "bear"))))


OURS: Mapping[type, Callable[[Any], Vocabulary]] = {
    TicTacToe: _tic_tac_toe,
    Uno: _uno,
    RockPaperScissors: _hands,
    Pit: _pit,
}


CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"
SYLLABLES = 3


@dataclass(frozen=True)
class Renaming:
    """Replaces each of the `old` words by the one of `new` at the same index, in any text.

    Only whole words are replaced, keeping an initial capital; of overlapping words the longest is
    used. No new word is an old one, and no two are the same.
    """

    old: tuple[str, ...]
    new: tuple[str, ...]

    def rename(self, text: str) -> str:
        """Return the text in new words."""
        return self._forward.replace(text)

    def restore(self, text: str) -> str:
        """Return the text in old words, given an output of `there`."""
        return self._backward.replace(text)

    @cached_property
    def _forward(self) -> _Replacer:
        return _Replacer(_with_capitals(zip(self.old, self.new, strict=True)))

    @cached_property
    def _backward(self) -> _Replacer:
        return _Replacer(_with_capitals(zip(self.new, self.old, strict=True)))


@dataclass(frozen=True)
class _Replacer:
    """Words and their replacements; matches in a text prefer the longest."""

    words: Mapping[str, str]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest = sorted(self.words, key=len, reverse=True)
        return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)")

    def replace(self, text: str) -> str:
        return self._pattern.sub(lambda match: self.words[match[0]], text) if self.words else text


def renaming(words: Sequence[str], used_text: str, seed: int) -> Renaming:
    """Return a renaming of the words to made-up ones that do not occur in the text `taken`."""
    used = set(re.findall(r"\w+", used_text.casefold())) | {word.casefold() for word in words}
    made = _random_words(np.random.default_rng(seed), used)
    pairs = [(word, next(made)) for word in words]
    return Renaming(tuple(words), tuple(_capital(n) if o[:1].isupper() else n for o, n in pairs))


def _random_words(rng: np.random.Generator, used: set[str]) -> Iterator[str]:
    """Yield made-up words such as "vobute", none twice."""
    while True:
        pairs = zip(
            rng.integers(len(CONSONANTS), size=SYLLABLES).tolist(),
            rng.integers(len(VOWELS), size=SYLLABLES).tolist(),
            strict=True,
        )
        word = "".join(CONSONANTS[one] + VOWELS[other] for one, other in pairs)
        if word not in used:
            used.add(word)
            yield word


def _with_capitals(pairs: Iterator[tuple[str, str]]) -> dict[str, str]:
    """Return the pairs, plus their capitalized versions."""
    found = dict(pairs)
    return {_capital(one): _capital(other) for one, other in found.items()} | found


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]
