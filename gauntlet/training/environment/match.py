"""A match in which some players are answered from outside, one text at a time.

Chain, players, parsers and fallbacks are the pipeline's, so a match is the same as in a sweep with
a model that gives the same replies.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from gauntlet.common.errors import UserError
from gauntlet.models.base import Generate, Generation, Prompt, Reply
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord
from gauntlet.pipeline.plan.cells import Task
from gauntlet.pipeline.plan.rng import DEAL, stream
from gauntlet.pipeline.play.chains import Answered, Ask, Chain, run_concurrently
from gauntlet.pipeline.play.match import Table
from gauntlet.training.environment.outside import Outside
from gauntlet.training.environment.setting import Setting


class Match:
    """One match, from its deal to its end.

    start, state: the first and the current state. states: the state before each of `decisions`.
    record: set once the match is over.
    """

    def __init__(self, setting: Setting, task: Task) -> None:
        self.setting = setting
        cell = setting.cell
        self.seating = cell.seating(task.rotation)
        self.table = Table(cell, task, setting.seed)
        self.start = cell.game.deal(stream(setting.seed, cell.game, task.deal, DEAL))
        self.state = self.start
        self.states: list[Any] = []
        self.record: MatchRecord | None = None
        self._waiting: deque[Ask] = deque()
        self._chain = self._played()
        self._go(None)

    @property
    def decisions(self) -> list[DecisionRecord]:
        """All decisions so far, of all players."""
        return self.table.decisions

    @property
    def request(self) -> Generate | None:
        """The pending request; None once the match is over."""
        if not self._waiting:
            return None
        request = self._waiting[0].request
        if not isinstance(request, Generate) or request.n > 1:
            raise UserError(
                "the prompt asks for likelihoods, or for several replies at once; an environment "
                "answers one text, as prompt=vanilla, direct or letter want it"
            )
        return request

    @property
    def prompt(self) -> Prompt | None:
        return None if (asked := self.request) is None else asked.prompt

    @property
    def player(self) -> int:
        """The player to answer, by its number in the cell; valid while a request is pending."""
        source = self._waiting[0].source
        assert isinstance(source, Outside), source
        return source.player

    def answer(self, text: str) -> None:
        """Answer the pending request, and play on to the next one."""
        self._go(Answered(self._waiting.popleft(), Generation(text, 0, 0)))

    def _go(self, answer: Answered | None) -> None:
        """Advance to the next request for outside, or to the end."""
        try:
            while True:
                self._take(next(self._chain) if answer is None else self._chain.send(answer))
                if all(isinstance(ask.source, Outside) for ask in self._waiting):
                    return
                answer = self._answered()
        except StopIteration as stop:
            self.record = stop.value

    def _take(self, asks: tuple[Ask, ...]) -> None:
        self._waiting.extend(asks)

    def _answered(self) -> Answered:
        """Answer the first pending request that belongs to a model of the setting."""
        ask = next(ask for ask in self._waiting if not isinstance(ask.source, Outside))
        self._waiting.remove(ask)
        reply: Reply = self.setting.answer(ask)
        return Answered(ask, reply)

    def _played(self) -> Chain[MatchRecord]:
        """Play like `pipeline.play.match.play`, but keep the states."""
        game, table = self.setting.cell.game, self.table
        while seats := table.seats(self.state):
            moves = yield from run_concurrently([table.turn(self.state, seat) for seat in seats])
            table.decisions += [decision for _, decision in moves]
            self.states += [self.state] * len(moves)
            self.state = game.play(self.state, [move for move, _ in moves])
        yield from run_concurrently(table.endings(self.state))
        return table.record(self.state)
