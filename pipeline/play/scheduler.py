"""Plays many matches at once and answers what they ask in batches.

The scheduler knows matches only as coroutines and models only as `answer`. It plays in a thread
of its own, so that new matches can join while others are under way and a batch stays full. The
models answer in another: while they work on what one half of the matches asks, the other half is
played and its next prompts are rendered.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from common.errors import Stopped
from models.base import Model, ModelSource, Reply, Request
from pipeline.plan.cells import Cell, Task
from pipeline.play.cost import devices, shared_out
from pipeline.play.match import Ask, Playing, play
from pipeline.play.prepare import Ready, prepare


@dataclass(frozen=True)
class Finished:
    """What became of a task: its record, or the error that stopped it, and whether that error
    stops all others too."""

    task: Task
    record: dict[str, Any] | None
    error: str | None = None
    halts: bool = False


@dataclass
class _Match:
    task: Task
    playing: Playing
    done: Future[Finished]
    ask: Ask | None = None
    seconds: float = 0.0
    device_seconds: float = 0.0


@dataclass
class _Failed:
    """Stands for the reply that a model could not give."""

    error: Exception


_Replies = list[tuple[_Match, Reply | _Failed]]


class Scheduler:
    """Keeps up to `width` matches of the given cells under way."""

    def __init__(
        self,
        cells: Mapping[str, Cell],
        seed: int,
        models: Mapping[ModelSource, Model],
        width: int,
    ) -> None:
        self._cells, self._seed, self._models, self._width = cells, seed, models, width
        self._ready: dict[str, Ready] = {}
        self._waiting: deque[_Match] = deque()
        self._active: list[_Match] = []
        self._answering = ThreadPoolExecutor(1, "models")
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._serve, daemon=True, name="scheduler")
        self._thread.start()

    def submit(self, tasks: Sequence[Task]) -> list[Future[Finished]]:
        """Joins the tasks to those under way; a match that fails is a result, not an exception."""
        matches = [_Match(task, self._play(task), Future()) for task in tasks]
        with self._changed:
            self._waiting.extend(matches)
            self._changed.notify()
        return [match.done for match in matches]

    def close(self) -> None:
        """Stops after the batch in hand; matches under way are dropped, their futures cancelled."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()
        self._answering.shutdown()
        for match in [*self._active, *self._waiting]:
            match.done.cancel()

    def _serve(self) -> None:
        half = -(-self._width // 2)
        answering: Future[_Replies] | None = None
        asking: list[_Match] = []
        hand: list[_Match] = []
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._waiting or self._active)
                if self._closed:
                    return
                room = min(half - len(hand), self._width - len(self._active))
                joining = [self._waiting.popleft() for _ in range(min(len(self._waiting), room))]
            for match in joining:
                _advance(match, None)
            # The half in hand is asked about; then the other half's replies are played.
            before, asked = answering, asking
            asking = [match for match in [*hand, *joining] if match.ask is not None]
            answering = self._answering.submit(self._replies, asking) if asking else None
            self._active = [*asked, *asking]
            for match, reply in before.result() if before else ():
                _advance(match, reply)
            hand = [match for match in asked if match.ask is not None]
            self._active = [*hand, *asking]

    def _play(self, task: Task) -> Playing:
        """The match, its cell prepared; the record tells of that too."""
        ready = self._prepared(task.cell)
        record = yield from play(ready.cell, task, self._seed)
        return ready.with_preparation(record)

    def _prepared(self, key: str) -> Ready:
        """The cell with its players prepared: once, before its first match, which waits for it."""
        if key not in self._ready:
            preparing = prepare(self._cells[key])
            try:
                ask = next(preparing)
                while not self._closed:
                    answer = self._models[ask.source].answer
                    (reply,) = self._answering.submit(answer, [ask.request]).result()
                    ask = preparing.send(reply)
                raise RuntimeError("closed before the cell was prepared")
            except StopIteration as stop:
                self._ready[key] = stop.value
        return self._ready[key]

    def _replies(self, active: Sequence[_Match]) -> _Replies:
        """Every waiting match with the reply to what it asked, one batch a model."""
        by_source: defaultdict[ModelSource, list[_Match]] = defaultdict(list)
        for match in active:
            assert match.ask is not None
            by_source[match.ask.source].append(match)
        replies: _Replies = []
        for source, matches in by_source.items():
            started = time.perf_counter()
            requests = [match.ask.request for match in matches if match.ask is not None]
            answers = answer_each(self._models[source], requests)
            took = time.perf_counter() - started
            for match, cost in zip(matches, shared_out(took, answers), strict=True):
                match.seconds += took / len(matches)
                match.device_seconds += cost * devices(source)
            replies.extend(zip(matches, answers, strict=True))
        return replies


def answer_each(model: Model, requests: Sequence[Request]) -> Sequence[Reply | _Failed]:
    """The model's replies; where the batch fails, each request alone, so one cannot fail others."""
    try:
        return model.answer(requests)
    except Stopped as error:
        return [_Failed(error)] * len(requests)
    except Exception as error:  # whatever a model raises belongs to the matches that asked
        if len(requests) == 1:
            return [_Failed(error)]
        return [answer_each(model, [request])[0] for request in requests]


def _advance(match: _Match, reply: Reply | _Failed | None) -> None:
    """Plays on to the match's next question or to its end."""
    started = time.perf_counter()
    try:
        if isinstance(reply, _Failed):
            match.ask = match.playing.throw(reply.error)
        elif reply is None:
            match.ask = next(match.playing)
        else:
            match.ask = match.playing.send(reply)
        match.seconds += time.perf_counter() - started
    except StopIteration as stop:
        match.ask = None
        seconds = match.seconds + time.perf_counter() - started
        spent = {"seconds": round(seconds, 6), "device_seconds": round(match.device_seconds, 6)}
        match.done.set_result(Finished(match.task, {**stop.value, **spent}))
    except Stopped as stopped:
        match.ask = None
        match.done.set_result(Finished(match.task, None, str(stopped), halts=True))
    except Exception:  # a bug in a game or an agent: reported with its match, never scored
        match.ask = None
        match.done.set_result(Finished(match.task, None, traceback.format_exc(limit=-8)))
