"""A table at which a person plays, as what its process has said so far."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import islice

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.replayed import ReplayedMatch, replayed
from gauntlet.pipeline.pages.child import Child
from gauntlet.pipeline.pages.messages import Answer, Asked, Laid, News, Over


class Table(Child):
    """One run of `experiment=play`. Any page may look at it, and any may answer.

    laid, asked, over: what it told last of each; asked is None while nobody waits for the person,
    over until a match ends and again once its end has been looked at.
    """

    module = "gauntlet.pipeline.pages.seat"

    def __init__(self, name: str, words: Sequence[str], first: int = 0) -> None:
        self.laid: Laid | None = None
        self.asked: Asked | None = None
        self.over: Over | None = None
        self._known = 0
        self._answering = threading.Lock()
        super().__init__(name, words, first)

    @property
    def moves(self) -> tuple[str, ...]:
        """What has been played since the person's last decision of this match."""
        return self.asked.observation.history[self._known :] if self.asked else ()

    def answer(self, given: Answer) -> bool:
        """Whether it answers what is asked now: of two pages the first counts."""
        with self._answering:
            if self.ended is not None or self.asked is None or self.asked.number != given.number:
                return False
            self._known = len(self.asked.observation.history)
            self.asked = None
            self.changes += 1
            self.send(given)
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

    def take_in(self, news: News) -> None:
        if isinstance(news, Laid):
            self.laid = news
        elif isinstance(news, Over):
            self.over, self._known = news, 0
        else:
            self.asked = news
