"""Many clients at once: each gets its part, and what nobody waits for is not worked out."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from models.base import Generate, Generation, Prompt
from models.engine.local import Local
from models.server import batches
from models.server.batches import Batches, Busy, Line, Ticket, Waiting
from models.server.served import Served
from tests.requests import CHAT


class Noting(Local):
    """Says what each batch was asked; the first one waits."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.started, self.go = threading.Event(), threading.Event()

    def while_wanted(self, wanted: object) -> None:
        """All of it is."""

    def answer(self, requests: Any) -> Any:
        self.calls.append([request.prompt.changing for request in requests])
        self.started.set()
        assert self.go.wait(20)
        return [Generation("", 1, 1)] * len(requests)


def question(text: str) -> Generate:
    return Generate(Prompt("", text), 5)


def test_one_who_asks_much_does_not_keep_others_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "AT_ONCE", 4)
    model, queue = Noting(), Batches()
    greedy, second, other = Ticket("a"), Ticket("a"), Ticket("b")
    futures = [queue.ask(model, question("first"), Ticket("c"))]
    assert model.started.wait(10)
    futures += [queue.ask(model, question(f"greedy {n}"), greedy) for n in range(40)]
    futures += [queue.ask(model, question(f"second {n}"), second) for n in range(2)]
    futures += [queue.ask(model, question(f"other {n}"), other) for n in range(2)]
    model.go.set()
    for future in futures:
        future.result(20)
    queue.close()
    assert model.calls[1] == ["greedy 0", "other 0", "second 0", "other 1"]
    assert model.calls[2] == ["greedy 1", "second 1", "greedy 2", "greedy 3"]


def test_what_nobody_waits_for_is_not_begun() -> None:
    model, queue = Noting(), Batches()
    leaving, staying = Ticket("a"), Ticket("a")
    first = queue.ask(model, question("first"), staying)
    assert model.started.wait(10)
    dropped = [queue.ask(model, question(f"{n}"), leaving) for n in range(5)]
    last = queue.ask(model, question("last"), staying)
    queue.leave(leaving)
    assert all(future.cancelled() for future in dropped)
    assert queue.ask(model, question("late"), leaving).cancelled()
    model.go.set()
    assert first.result(10) == last.result(10)
    queue.close()
    assert model.calls == [["first"], ["last"]]


def test_the_line_of_one_client_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MOST_WAITING", 3)
    line, model = Line(), Noting()
    for ticket in (full := Ticket("a"), full, Ticket("a")):
        line.put(Waiting(ticket, model, question("x")))
    with pytest.raises(Busy, match="3 questions of this client wait already"):
        line.put(Waiting(Ticket("a"), model, question("x")))
    line.put(Waiting(Ticket("b"), model, question("y")))
    assert len(list(line.drop(full))) == 2
    line.put(Waiting(Ticket("a"), model, question("z")))
    assert [waiting.request.prompt.changing for waiting in line.take(9)] == ["x", "y", "z"]
    assert not line


def test_a_text_that_nobody_waits_for_is_not_written_to_its_end(served: Served) -> None:
    ticket = Ticket("a")
    took: list[float] = []

    def ask() -> None:
        started = time.monotonic()
        with pytest.raises(batches.Left):
            served.chat({**CHAT, "max_tokens": 1900, "n": 60, "temperature": 2}, ticket)
        took.append(time.monotonic() - started)

    thread = threading.Thread(target=ask)
    thread.start()
    time.sleep(0.3)  # nothing says from outside that its text is being written
    served.leave(ticket)
    started = time.monotonic()
    assert served.chat(CHAT)["choices"]
    assert time.monotonic() - started < 3, "what was left is not written on"
    thread.join(10)
    assert took
