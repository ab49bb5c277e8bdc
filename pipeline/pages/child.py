"""A process behind a page: a run of its own, and what it and the page send each other.

It is a process because a run takes signals and a model's time for itself. It ends with the pages,
however those end, since it then hears nothing more.
"""

from __future__ import annotations

import secrets
import signal
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import Pipe
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


class Child(ABC):
    """A module of the pages run as a program: it is given the number of its end of the connection,
    the first deal to be played, and the run's settings.

    name: for a person. changes: rises with all that changes here. ended: why the process ended, in
    words; "" where it came to its end, None while it runs.
    """

    module = ""

    def __init__(self, name: str, words: Sequence[str], first: int = 0) -> None:
        self.id = secrets.token_urlsafe(6)
        self.name = name
        self.changes = 0
        self.ended: str | None = None
        self._told: deque[str] = deque(maxlen=1)
        self._connection, theirs = Pipe()
        program = [sys.executable, "-m", self.module, str(theirs.fileno()), str(first)]
        self._process = subprocess.Popen(
            [*program, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        self._reading = threading.Thread(target=self._read, daemon=True, name="errors")
        self._hearing = threading.Thread(target=self._hear, daemon=True, name=self.module)
        self._reading.start()
        self._hearing.start()

    @abstractmethod
    def take_in(self, news: Any) -> None:
        """Notes what the process tells."""

    def send(self, message: object) -> None:
        with suppress(OSError):  # `_hear` will say why
            self._connection.send(message)

    def leave(self) -> None:
        """Ends the process, which still writes its tables. Returns at once."""
        with suppress(OSError):
            self._process.send_signal(signal.SIGINT)

    def wait(self, seconds: float | None = None) -> None:
        """Returns once the process has ended, or after so long."""
        self._hearing.join(seconds)

    def _hear(self) -> None:
        with suppress(OSError, EOFError):
            while True:
                self.take_in(self._connection.recv())
                self.changes += 1
        status = self._process.wait()
        self._reading.join()
        self._connection.close()
        self.ended = self._why(status)
        self.changes += 1

    def _read(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            self._told.extend(line for line in lines if line.strip())

    def _why(self, status: int) -> str:
        """What the process said last, where it did not end by itself."""
        if status == 0:
            return ""
        told = "".join(self._told).strip().removeprefix("gauntlet: ")
        return told or "it was left; what was finished is kept"
