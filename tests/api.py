"""A server of our own for tests of the API: the pocket model, with faults on demand.

A plugin of pytest: its fixtures are there for all tests.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.base import Goal, Turn
from agents.prompting.cloze import Cloze
from agents.prompting.counterfactual import Counterfactual
from games.uno.game import Uno
from models.api.openai import OpenAI, Remote
from models.base import Score
from models.server.serve import POCKET, Handler, Server
from models.server.served import Served

KEY = "sk-test-4f7c1b9d8e2a6053"
RETRY_AFTER = 0.4
"""Seconds that a 429 of this server asks for."""
FAULTS = ("429", "500", "timeout", "truncated", "cut")


@dataclass
class Script:
    """What the server is to do wrong, and what it saw.

    faults: taken in turn, one for the first arrival of each request; "" for none.
    refuse: a status with which everything is refused, and the message.
    seconds: how long a whole reply takes, in turn.
    arrivals: when each request came, by its Idempotency-Key.
    """

    faults: tuple[str, ...] = ("",)
    refuse: tuple[int, str] | None = None
    seconds: tuple[float, ...] = (0.0,)
    arrivals: dict[str, list[float]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    over: threading.Event = field(default_factory=threading.Event)

    def next(self, key: str) -> str:
        """Notes an arrival; returns the fault that it meets."""
        with self.lock:
            times = self.arrivals.setdefault(key, [])
            times.append(time.monotonic())
            if len(times) > 1:
                return ""
            self.kinds[key] = self.faults[(len(self.arrivals) - 1) % len(self.faults)]
            return self.kinds[key]


class FaultyHandler(Handler):
    """Does as the server's script says."""

    fault = ""

    @property
    def script(self) -> Script:
        # A handler knows its server by the base class alone, which has no script.
        found: Script = self.server.script  # type: ignore[attr-defined]
        return found

    def do_POST(self) -> None:  # noqa: N802
        script = self.script
        key = self.headers.get("Idempotency-Key", "")
        if script.refuse is not None:
            self._read()
            said = script.refuse[1].replace("KEY", self.headers.get("Authorization", ""))
            self.refuse(script.refuse[0], said)
            return
        self.fault = script.next(key)
        if self.fault == "429":
            self._read()
            self.refuse(429, "slower", Retry_After=str(RETRY_AFTER))
        elif self.fault == "500":
            self._read()
            self.refuse(500, "broken")
        elif self.fault == "timeout":
            script.over.wait(30)
            self.close_connection = True
        else:
            super().do_POST()

    def send(self, status: int, data: bytes, **headers: str) -> None:
        script = self.script
        if status == 200:
            script.over.wait(script.seconds[len(script.arrivals) % len(script.seconds)])
        if status == 200 and self.fault == "truncated":
            data = data[: len(data) // 2]
        if status == 200 and self.fault == "cut":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2])
            self.close_connection = True
            return
        super().send(status, data, **headers)

    def _read(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))


class Counting(Served):
    """Counts the requests that the model answered: what a paid server would have billed."""

    def __init__(self, path: str = POCKET, name: str = "pocket") -> None:
        super().__init__(path, name)
        self.billed: Counter[str] = Counter()

    def chat(self, body: Any) -> dict[str, Any]:
        return self._billed(body, super().chat(body))

    def completion(self, body: Any) -> dict[str, Any]:
        return self._billed(body, super().completion(body))

    def _billed(self, body: Any, reply: dict[str, Any]) -> dict[str, Any]:
        self.billed[json.dumps(body, sort_keys=True)] += 1
        return reply


@contextmanager
def serving(model: Served, script: Script) -> Iterator[str]:
    """The address of a server that follows the script."""
    server = Server(model, "127.0.0.1", 0, FaultyHandler)
    server.script = script  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.url
    finally:
        script.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def served() -> Iterator[Counting]:
    model = Counting()
    yield model
    model.close()


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    """The key in the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return KEY


@pytest.fixture
def script(served: Counting, key: str) -> Script:
    served.billed.clear()
    return Script()


@pytest.fixture
def url(served: Counting, script: Script) -> Iterator[str]:
    with serving(served, script) as address:
        yield address


Opened = Callable[..., AbstractContextManager[Remote]]


@pytest.fixture
def opened(url: str, tmp_path: Path) -> Opened:
    """The model over the server, closed on leaving; keywords change its settings."""

    @contextmanager
    def loaded(**settings: object) -> Iterator[Remote]:
        usual = {"base_url": url, "cache": str(tmp_path / "replies.sqlite"), "timeout": 20.0}
        model = OpenAI("pocket", **{**usual, **settings}).load()
        try:
            yield model
        finally:
            model.close()

    return loaded


@pytest.fixture(scope="module")
def uno_scores() -> list[Score]:
    """What cloze and counterfactual prompting ask in a game of UNO."""
    game, rng = Uno(num_seats=2), np.random.default_rng(1)
    state, asked = game.deal(rng), []
    methods = itertools.cycle([Cloze(), Counterfactual()])
    while len(asked) < 6 and game.to_move(state):
        (seat,) = game.to_move(state)
        options = game.legal(state, seat)
        if len(options) > 1:
            observation = game.observe(state, seat)
            turn = Turn(game, options, Goal(), lambda seen=observation: seen)
            asked.append(next(next(methods).ask(turn, rng)))
        state = game.play(state, [options[0]])
    return asked
