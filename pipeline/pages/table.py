"""A table at which a person plays: the process that plays, and what it has said so far.

The process is of its own because a run takes signals and a model's time for itself. It ends with
this one, however that ends, since it then hears nothing more over its connection.
"""

from __future__ import annotations

import secrets
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from multiprocessing import Pipe

from pipeline.log.folder import Folder
from pipeline.log.replayed import ReplayedMatch, replayed
from pipeline.pages.said import Answer, Asked, Laid, News, Over


class Table:
    """One run of `experiment=play`. Any page may look at it, and any may answer.

    name: for a person. words: the run's settings. first: the first deal that is played.
    """

    def __init__(self, name: str, words: Sequence[str], first: int = 0) -> None:
        self.id = secrets.token_urlsafe(6)
        self.name = name
        self.laid: Laid | None = None
        self.asked: Asked | None = None
        self.over: Over | None = None
        self.ended: str | None = None
        """Why the process ended, in words; "" where all was played. None while it plays."""
        self.changes = 0
        """Rises with all that changes here."""
        self._known = 0
        self._answering = threading.Lock()
        self._connection, theirs = Pipe()
        self._told: deque[str] = deque(maxlen=1)
        program = [sys.executable, "-m", "pipeline.pages.seat", str(theirs.fileno()), str(first)]
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
        self._hearing = threading.Thread(target=self._hear, daemon=True, name=f"table {self.id}")
        self._reading.start()
        self._hearing.start()

    @property
    def moves(self) -> tuple[str, ...]:
        """What has been played since the person's last decision of this match."""
        return self.asked.observation.history[self._known :] if self.asked else ()

    def answer(self, given: Answer) -> bool:
        """Whether it answers what is asked now: of two pages the first counts."""
        with self._answering:
            if self.asked is None or self.asked.number != given.number:
                return False
            self._known = len(self.asked.observation.history)
            self.asked = None
            self.changes += 1
            with suppress(OSError):  # `_hear` will say why
                self._connection.send(given)
            return True

    def ending(self) -> ReplayedMatch | None:
        """The match that is over, from its record; None until that is written. Takes a while."""
        over, laid = self.over, self.laid
        if over is None or laid is None:
            return None
        folder = Folder(laid.folder)
        new = (one for one in folder.matches() if one.match not in laid.before)
        record = next(islice(new, over.played - 1, None), None)
        return replayed(folder, record) if record else None

    def go_on(self) -> None:
        """The end of a match has been looked at."""
        self.over = None
        self.changes += 1

    def wait(self, seconds: float | None = None) -> None:
        """Returns once the process has ended, or after so long."""
        self._hearing.join(seconds)

    def leave(self) -> None:
        """Ends the process, which still writes its tables. Returns at once."""
        with suppress(OSError):
            self._process.send_signal(signal.SIGINT)

    def _hear(self) -> None:
        with suppress(OSError, EOFError):
            while True:
                self._take_in(self._connection.recv())
        status = self._process.wait()
        self._reading.join()
        self._connection.close()
        self.asked, self.ended = None, self._why(status)
        self.changes += 1

    def _read(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            self._told.extend(line for line in lines if line.strip())

    def _take_in(self, news: News) -> None:
        if isinstance(news, Laid):
            self.laid = news
        elif isinstance(news, Over):
            self.over, self._known = news, 0
        else:
            self.asked = news
        self.changes += 1

    def _why(self, status: int) -> str:
        """What the process said last, where it did not end by itself."""
        if status == 0:
            return ""
        told = "".join(self._told).strip().removeprefix("gauntlet: ")
        return told or "the table was left; what was finished is kept"
