"""Play many matches at once, and answer their asks through one queue per model.

The scheduler treats matches as chains and models as queues. One thread plays: it collects answers,
resumes the matches that waited for them, and queues their new asks. Models answer in their own
threads, so a slow one delays only the matches that asked it.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
import traceback
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

from msgspec.structs import replace

from gauntlet.common.errors import Stopped, UserError
from gauntlet.common.threads import interrupt
from gauntlet.models.base import (
    Cancellable,
    Concurrent,
    Continuous,
    Generate,
    Model,
    ModelSource,
)
from gauntlet.pipeline.config.read import Seed
from gauntlet.pipeline.log.lines import check
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan.cells import Cell, Task
from gauntlet.pipeline.play.chains import Answered, Ask, Chain
from gauntlet.pipeline.play.clock import MatchTimer
from gauntlet.pipeline.play.cost import shards_of
from gauntlet.pipeline.play.match import play
from gauntlet.pipeline.play.prepare import Ready, prepare
from gauntlet.pipeline.play.queues import BatchQueue, Delivery, queue_for

WARNINGS = logging.getLogger("gauntlet")
UNUSUAL, FEW = 10, 20
"""A match is noted if it has this many times the plies of its cell's last FEW matches."""
GRACE = 1.0
"""Seconds that a player's own thread may take to finish before it is interrupted."""


@dataclass(frozen=True)
class Finished:
    """The result of a task: its record, or the error that stopped it, and whether that error stops
    the whole run."""

    task: Task
    record: MatchRecord | None
    error: str | None = None
    halts: bool = False


@dataclass(frozen=True)
class _Failure:
    """Why a chain ended without a result."""

    error: str
    halts: bool


@dataclass(eq=False)
class _Running:
    """A running chain, and the callback for its result or failure. place: see `queues.Queue`."""

    chain: Chain[Any]
    ended: Callable[[_Running, Any], None]
    place: int = 0
    seconds: float = 0.0
    device_seconds: float = 0.0
    watch: MatchTimer = field(default_factory=MatchTimer)
    over: bool = False


@dataclass(eq=False)
class _Match:
    task: Task
    done: Future[Finished]


