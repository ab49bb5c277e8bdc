"""A table at which a person plays: the process that plays its run, and its messages so far.

It is a process because a run handles signals and occupies a model. It ends with the pages, however
those end, because its connection closes.
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
from dataclasses import dataclass
from itertools import islice
from multiprocessing import Pipe

from gauntlet.common.process import INTERRUPTED
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.pages.messages import Answer, News, Over, PersonTurn, TableReady
from gauntlet.pipeline.viewer.match import MatchView, match_view

PROGRAM = "gauntlet.pipeline.pages.seat"


@dataclass(frozen=True)
class Ending:
    """A finished match, and where it is stored."""

    folder: Folder
    record: MatchRecord
    view: MatchView


class Table:
    """One run of `experiment=play`. Any page may view it and answer.

    name: for display. changes: a counter of changes.
    ended: why the process ended; "" if it finished, None while it runs.
    laid, asked, over: the latest message of each kind; asked is None while no answer is expected,
        over until a match ends and again once its end has been viewed.
    """

    def __init__(self, name: str, words: Sequence[str], first: int = 0) -> None:
        """words: the run's settings. first: the first deal to play."""
        self.id = secrets.token_urlsafe(6)
        self.name, self.words, self.first = name, words, first
        self.changes = 0
        self.ended: str | None = None
        self.laid: TableReady | None = None
        self.asked: PersonTurn | None = None
        self.over: Over | None = None
        self._known = 0
        self._asks = 0
        self._answering = threading.Lock()
        self._told: deque[str] = deque(maxlen=1)
        self._connection, theirs = Pipe()
        program = [sys.executable, "-m", PROGRAM, str(theirs.fileno()), str(first)]
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
        self._hearing = threading.Thread(target=self._hear, daemon=True, name="table")
        self._reading.start()
        self._hearing.start()

    @property
    def moves(self) -> tuple[str, ...]:
        """The moves since the person's last decision of this match."""
        return self.asked.observation.history[self._known :] if self.asked else ()

    def answer(self, answer: Answer) -> bool:
        """Send the answer if it fits the current question: of two pages the first counts."""
        with self._answering:
            if self.ended is not None or self.asked is None or self.asked.number != answer.number:
                return False
            self._known = len(self.asked.observation.history)
            self.asked = None
            self.changes += 1
            self.send(answer)
            return True

    def ending(self) -> Ending | None:
        """The finished match, from its record; None until that is written. Slow."""
        over, laid = self.over, self.laid
        if over is None or laid is None:
            return None
        folder = Folder(laid.folder)
        new = (one for one in folder.matches(laid.stem) if one.match not in laid.before)
        record = next(islice(new, over.played - 1, None), None)
        return Ending(folder, record, match_view(folder, record)) if record else None

    def go_on(self) -> None:
        self.over = None
        self.changes += 1

    def _take_in(self, news: News) -> None:
        if isinstance(news, TableReady):
            self.laid = news
        elif isinstance(news, Over):
            self.over, self._known = news, 0
        else:
            self.asked, self._asks = news, news.number

    def send(self, answer: Answer) -> None:
        with suppress(OSError):  # `_hear` will report it
            self._connection.send(answer)

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
                self._take_in(self._connection.recv())
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
        if status == 0 and self._asks:
            return ""
        if status == 0:
            return "it asked you nothing; do the further settings leave you a seat and a deal?"
        told = "".join(self._told).strip().removeprefix("gauntlet: ")
        if status == INTERRUPTED or not told:
            return "it was left; what was finished is kept"
        return told
