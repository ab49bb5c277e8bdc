"""Questions of many threads that wait at the same time are answered in one batch."""

from __future__ import annotations

import queue
import threading
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import Future

from models.answering import answer_each
from models.base import Reply, Request
from models.engine.local import Local

Waiting = tuple[Local, Request, "Future[Reply]"]


class Batches:
    """Answers what waits for a model in one call, and meanwhile collects what comes next."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, daemon=True, name="batches")
        self._thread.start()

    def ask(self, model: Local, request: Request) -> Future[Reply]:
        future: Future[Reply] = Future()
        self._waiting.put((model, request, future))
        return future

    def close(self) -> None:
        """Ends after the batch in hand."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while True:
            taken = [self._waiting.get()]
            while not self._waiting.empty():
                taken.append(self._waiting.get())
            by_model: defaultdict[Local, list[Waiting]] = defaultdict(list)
            for waiting in taken:
                if waiting is not None:
                    by_model[waiting[0]].append(waiting)
            for model, batch in by_model.items():
                _settle(model, batch)
            if None in taken:
                return


def _settle(model: Local, batch: Sequence[Waiting]) -> None:
    replies = answer_each(model, [request for _, request, _ in batch])
    for (_, _, future), reply in zip(batch, replies, strict=True):
        if isinstance(reply, Exception):
            future.set_exception(reply)
        else:
            future.set_result(reply)
