"""The driver waits for the given time and no longer, whatever signals come meanwhile."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest

from gauntlet.pipeline.play.driver import Arrivals


@pytest.fixture
def late_signal() -> Iterator[list[float]]:
    """A signal after 20 ms, whose handling takes 200."""
    handled: list[float] = []

    def handle(*_: object) -> None:
        assert not handled, "it waits for ever"
        time.sleep(0.2)
        handled.append(time.monotonic())

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.02, 5.0)
    try:
        yield handled
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_signal_does_not_stop_the_clock(late_signal: list[float]) -> None:
    """Handled for longer than the wait: some of Python's locks then wait forever."""
    started = time.monotonic()
    assert Arrivals().wait(0.1) == []
    assert late_signal, "no signal came"
    assert time.monotonic() - started < 5
