"""What a game may tell, beyond its facts, those who are asked in words: the prompting methods.

A game has a capability by having its members; nothing is inherited or declared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from games.base import Fact, Observation


@runtime_checkable
class Headed(Protocol):
    """A game whose rules are a summary, and headings whose text a player may ask for.

    `full_rules` of both is what its observations give as `rules`.
    """

    @property
    def rules_summary(self) -> str:
        """What the game is about and how it is won, in a few sentences."""
        ...

    @property
    def rules_headings(self) -> Mapping[str, str]:
        """The text under each heading, one line each, in the order in which they are read."""
        ...


def full_rules(game: Headed) -> str:
    """The summary and all headings with their texts, one after the other, on one line."""
    return " ".join(
        (game.rules_summary, *(f"{name}: {text}" for name, text in game.rules_headings.items()))
    )


@runtime_checkable
class Advised(Protocol):
    """A game with more to tell a player that thinks twice. Players do without where it has not."""

    def review(self, observation: Observation, moves: int) -> tuple[Fact, ...]:
        """What the last `moves` public moves add up to, in counts; () where there is nothing to
        count. Only what the observing seat knows."""
        ...

    def advice(self, observation: Observation) -> tuple[str, ...]:
        """How to play well for a win at such a decision, a sentence each; never which option."""
        ...


@runtime_checkable
class Formatted(Protocol):
    """A game whose moves can be told from other words by how they are written."""

    @property
    def move_format(self) -> str:
        """A regular expression, read without regard to case, that fits the name of every option
        and of moves that are none now; space and underscores within a name do not count."""
        ...


@runtime_checkable
class Intended(Protocol):
    """A game that knows the few intents that a player may have, for methods that ask for one."""

    @property
    def intents(self) -> Sequence[str]:
        """Each a name, a colon and what it means; in a game of moves that speak for themselves the
        name alone."""
        ...


@runtime_checkable
class Cautious(Protocol):
    """A game with a move of its own for players that gave none; in others it is a random one."""

    def fallback(self, observation: Observation) -> int:
        """The index of the option that is taken for whoever names none."""
        ...
