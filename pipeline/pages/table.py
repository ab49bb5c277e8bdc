"""A table at which a person plays: the messages of its process so far."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.pages.child import Answer, Child, News, Over, PersonTurn, TableReady
from gauntlet.pipeline.viewer.match import MatchView, match_view


@dataclass(frozen=True)
class Ending:
    """A finished match, and where it is stored."""

    folder: Folder
    record: MatchRecord
    view: MatchView


class Table(Child):
    """One run of `experiment=play`. Any page may view it and answer.

    laid, asked, over: the latest message of each kind; asked is None while no answer is expected,
        over until a match ends and again once its end has been viewed.
    """

    module = "gauntlet.pipeline.pages.seat"

    def __init__(self, name: str, words: Sequence[str], first: int = 0) -> None:
        self.laid: TableReady | None = None
        self.asked: PersonTurn | None = None
        self.over: Over | None = None
        self._known = 0
        self._answering = threading.Lock()
        super().__init__(name, words, first)

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

    def take_in(self, news: News) -> None:
        if isinstance(news, TableReady):
            self.laid = news
        elif isinstance(news, Over):
            self.over, self._known = news, 0
        else:
            self.asked = news
