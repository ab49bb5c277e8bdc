"""Stopping where nothing is half done: SIGINT and SIGTERM set an event that play looks at."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def stop_asked() -> Iterator[threading.Event]:
    """An event that SIGINT and SIGTERM set, so that play stops where nothing is half done."""
    asked = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: asked.set()) for number in numbers]
    try:
        yield asked
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
