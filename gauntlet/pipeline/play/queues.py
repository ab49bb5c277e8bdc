"""The queue of one model.

A local model takes requests in batches; the next batch fills while it works on one. While it writes
texts, it takes further requests as they come, and each text is delivered as it ends. A remote model
takes single requests, several at a time, and no request waits for another's reply. Requests of the
match that began first go first, so that matches end in the order in which they began.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import Protocol, TypeVar

from gauntlet.common.errors import Stopped
from gauntlet.models.base import (
    Concurrent,
    Continuous,
    Generate,
    Model,
    ModelSource,
    Reply,
    Request,
    answer_each,
    checked,
)
from gauntlet.pipeline.play.chains import Answered, Ask, Chain
from gauntlet.pipeline.play.cost import split_cost

PATIENCE = 2.0
"""Seconds that a closing queue waits for the batch in progress."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """The result of an ask: its reply or error, the seconds it waited, and its share of the model's
    busy seconds. began, ended: when the model worked on it, as `time.perf_counter` values."""

    ask: Ask
    reply: Reply | Exception
    seconds: float
    busy_seconds: float
    began: float
    ended: float


Result = TypeVar("Result")
Deliver = Callable[[Sequence[Delivery]], None]


class Queue(Protocol):
    """Takes asks; delivers results from its own thread."""

    def put(self, ask: Ask, place: int = 0) -> None:
        """Add an ask. place: the order of its match; lower ones are answered first."""
        ...

    def flush(self) -> None:
        """No more asks will come for now: answer what waits without filling a batch."""
        ...

    def close(self) -> None:
        """Drop what waits; return once the requests in progress are delivered, or PATIENCE seconds
        after, when a batch still runs: the model may be closed while it answers."""
        ...


def queue_for(model: Model, at_most: int, deliver: Deliver) -> Queue:
    """The kind of queue that fits the model; at_most: requests per batch."""
    if isinstance(model, Concurrent):
        return SlotQueue(model, model.slots, deliver)
    return BatchQueue(model, at_most, deliver)


class SlotQueue:
    """Answers requests one by one, in as many threads as the model has slots."""

    def __init__(self, model: Model, slots: int, deliver: Deliver) -> None:
        self._model, self._deliver = model, deliver
        self._waiting: queue.PriorityQueue[tuple[float, int, Ask | None]] = queue.PriorityQueue()
        self._number = count()
        self._closed = threading.Event()
        self._threads = [
            threading.Thread(target=self._serve, daemon=True, name=f"slot {number}")
            for number in range(slots)
        ]
        for thread in self._threads:
            thread.start()

    def put(self, ask: Ask, place: int = 0) -> None:
        self._waiting.put((place, next(self._number), ask))

    def flush(self) -> None:
        """Nothing to do: requests are not batched."""

    def close(self) -> None:
        self._closed.set()
        for _ in self._threads:
            self._waiting.put((-math.inf, next(self._number), None))
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        while (ask := self._waiting.get()[2]) is not None and not self._closed.is_set():
            self._deliver(answer_batch(self._model, [ask]))


class BatchQueue:
    """Answers one batch after another: a full one at once, a smaller one after a flush.

    at_most: requests of a full batch; may be changed between batches.
    """

    def __init__(self, model: Model, at_most: int, deliver: Deliver) -> None:
        self._model, self.at_most, self._deliver = model, at_most, deliver
        self._waiting: list[tuple[int, int, Ask]] = []
        self._number = count()
        self._flushed = 0
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._serve, daemon=True, name="model")
        self._thread.start()

    def put(self, ask: Ask, place: int = 0) -> None:
        with self._changed:
            heappush(self._waiting, (place, next(self._number), ask))
            if len(self._waiting) >= self.at_most:
                self._changed.notify()

    def flush(self) -> None:
        with self._changed:
            self._flushed = len(self._waiting)
            if self._flushed:
                self._changed.notify()

    def close(self) -> None:
        """Wait PATIENCE seconds for the batch in progress: nobody needs its answers, and a large
        one takes a slow machine minutes."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(PATIENCE)

    def _serve(self) -> None:
        while batch := self._next():
            writes = any(isinstance(ask.request, Generate) for ask in batch)
            if writes and isinstance(self._model, Continuous):
                _Stream(self._model, self._take, self._deliver).answer(batch)
            else:
                self._deliver(answer_batch(self._model, batch))

    def _next(self) -> list[Ask]:
        """Wait for the next batch; [] after closing."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or self._flushed or len(self._waiting) >= self.at_most
            )
            return self._pop(self.at_most)

    def _take(self) -> list[Ask]:
        """What waits now."""
        with self._changed:
            return self._pop(len(self._waiting))

    def _pop(self, most: int) -> list[Ask]:
        if self._closed:
            return []
        batch = [heappop(self._waiting)[2] for _ in range(min(most, len(self._waiting)))]
        self._flushed = max(0, self._flushed - len(batch))
        return batch


class _Stream:
    """A call of a continuous model, which lasts as long as the model has something to answer."""

    def __init__(self, model: Model, take: Callable[[], list[Ask]], deliver: Deliver) -> None:
        self._model, self._take, self._deliver = model, take, deliver
        self._open: dict[int, tuple[Ask, float, float]] = {}
        self._numbers = count()
        self._clock, self._share = time.perf_counter(), 0.0

    def answer(self, asks: Sequence[Ask]) -> None:
        """Deliver each reply as soon as it is there. If the call fails, the asks that have no reply
        are answered one by one."""
        assert isinstance(self._model, Continuous)
        try:
            self._model.answer_on(self._begin(asks), lambda: self._begin(self._take()), self._done)
        except Stopped as stopped:
            for number in [*self._open]:
                self._end(number, stopped)
        except BaseException:  # any exception goes to its own ask
            pass
        for ask, *_ in self._open.values():
            self._deliver(answer_batch(self._model, [ask]))

    def _begin(self, asks: Sequence[Ask]) -> list[Request]:
        self._share_time()
        for ask in asks:
            self._open[next(self._numbers)] = ask, self._clock, self._share
        return [ask.request for ask in asks]

    def _done(self, number: int, reply: Reply) -> None:
        self._end(number, checked(reply))

    def _end(self, number: int, reply: Reply | Exception) -> None:
        self._share_time()
        ask, began, share = self._open.pop(number)
        took = self._share - share
        self._deliver([Delivery(ask, reply, took, took, began, self._clock)])

    def _share_time(self) -> None:
        """Add the time since the last event to the share of each ask under way."""
        now = time.perf_counter()
        self._share += (now - self._clock) / max(1, len(self._open))
        self._clock = now


def run_queued(chain: Chain[Result], models: Mapping[ModelSource, Model], at_most: int) -> Result:
    """Run a chain to its end, its asks in one queue per model. at_most: requests per batch. Raises
    what a model raises; the models stay open."""
    arrivals: queue.SimpleQueue[Sequence[Delivery]] = queue.SimpleQueue()
    queues = {one: queue_for(model, at_most, arrivals.put) for one, model in models.items()}
    try:
        asks = next(chain)
        while True:
            for ask in asks:
                queues[ask.source].put(ask)
            for each in queues.values():
                each.flush()
            asks = ()
            for delivery in arrivals.get():
                if isinstance(delivery.reply, Exception):
                    raise delivery.reply
                asks += chain.send(Answered(delivery.ask, delivery.reply))
    except StopIteration as stop:
        result: Result = stop.value
        return result
    finally:
        for each in queues.values():
            each.close()


def answer_batch(model: Model, asks: Sequence[Ask]) -> list[Delivery]:
    """Answer a batch, and share out its cost."""
    started = time.perf_counter()
    replies = answer_each(model, [ask.request for ask in asks])
    end = time.perf_counter()
    took = end - started
    costs = split_cost(took, replies)
    return [
        Delivery(ask, reply, took / len(asks), cost, started, end)
        for ask, reply, cost in zip(asks, replies, costs, strict=True)
    ]
