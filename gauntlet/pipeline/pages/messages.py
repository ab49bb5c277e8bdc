"""The messages between a table and the process that plays its run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gauntlet.games.base import Action, Game, Observation, TextAction


@dataclass(frozen=True)
class TableReady:
    """The table is ready: the match folder, the file stem of the person's cell and its earlier
    matches, the players by seat, and the person's seat."""

    folder: Path
    stem: str
    before: frozenset[str]
    players: tuple[str, ...]
    seat: int


@dataclass(frozen=True)
class PersonTurn:
    """The person must decide.

    number: counts from 1 over all questions of a table; answers to earlier ones are ignored.
    played: matches that this table has finished.
    """

    number: int
    game: Game[Any]
    observation: Observation
    options: tuple[Action, ...]
    played: int


@dataclass(frozen=True)
class Over:
    """A match has ended.

    moves: since the person's last decision.
    ending: the final state as text.
    played: as in Asked, including this match.
    """

    moves: tuple[str, ...]
    ending: str
    returns: tuple[float, ...]
    played: int


@dataclass(frozen=True)
class Answer:
    """The person's answer to the question of this number, as the lines they would type."""

    number: int
    lines: tuple[str, ...]


News = TableReady | PersonTurn | Over


def answer(turn: PersonTurn, option: int, words: str = "") -> Answer:
    """The answer that takes an option, with its text for a text action."""
    wanted = isinstance(turn.options[option], TextAction)
    number = () if wanted and len(turn.options) == 1 else (str(option + 1),)
    return Answer(turn.number, (*number, words) if wanted else number)
