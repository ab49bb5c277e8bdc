"""Words exchanged for made-up ones, and back: an injective map settled by a seed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

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
