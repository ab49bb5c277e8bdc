"""The queue of one model.

A local model takes requests in batches; the next batch fills while it works on one. A remote model
takes single requests, several at a time, and no request waits for another's reply. Requests of the
match that began first go first, so that matches end in the order in which they began.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import Protocol

from gauntlet.models.answering import answer_each
from gauntlet.models.base import Concurrent, Model, Reply
from gauntlet.pipeline.play.chains import Ask
from gauntlet.pipeline.play.cost import split_cost


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
        """Return once the requests in progress are delivered; waiting ones are dropped."""
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
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _serve(self) -> None:
        while batch := self._next():
            self._deliver(answer_batch(self._model, batch))

    def _next(self) -> list[Ask]:
        """Wait for the next batch; [] after closing."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or self._flushed or len(self._waiting) >= self.at_most
            )
            if self._closed:
                return []
            size = min(self.at_most, len(self._waiting))
            batch = [heappop(self._waiting)[2] for _ in range(size)]
            self._flushed = max(0, self._flushed - len(batch))
            return batch


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
