"""The process behind a table: a run of `experiment=play` whose person answers through a page.

    python -m pipeline.pages.seat CONNECTION FIRST KEY=VALUE ...

It is an ordinary run, except that the person's questions and answers go over a connection. When
that closes, for whatever reason, the run is interrupted as by Ctrl-C, and finished matches are in
the log.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from gauntlet.agents.base import Answer as Replied
from gauntlet.agents.base import Question, Thinking, Turn
from gauntlet.agents.human import Human
from gauntlet.common.errors import ModelError
from gauntlet.common.process import invocation
from gauntlet.models.base import Prompt
from gauntlet.models.human import POLL_SECONDS, PersonModel, Terminal
from gauntlet.pipeline.config.compose import compose
from gauntlet.pipeline.config.read import CellConfig, SweepConfig
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.run_info import command_line
from gauntlet.pipeline.pages.messages import Answer, News, Over, PersonTurn, TableReady
from gauntlet.pipeline.plan.cells import Plan, Player, Round


class Line(PersonModel):
    """The person as a model, over a connection.

    A question is sent once. A thread receives the answers and notices when the page is gone.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self.turn: Turn | None = None
        self.played = 0
        self._connection = connection
        self._asked = 0
        self._answers: queue.Queue[Answer] = queue.Queue()
        self._lines: list[str] = []
        self.hearing = threading.Thread(target=self._hear, daemon=True, name="page")
        self.hearing.start()

    def tell(self, news: News) -> None:
        with suppress(OSError):  # `_hear` ends the run if the page is gone
            self._connection.send(news)

    def show(self, prompt: Prompt) -> None:
        """The page draws what the person knows from their observation."""

    def refuse(self, message: str) -> None:
        """The page has validated the answer; a refused one is asked for again."""

    def line(self, cue: str) -> str:
        if not self._lines:
            self._lines = list(self._next().lines)
        return self._lines.pop(0)

    def _next(self) -> Answer:
        turn = self.turn
        assert turn is not None, "a person is asked where none has to move"
        self._asked += 1
        seen = turn.observation
        self.tell(PersonTurn(self._asked, turn.game, seen, turn.options, self.played))
        while not self.gone.is_set():
            with suppress(queue.Empty):
                found = self._answers.get(timeout=POLL_SECONDS)
                if found.number == self._asked:
                    return found
        raise ModelError("nobody is at the page")

    def _hear(self) -> None:
        with suppress(OSError, EOFError):
            while True:
                self._answers.put(self._connection.recv())
        os.kill(os.getpid(), signal.SIGINT)


@dataclass(frozen=True)
class Screen(Terminal):
    """The model source for the person at the page; its identity is that of any person."""

    line: Line = field(compare=False)

    def load(self) -> Line:
        return self.line


@dataclass(frozen=True)
class AtPage(Human):
    """A person whose page receives each turn and the end of the match."""

    line: Line = field(compare=False)

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        self.line.turn = turn
        return (yield from super().decide(turn, rng))

    def on_end(
        self, seat: int, moves: Sequence[str], ending: str, returns: Sequence[float]
    ) -> Generator[Question, Replied, None]:
        self.line.played += 1
        self.line.tell(Over(tuple(moves), ending, tuple(returns), self.line.played))
        yield from ()


def at_page(line: Line, first: int, folder: Path, plan: Plan) -> Plan:
    """The plan with the person at the page in every human seat; the page is informed. Its other
    cells have other players in the person's seat."""

    def seated(player: Player) -> Player:
        if not isinstance(player.agent, Human):
            return player
        return replace(player, agent=AtPage(line), model=Screen(line))

    cell, *others = plan.cells
    before = frozenset(one.match for one in Folder(folder).matches(cell.stem))
    names = tuple(player.name for player in cell.players)
    line.tell(TableReady(folder, cell.stem, before, names, cell.subjects[0]))
    laid = replace(cell, players=tuple(map(seated, cell.players)))
    rest = Round(range(first, plan.deals), dict.fromkeys((one.key for one in plan.cells), ""))
    return replace(plan, cells=(laid, *others), rounds=(rest,))


def play(connected: Callable[[int, Path, Plan], Plan], first: int, words: Sequence[str]) -> int:
    """Run a sweep from deal `first` on. connected: connects its plan to a page."""

    def run(cells: Sequence[CellConfig], sweep: SweepConfig) -> int:
        from gauntlet.pipeline.sweep import (
            run_sweep,  # slow to import, so the config is checked first
        )

        command = command_line(invocation("pipeline.run"), words)
        return run_sweep.run(cells, sweep, command, partial(connected, first, sweep.output_dir))

    return compose(words, run)


if __name__ == "__main__":
    descriptor, start, *settings = sys.argv[1:]
    sys.exit(play(partial(at_page, Line(Connection(int(descriptor)))), int(start), settings))
