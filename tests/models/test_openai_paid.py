"""An API model, asked by one caller or many threads: each gets its own answer, nothing is paid
twice, whatever goes wrong, and a cap holds."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path

import pytest

from gauntlet.common.errors import ModelError, Stopped
from gauntlet.models.api.ledger import Ledger, Prices, Tokens
from gauntlet.models.api.refusals import retry_after
from gauntlet.models.api.remote import Remote
from gauntlet.models.base import Cancellable, Concurrent, Request, Score
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.pipeline.play.queues import SlotQueue, queue_for
from tests.api import FAULTS, POCKET, RETRY_AFTER, WRITE, Opened, PocketServer, Script, serving

KILLED = """
import os, sys
from pathlib import Path
from gauntlet.models.api.ledger import Ledger, Prices, Tokens
ledger = Ledger(Path(sys.argv[1]), "m", Prices(1e6, 1e6, 100.0), 1000.0)
assert ledger.claim(b"kept", Tokens(3, 4))
ledger.keep(b"kept", "reply", Tokens(1, 2))
assert ledger.claim(b"sent", Tokens(5, 6))
print("ready", flush=True)
sys.stdin.read()
"""


def test_nothing_is_asked_twice(
    opened: Opened, served: PocketServer, uno_scores: list[Score]
) -> None:
    with opened() as model:
        first = model.answer([*uno_scores, WRITE, *uno_scores])
        assert model.answer([WRITE]) == [first[len(uno_scores)]]
    before = served.billed.copy()
    assert set(before.values()) == {1}
    with opened() as model:
        assert model.answer([*uno_scores, WRITE, *uno_scores]) == first
    assert served.billed == before


def test_every_fault_ends_in_the_right_reply_paid_once(
    opened: Opened, served: PocketServer, script: Script, uno_scores: list[Score]
) -> None:
    with serving(served, Script()) as calm, opened(base_url=calm) as model:
        right = model.answer(uno_scores)
    served.billed.clear()
    script.faults = FAULTS
    with opened(timeout=4.0) as model:
        assert model.answer(uno_scores) == right
        spending = model.spending()
    assert set(script.kinds.values()) >= set(FAULTS)
    assert set(served.billed.values()) == {1}
    assert spending.replies == len(served.billed)
    for key, times in script.arrivals.items():
        if script.kinds[key] in FAULTS:
            assert len(times) > 1
        if script.kinds[key] == "429":
            assert times[1] - times[0] >= RETRY_AFTER
    assert spending.unsure.prompt > 0, "replies that were lost may have been billed"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "300"}, 300),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e999"}, None),
        ({}, None),
    ],
)
def test_a_server_says_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_the_cap_is_never_passed_and_what_was_answered_is_free(
    opened: Opened, served: PocketServer
) -> None:
    asks = [replace(WRITE, seed=seed) for seed in range(40)]
    prices = {"price_in": 1e6, "price_out": 1e6, "in_flight": 4}  # a token costs 1
    with opened(**prices, cap=450.0) as model:
        with pytest.raises(Stopped, match=r"spending cap of 450"):
            model.answer(asks)
        with pytest.raises(Stopped):
            model.answer(asks)
        spending = model.spending()
    assert 0 < spending.paid.prompt + spending.paid.written <= 450
    assert spending.unsure == Tokens(0, 0)
    before = served.billed.copy()
    assert 5 < spending.replies == len(before) < 40
    with opened(**prices, cap=1e6) as model:
        replies = model.answer(asks)
    assert replies == Checkpoint(POCKET).load().answer(asks)
    assert set(served.billed.values()) == {1}
    assert len(served.billed) == 41  # and the question whether it answers


def test_a_kill_loses_no_reply_and_forgets_no_request(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    command = [sys.executable, "-c", KILLED, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"ready\n"
        ledger = Ledger(path, "m", Prices(1e6, 1e6, 25.0), timeout=1000.0)
        assert ledger.find(b"kept") == "reply"
        assert not ledger.claim(b"kept", Tokens(3, 4)), "it is answered"
        assert not ledger.claim(b"sent", Tokens(5, 6)), "another process asks it"
        other.send_signal(signal.SIGKILL)
    assert ledger.spending().paid == Tokens(1, 2)
    assert ledger.spending().unsure == Tokens(5, 6)
    assert ledger.claim(b"sent", Tokens(5, 6)), "nobody asks it any more"
    assert not ledger.claim(b"next", Tokens(0, 1)), "no room if what is under way takes its most"
    with pytest.raises(Stopped, match="cap of 25 is reached"):
        ledger.claim(b"next", Tokens(20, 3))
    ledger.keep(b"sent", "late", Tokens(1, 1))
    assert ledger.spending().unsure == Tokens(5, 6), "the first may have been billed too"
    ledger.close()


def test_a_reply_is_on_the_disk_before_it_is_used(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger", "m", Prices(0, 0), 1.0)
    statements: list[str] = []
    ledger._base.set_trace_callback(statements.append)
    ledger.claim(b"k", Tokens(1, 1))
    ledger.keep(b"k", "reply", Tokens(1, 1))
    ledger.close()
    written = next(n for n, line in enumerate(statements) if "INTO replies" in line)
    levels = [line for line in statements[:written] if "synchronous" in line]
    assert levels[-1] == "PRAGMA synchronous = FULL"
    assert statements[-1] == "COMMIT"
    with sqlite3.connect(tmp_path / "ledger") as base:
        assert base.execute("SELECT reply FROM replies").fetchall() == [("reply",)]
    base.close()


# Many threads.


def each(model: Remote, requests: list[Request]) -> list[Future[object]]:
    """Make one call per request, from as many threads as the model has slots."""
    with ThreadPoolExecutor(model.slots) as threads:
        return [threads.submit(lambda r=request: model.answer([r])[0]) for request in requests]


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
        list(threads.map(lambda request: model.answer([request]), requests))
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
            futures = [threads.submit(model.answer, [request]) for request in asks]
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
