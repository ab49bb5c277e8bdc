"""The words by which a game is known: what may be renamed without a change of the game.

A game of one's own tells them as a member `vocabulary`. Those of our games stand here, since a game
plays the same whatever it could be called.

They are exchanged for made-up ones, and back, by an injective map that a seed settles.
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
    """Words of one kind, each once. told: what they are, in their order, where a player must be
    told that to know the game; "" where the rules explain each."""

    words: Sequence[str]
    told: str = ""


@dataclass(frozen=True)
class Vocabulary:
    """All that may be renamed, the title among it. without: parts of the rules that say how the old
    names are made up, and so say nothing of the new ones."""

    groups: Sequence[Group]
    without: Sequence[str] = ()

    @property
    def glossary(self) -> str:
        """What a player must be told of the names, in a sentence a group."""
        told = (group for group in self.groups if group.told)
        return " ".join(f"{group.told}: {', '.join(group.words)}." for group in told)

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(word for group in self.groups for word in group.words)


@runtime_checkable
class Named(Protocol):
    """A game that tells the words by which it is known."""

    @property
    def vocabulary(self) -> Vocabulary: ...


def vocabulary_of(game: Game[Any]) -> Vocabulary | None:
    """The words by which a game is known; None where nobody has told them."""
    if isinstance(game, Named):
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
    """Exchanges `old` words, each by the one of `new` in its place, in any text.

    A word is exchanged where it stands as a whole, with a capital where it has one; of words that
    overlap the longest. No new word is an old one, and no two are the same.
    """

    old: tuple[str, ...]
    new: tuple[str, ...]

    def there(self, text: str) -> str:
        """The text in new words."""
        return self._forward.exchanged(text)

    def back(self, text: str) -> str:
        """The text in old words, of one that `there` gave."""
        return self._backward.exchanged(text)

    @cached_property
    def _forward(self) -> _Exchange:
        return _Exchange(_cases(zip(self.old, self.new, strict=True)))

    @cached_property
    def _backward(self) -> _Exchange:
        return _Exchange(_cases(zip(self.new, self.old, strict=True)))


@dataclass(frozen=True)
class _Exchange:
    """Words and what takes their place, and how they are found in a text, the longest first."""

    words: Mapping[str, str]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest = sorted(self.words, key=len, reverse=True)
        return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)")

    def exchanged(self, text: str) -> str:
        return self._pattern.sub(lambda found: self.words[found[0]], text) if self.words else text


def renaming(words: Sequence[str], taken: str, seed: int) -> Renaming:
    """Every word with one made up; none of these stands in the text `taken`."""
    used = set(re.findall(r"\w+", taken.casefold())) | {word.casefold() for word in words}
    made = _made_up(np.random.default_rng(seed), used)
    pairs = [(word, next(made)) for word in words]
    return Renaming(tuple(words), tuple(_capital(n) if o[:1].isupper() else n for o, n in pairs))


def _made_up(rng: np.random.Generator, used: set[str]) -> Iterator[str]:
    """Words that nobody knows, such as "vobute"; none twice."""
    while True:
        picked = zip(
            rng.integers(len(CONSONANTS), size=SYLLABLES).tolist(),
            rng.integers(len(VOWELS), size=SYLLABLES).tolist(),
            strict=True,
        )
        word = "".join(CONSONANTS[one] + VOWELS[other] for one, other in picked)
        if word not in used:
            used.add(word)
            yield word


def _cases(pairs: Iterator[tuple[str, str]]) -> dict[str, str]:
    """The pairs, and those with a capital in front."""
    found = dict(pairs)
    return {_capital(one): _capital(other) for one, other in found.items()} | found


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]
