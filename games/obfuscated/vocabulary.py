"""The words by which a game is known: what may be renamed without a change of the game.

A game of one's own tells them as a member `vocabulary`. Those of our games stand here, since a game
plays the same whatever it could be called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from games.base import Game
from games.pit import Pit
from games.pit.cards import COMMODITIES
from games.rock_paper_scissors import HANDS, RockPaperScissors
from games.tic_tac_toe import TicTacToe
from games.uno import Uno
from games.uno.words import COLOURS, TRAITS


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