class Scheduler:
    """Keeps matches of the given cells in progress: as many as `Width` finds worth it, at most
    `width`."""

    def __init__(
        self,
        cells: Mapping[str, Cell],
        seed: Seed,
        models: Mapping[ModelSource, Model],
        width: int,
    ) -> None:
        self._cells, self._seed, self._models, self._width = cells, seed, models, Width(width)
        if all(map(_full_at_once, models.items())):
            self._width.now = width
        self._begun = count(1)
        self._arrivals: queue.SimpleQueue[Sequence[Delivery]] = queue.SimpleQueue()
        self._queues = {
            source: queue_for(model, self._half, self._arrivals.put)
            for source, model in models.items()
        }
        self._ready: dict[str, Ready] = {}
        self._lengths = defaultdict[str, deque[int]](lambda: deque(maxlen=FEW))
        self._noted = set[str]()
        self._unprepared: dict[str, list[_Match]] = {}
        self._waiting: deque[_Match] = deque()
        self._active: dict[_Match, None] = {}
        self._asking: dict[Ask, _Running] = {}
        self._closed = threading.Event()
        self._submitting = threading.Lock()
        self._thread = threading.Thread(target=self._serve, daemon=True, name="scheduler")
        self._thread.start()

    def submit(self, tasks: Sequence[Task]) -> list[Future[Finished]]:
        """Add tasks to those in progress; a failed match is a result, not an exception. After
        closing, the futures are cancelled."""
        matches = [_Match(task, Future()) for task in tasks]
        with self._submitting:
            if self._closed.is_set():
                for match in matches:
                    match.done.cancel()
            else:
                self._waiting.extend(matches)
        self._arrivals.put(())
        return [match.done for match in matches]

    def close(self) -> None:
        """Stop once the answers in progress have arrived, or a few seconds later. Calls of
        cancellable models are cancelled, and a player that thinks for longer than GRACE seconds is
        interrupted. Unfinished matches are dropped and their futures cancelled."""
        with self._submitting:
            self._closed.set()
        for model in self._models.values():
            if isinstance(model, Cancellable):
                model.cancel()
        self._arrivals.put(())
        self._thread.join(GRACE)
        while self._thread.is_alive():  # a player is still thinking: do not wait for it
            interrupt(self._thread)
            self._thread.join(GRACE)
        for match in [*self._active, *self._waiting]:
            match.done.cancel()
        for waiting in self._queues.values():  # last: a model may take a while to answer
            waiting.close()

    def _serve(self) -> None:
        try:
            while not self._closed.is_set():
                self._go_on()
        except BaseException as error:  # without this thread all futures would hang
            if self._closed.is_set():
                return
            with self._submitting:
                self._closed.set()
            for match in [*self._active, *self._waiting]:
                match.done.set_exception(error)

    def _go_on(self) -> None:
        """Process the arrivals, and start matches where others have ended."""
        batch = self._next()
        self._measure(batch)
        for delivery in batch:
            self._take_in(delivery)
        while self._waiting and len(self._active) < self._width.now and not self._closed.is_set():
            self._begin(self._waiting.popleft())

    @property
    def _half(self) -> int:
        """Half of the matches play while the models answer the other half."""
        return -(-self._width.now // 2)

    def _measure(self, batch: Sequence[Delivery]) -> None:
        """Adjust the number of matches in progress to what the batch took."""
        waiting = self._queues[batch[0].ask.source] if batch else None
        if isinstance(waiting, BatchQueue):
            self._width.note(len(batch), batch[0].ended - batch[0].began)
            for each in self._queues.values():
                if isinstance(each, BatchQueue):
                    each.at_most = self._half

    def _next(self) -> Sequence[Delivery]:
        """The answers that have arrived; if there are none, flush the queues and wait."""
        try:
            return self._arrivals.get_nowait()
        except queue.Empty:
            for waiting in self._queues.values():
                waiting.flush()
            return self._arrivals.get()

    def _begin(self, match: _Match) -> None:
        """Play the match once its cell is prepared; the cell's first match prepares it."""
        self._active[match] = None
        key = match.task.cell
        if key in self._ready:
            self._play(match)
        elif key in self._unprepared:
            self._unprepared[key].append(match)
        else:
            self._unprepared[key] = [match]
            preparing = prepare(self._cells[key])
            self._advance(_Running(preparing, partial(self._prepared, key)), None)

    def _prepared(self, key: str, running: _Running, ready: Ready | _Failure) -> None:
        """Start the waiting matches; a failed preparation fails them all."""
        matches = self._unprepared.pop(key)
        if isinstance(ready, Ready):
            self._ready[key] = ready
        for match in matches:
            if isinstance(ready, Ready):
                self._play(match)
            else:
                self._end(match, Finished(match.task, None, ready.error, ready.halts))

    def _play(self, match: _Match) -> None:
        task = match.task
        reached = partial(self._note_length, task)
        playing = play(self._ready[task.cell].cell, task, self._seed, reached)
        running = _Running(playing, partial(self._finish_match, match), next(self._begun))
        self._advance(running, None)

    def _note_length(self, task: Task, plies: int) -> None:
        """Warn once of a match that takes far longer than the finished ones of its cell."""
        ended = self._lengths[task.cell]
        usual = sum(ended) / FEW
        if len(ended) == FEW and plies > UNUSUAL * usual and task.match not in self._noted:
            self._noted.add(task.match)
            WARNINGS.warning(
                f"match {task.match} of {self._cells[task.cell].name} has {plies:,} plies and goes "
                f"on; the last {FEW} that ended had {usual:,.0f} on average"
            )

    def _finish_match(
        self, match: _Match, running: _Running, result: MatchRecord | _Failure
    ) -> None:
        task = match.task
        if isinstance(result, _Failure):
            self._end(match, Finished(task, None, result.error, result.halts))
            return
        record = replace(
            self._ready[task.cell].with_preparation(result),
            seconds=round(running.seconds, 6),
            device_seconds=round(running.device_seconds, 6),
            clock=running.watch.read(result),
        )
        try:
            check(record)
        except ValueError as why:  # if logged, every later run would replay it
            self._end(match, Finished(task, None, f"the match makes no record: {why}"))
        else:
            self._lengths[task.cell].append(record.plies)
            self._end(match, Finished(task, record))

    def _end(self, match: _Match, finished: Finished) -> None:
        del self._active[match]
        match.done.set_result(finished)

    def _take_in(self, delivery: Delivery) -> None:
        running = self._asking.pop(delivery.ask)
        if running.over:  # another of its asks has failed
            return
        running.seconds += delivery.seconds
        running.device_seconds += delivery.busy_seconds * shards_of(delivery.ask.source)
        running.watch.answered(delivery.ask, delivery.began, delivery.ended)
        self._advance(running, delivery)

    def _advance(self, running: _Running, delivery: Delivery | None) -> None:
        """Resume the chain until its next asks or its end; not after closing."""
        if self._closed.is_set():
            return
        started = time.perf_counter()
        try:
            if delivery is None:
                asks = next(running.chain)
            elif isinstance(delivery.reply, Exception):
                asks = running.chain.throw(delivery.reply)
            else:
                asks = running.chain.send(Answered(delivery.ask, delivery.reply))
        except StopIteration as stop:
            running.seconds += time.perf_counter() - started
            self._stop(running, stop.value)
        except Stopped as stopped:
            self._stop(running, _Failure(str(stopped), halts=True))
        except UserError as error:  # its line says it all
            self._stop(running, _Failure(str(error), halts=False))
        except Exception:  # a bug in a game or an agent: reported with its match, never scored
            self._stop(running, _Failure(traceback.format_exc(limit=-8), halts=False))
        else:
            running.seconds += time.perf_counter() - started
            self._ask(running, asks)

    def _ask(self, running: _Running, asks: Sequence[Ask]) -> None:
        for ask in asks:
            self._asking[ask] = running
            running.watch.register(ask)
            if isinstance(ask.request, Generate) and isinstance(
                self._models[ask.source], Continuous
            ):
                self._width.open()
            self._queues[ask.source].put(ask, running.place)

    def _stop(self, running: _Running, result: Any) -> None:
        running.over = True
        running.ended(running, result)


def _full_at_once(loaded: tuple[ModelSource, Model]) -> bool:
    """Whether a model needs no small start: a server answers each request as fast as another, and
    weights on disk are read for every batch, however large."""
    source, model = loaded
    return isinstance(model, Concurrent) or getattr(source, "offload", "none") != "none"


# --- how many matches are in progress

FIRST = 8
"""Matches in progress at the start."""
ROUNDS = 2
"""Requests of each match in progress that are answered before their number may change."""
QUICK = 0.05
"""Seconds a request below which no measuring is needed."""
GAIN = 0.85
"""The larger number is kept if a request takes at most this part of the seconds."""


@dataclass
class Width:
    """The number of matches in progress, at most `most`, from the batches that `note` is given."""

    most: int

    def __post_init__(self) -> None:
        self.now = min(FIRST, self.most)
        self._smaller, self._before = self.now, 0.0
        self._settled = False
        self._restart()

    def open(self) -> None:
        """Allow all matches: a model is asked to write."""
        self.now, self._settled = self.most, True

    def note(self, requests: int, seconds: float) -> None:
        """Count a batch of a local model: its requests, and the seconds that it took."""
        self._requests += requests
        self._seconds += seconds
        if self._settled or self._requests < ROUNDS * self.now:
            return
        each = self._seconds / self._requests
        if self._before and each > max(QUICK, GAIN * self._before):
            self.now, self._settled = self._smaller, True
        else:
            self._settled = self.now == self.most
            self._smaller, self._before = self.now, each
            self.now = min(2 * self.now, self.most)
        self._restart()

    def _restart(self) -> None:
        self._requests, self._seconds = 0, 0.0
