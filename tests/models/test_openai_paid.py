"""The cost of an API model: nothing is paid twice, whatever goes wrong, and a cap holds."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path

import pytest

from gauntlet.common.errors import Stopped
from gauntlet.models.api.ledger import Ledger, Prices, Tokens
from gauntlet.models.api.refusals import retry_after
from gauntlet.models.base import Score
from gauntlet.models.checkpoint import Checkpoint
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
        ({}, None),
    ],
)
def test_a_server_says_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_a_server_says_until_when_to_wait() -> None:
    wait = retry_after({"retry-after": formatdate(time.time() + 3600, usegmt=True)})
    assert wait is not None
    assert 3000 < wait <= 3600


def test_the_cap_is_never_passed_and_what_was_answered_is_free(
    opened: Opened, served: PocketServer
) -> None:
    asks = [replace(WRITE, seed=seed) for seed in range(40)]
    prices = {"price_in": 1e6, "price_out": 1e6, "in_flight": 4}  # a token costs 1
    with opened(**prices, cap=450.0) as model:
        with pytest.raises(Stopped, match=r"pocket at http.*the spending cap of 450 is reached"):
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
    said: list[str] = []
    ledger._base.set_trace_callback(said.append)
    ledger.claim(b"k", Tokens(1, 1))
    ledger.keep(b"k", "reply", Tokens(1, 1))
    ledger.close()
    written = next(n for n, line in enumerate(said) if "INTO replies" in line)
    levels = [line for line in said[:written] if "synchronous" in line]
    assert levels[-1] == "PRAGMA synchronous = FULL"
    assert said[-1] == "COMMIT"
    with sqlite3.connect(tmp_path / "ledger") as base:
        assert base.execute("SELECT reply FROM replies").fetchall() == [("reply",)]
    base.close()
