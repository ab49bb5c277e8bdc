"""The process behind a page, which plays a run, and the messages between them.

It is a process because a run handles signals and occupies a model. It ends with the pages, however
those end, because its connection closes.
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


@dataclass(frozen=True)
class Scene:
    """The watched match, before the first guess.

    codes: the possible guesses. strategies: their names, each with what it does.
    players: the names of the watched players.
    truth: the index of each player's code.
    losses: by name, the loss of every guess under this truth, in lexical order of its indices,
        float64 (guesses,); empty if unknown.
    folder: where the match is stored.
    """

    folder: Path
    codes: tuple[str, ...]
    strategies: dict[str, str]
    players: tuple[str, ...]
    truth: tuple[int, ...]
    losses: dict[str, np.ndarray]


@dataclass(frozen=True)
class Guessed:
    """One guess and what it is based on.

    shown, steps: number of steps shown so far, and in total.
    done: per step since the previous guess, the seats that acted and their moves.
    guess: the index of a code for each player, () for none.
    posterior: each code's probability for each player by Bayes' rule from the steps shown, float64
        (players, codes).
    confidence: the observer's own, None if not given.
    """

    shown: int
    steps: int
    done: tuple[tuple[tuple[int, str], ...], ...]
    guess: tuple[int, ...]
    posterior: np.ndarray
    confidence: float | None
    reasoning: str


class Child(ABC):
    """A module of the pages run as a program.

    Its arguments are the descriptor of its end of the connection, the first deal to play, and the
    run's settings.

    name: for display.
    changes: a counter of changes.
    ended: why the process ended; "" if it finished, None while it runs.
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
        """Process a message of the child."""

    def send(self, message: object) -> None:
        with suppress(OSError):  # `_hear` will report it
            self._connection.send(message)

    def leave(self) -> None:
        """Interrupt the process, which still writes its tables. Returns at once."""
        with suppress(OSError):
            self._process.send_signal(signal.SIGINT)

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the process has ended, or for this long."""
        self._hearing.join(seconds)

    def _hear(self) -> None:
        with suppress(OSError, EOFError):
            while True:
                self.take_in(self._connection.recv())
                self.changes += 1
        status = self._process.wait()
        self._reading.join()
        self._connection.close()
        self.ended = self._ending_reason(status)
        self.changes += 1

    def _read(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            self._told.extend(line for line in lines if line.strip())

    def _ending_reason(self, status: int) -> str:
        if status == 0:
            return ""
        told = "".join(self._told).strip().removeprefix("gauntlet: ")
        return told or "it was left; what was finished is kept"
