"""A process behind a page: a run of its own, and what it tells over a connection.

It is of its own because a run takes signals and a model's time for itself. It ends with this one,
however that ends, since it then hears nothing more.
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
from multiprocessing import Pipe
from typing import Any


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
