"""What a page and the process that plays for it say to each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gauntlet.games.base import Action, Game, Observation, TextAction


@dataclass(frozen=True)
class Laid:
    """The table stands: where its matches are kept, which lay there before, and who sits where."""

    folder: Path
    before: frozenset[str]
    players: tuple[str, ...]
    seat: int


@dataclass(frozen=True)
class Asked:
    """The person is to decide. number: counted from 1 over all that a table asks; an answer to an
    earlier one is nobody's. played: matches that this table has finished."""

    number: int
    game: Game[Any]
    observation: Observation
    options: tuple[Action, ...]
    played: int


@dataclass(frozen=True)
class Over:
    """A match has ended.

    moves: since the person's last decision. ending: the last state in words. played: as in Asked,
    this one too.
    """

    moves: tuple[str, ...]
    ending: str
    returns: tuple[float, ...]
    played: int


@dataclass(frozen=True)
class Answer:
    """What the person says to the question of this number, in the lines that they would type."""

    number: int
    lines: tuple[str, ...]


News = Laid | Asked | Over


def answer(asked: Asked, option: int, words: str = "") -> Answer:
    """The answer that takes an option, with the words where it wants some."""
    wanted = isinstance(asked.options[option], TextAction)
    number = () if wanted and len(asked.options) == 1 else (str(option + 1),)
    return Answer(asked.number, (*number, words) if wanted else number)


@dataclass(frozen=True)
class Scene:
    """Who is watched, before the first guess.

    codes: what a guess may name. players: the names of those who are watched. truth: of each the
    index of its code. losses: by name, of every guess, in lexical order of its indices, what it
    costs under this truth, float64 (guesses,); empty where nothing is known. folder: where the
    match is kept.
    """

    folder: Path
    codes: tuple[str, ...]
    players: tuple[str, ...]
    truth: tuple[int, ...]
    losses: dict[str, np.ndarray]


@dataclass(frozen=True)
class Guessed:
    """One guess, and what it was made of.

    shown, steps: how many steps were shown, of how many. done: since the guess before, by step the
    seats that acted and what each took. guess: the index of a code for each player, () for none.
    posterior: how likely each code is for each player by Bayes' rule from the steps that are told,
    float64 (players, codes). confidence: as the observer says, None where it does not.
    """

    shown: int
    steps: int
    done: tuple[tuple[tuple[int, str], ...], ...]
    guess: tuple[int, ...]
    posterior: np.ndarray
    confidence: float | None
    reasoning: str
