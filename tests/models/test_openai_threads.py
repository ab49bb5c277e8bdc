"""Many threads use one API model: each gets its own answer, none answered or paid twice."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path

import pytest

from gauntlet.common.errors import ModelError, Stopped
from gauntlet.models.api.ledger import Tokens
from gauntlet.models.api.remote import Remote
from gauntlet.models.base import Cancellable, Concurrent, Request, Score
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.pipeline.play.queues import SlotQueue, queue_for
from tests.api import FAULTS, POCKET, WRITE, Opened, PocketServer, Script


def each(model: Remote, requests: list[Request]) -> list[Future[object]]:
    """Make one call per request, from as many threads as the model has slots."""
    with ThreadPoolExecutor(model.slots) as threads:
        return [threads.submit(lambda r=one: model.answer([r])[0]) for one in requests]


def test_its_slots_are_the_requests_it_may_have_under_way(opened: Opened) -> None:
    with opened(in_flight=7) as model:
        assert isinstance(model, Concurrent)
        assert isinstance(model, Cancellable)
        assert model.slots == 7
        queue = queue_for(model, 64, lambda _: None)
        assert isinstance(queue, SlotQueue)
        queue.close()


def test_threads_get_what_one_caller_gets_and_nothing_is_paid_twice(
    opened: Opened, served: PocketServer, script: Script
) -> None:
    asks = [*(replace(WRITE, seed=seed % 12, n=1 + seed % 2) for seed in range(36))]
    asks += [Score((WRITE.prompt, replace(WRITE.prompt, changing=f"{n % 5}:")), ("A", "B")) for n in range(10)]  # fmt: skip  # noqa: E501
    script.faults = ("", "", *FAULTS[:2], "", "truncated", "cut")
    with opened(in_flight=12) as model:
        together = [future.result() for future in each(model, asks)]
        assert model.answer(asks) == together
        assert model.spending().replies == len(served.billed)
    assert set(served.billed.values()) == {1}
    texts = [request for request in asks[:36] if request.n == 1]
    right = Checkpoint(POCKET).load().answer(texts)
    assert [reply for reply, ask in zip(together, asks, strict=True) if ask in texts] == right


@pytest.mark.parametrize("in_flight", [1, 3])
def test_no_more_are_under_way_than_it_has_slots(
    opened: Opened, script: Script, in_flight: int
) -> None:
    script.seconds = (0.2,)
    requests = [replace(WRITE, seed=seed) for seed in range(6)]
    with opened(in_flight=in_flight) as model, ThreadPoolExecutor(6) as threads:
        before = len(script.arrivals)
        list(threads.map(lambda one: model.answer([one]), requests))
    times = sorted(times[0] for times in script.arrivals.values())[before:]
    # An answer takes 0.2 s, so in any shorter while no more can come than may be under way.
    assert all(b - a >= 0.18 for a, b in zip(times, times[in_flight:], strict=False))


def test_one_question_of_many_threads_is_asked_once(
    opened: Opened, served: PocketServer, script: Script
) -> None:
    script.seconds = (0.2,)
    with opened(in_flight=8) as model:
        replies = [future.result() for future in each(model, [WRITE] * 8)]
    assert len(set(replies)) == 1
    assert [len(times) for times in script.arrivals.values()] == [1, 1]


def test_a_stop_reaches_all_and_takes_no_reply_that_came(
    opened: Opened, served: PocketServer
) -> None:
    asks = [replace(WRITE, seed=seed) for seed in range(40)]
    prices = {"price_in": 1e6, "price_out": 1e6, "in_flight": 4, "cap": 450.0}
    with opened(**prices) as model:
        futures = each(model, asks)
        errors = [future.exception() for future in futures]
        spending = model.spending()
    assert {type(error) for error in errors} == {type(None), Stopped}
    assert spending.paid.prompt + spending.paid.written <= 450
    assert spending.unsure == Tokens(0, 0)
    answered = errors.count(None)
    assert answered == spending.replies - 1 == len(served.billed) - 1, "and the first question"


@pytest.mark.parametrize("end", [Remote.cancel, Remote.close])
def test_threads_that_wait_at_the_end_get_a_reply_or_an_error(
    opened: Opened, script: Script, tmp_path: Path, end: Callable[[Remote], None]
) -> None:
    with opened(in_flight=3) as model:
        script.seconds = (0.3,)
        asks = [replace(WRITE, seed=seed) for seed in range(12)]
        with ThreadPoolExecutor(12) as threads:
            futures = [threads.submit(model.answer, [one]) for one in asks]
            arrived(script, 4)
            end(model)
            assert not wait(futures, 20).not_done
        errors = [future.exception() for future in futures]
        assert errors.count(None) == 3, "what was under way is taken in"
        assert {str(error).partition(": ")[2] for error in errors if error} == {"the run ends"}
        with pytest.raises(ModelError, match="the run ends"):
            model.answer([replace(WRITE, seed=99)])
    with sqlite3.connect(tmp_path / "replies.sqlite") as base:
        assert base.execute("SELECT count(*) FROM sent").fetchone() == (0,)
        assert base.execute("SELECT count(*) FROM replies").fetchone() == (4,)
    base.close()


def arrived(script: Script, count: int) -> None:
    """Wait until this many requests are at the server."""
    waited = threading.Event()
    end = time.monotonic() + 20
    while len(script.arrivals) < count and time.monotonic() < end:
        waited.wait(0.01)
    assert len(script.arrivals) == count
