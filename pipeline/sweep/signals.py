"""Graceful shutdown: SIGINT and SIGTERM set an event that the playing loop checks."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def stop_event() -> Iterator[threading.Event]:
    """Yield an event that SIGINT and SIGTERM set, and restore the handlers afterwards."""
    stop = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: stop.set()) for number in numbers]
    try:
        yield stop
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
