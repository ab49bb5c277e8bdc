"""A server of our own for tests of the API: the pocket model, with faults on demand.

A plugin of pytest: its fixtures are there for all tests.
"""

from __future__ import annotations

import asyncio
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
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agents.base import Goal, Turn
from agents.prompting.cloze import Cloze
from agents.prompting.counterfactual import Counterfactual
from games.uno.game import Uno
from models.api.openai import OpenAI, Remote
from models.base import Score
from models.server.app import application, failure
from models.server.serve import POCKET, Server
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


class Faulty:
    """The application of a server, with the faults of a script before it."""

    def __init__(self, app: ASGIApp, script: Script) -> None:
        self._app, self._script = app, script

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        headers, script = Headers(scope=scope), self._script
        if script.refuse is not None:
            said = script.refuse[1].replace("KEY", headers.get("authorization", ""))
            await failure(script.refuse[0], said, {})(scope, receive, send)
            return
        fault = script.next(headers.get("idempotency-key", ""))
        if fault == "429":
            asked = {"retry-after": str(RETRY_AFTER)}
            await failure(429, "slower", asked)(scope, receive, send)
        elif fault == "500":
            await failure(500, "broken", {})(scope, receive, send)
        elif fault == "timeout":
            await until(script.over, 30)
        else:
            await self._app(scope, receive, Damage(script, fault, send))


class Damage:
    """Sends on what the application answers: late, and by half where the fault says so."""

    def __init__(self, script: Script, fault: str, send: Send) -> None:
        self._script, self._fault, self._send = script, fault, send
        self._start: Message = {}

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = dict(message)
            return
        body: bytes = message["body"]
        if self._start["status"] == 200:
            seconds = self._script.seconds
            await until(self._script.over, seconds[len(self._script.arrivals) % len(seconds)])
            if self._fault in ("truncated", "cut"):
                body = body[: len(body) // 2]
        if self._fault == "truncated":
            MutableHeaders(raw=self._start["headers"])["content-length"] = str(len(body))
        await self._send(self._start)
        # What is shorter than its announced length ends with the connection.
        await self._send({"type": "http.response.body", "body": body, "more_body": False})


async def until(over: threading.Event, seconds: float) -> None:
    """Waits for so long, or until the script is over."""
    end = time.monotonic() + seconds
    while not over.is_set() and time.monotonic() < end:
        await asyncio.sleep(min(0.02, max(0.0, end - time.monotonic())))


class Counting(Served):
    """Counts the requests that the model answered: what a paid server would have billed."""

    def __init__(self, path: str = POCKET, name: str = "pocket") -> None:
        super().__init__(path, name)
        self.billed: Counter[str] = Counter()

    def chat(self, body: Any, *ticket: Any) -> dict[str, Any]:
        return self._billed(body, super().chat(body, *ticket))

    def completion(self, body: Any, *ticket: Any) -> dict[str, Any]:
        return self._billed(body, super().completion(body, *ticket))

    def _billed(self, body: Any, reply: dict[str, Any]) -> dict[str, Any]:
        self.billed[json.dumps(body, sort_keys=True)] += 1
        return reply


@contextmanager
def listening(app: ASGIApp) -> Iterator[str]:
    """The address of a server, which answers in a thread of its own."""
    server = Server(app, "127.0.0.1", 0)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server.url
    finally:
        server.stop()
        thread.join()


@contextmanager
def serving(model: Served, script: Script) -> Iterator[str]:
    """The address of a server that follows the script."""
    with listening(Faulty(application(model), script)) as url:
        try:
            yield url
        finally:
            script.over.set()


class Stage:
    """What one server answers, test after test: to start one for each takes longer than most."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self.app(scope, receive, send)


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


@pytest.fixture(scope="module")
def stage() -> Iterator[tuple[Stage, str]]:
    stage = Stage()
    with listening(stage) as address:
        yield stage, address


@pytest.fixture
def url(stage: tuple[Stage, str], served: Counting, script: Script) -> Iterator[str]:
    """The address of a server that follows the script, and remembers no other test's requests."""
    stage[0].app = Faulty(application(served), script)
    yield stage[1]
    script.over.set()


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
