"""A server for tests of the API: the pocket model behind OpenAI's protocol, with faults on demand.

A pytest plugin: its fixtures are available to all tests.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gauntlet.agents.base import Goal, Turn
from gauntlet.agents.prompting.cloze import Cloze
from gauntlet.agents.prompting.counterfactual import Counterfactual
from gauntlet.games.uno.game import Uno
from gauntlet.models.api.openai import OpenAI
from gauntlet.models.api.remote import Remote
from gauntlet.models.base import Generate, Prompt, Score
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.engine.files import local_folder

POCKET, NAME = "pkg:models/pocket/weights", "pocket"
ENDPOINTS = ("chat/completions", "completions")
KEY = "sk-test-4f7c1b9d8e2a6053"
RETRY_AFTER = 0.4
"""Seconds that a 429 of this server asks for."""
FAULTS = ("429", "500", "timeout", "truncated", "cut")

WRITE = Generate(Prompt("Rules.\n\n", "Hand: red 1\nSay: "), 5, 0.7, ("Z",), seed=3)
"""A request for text that tests send."""

Body = dict[str, Any]
Chat = Callable[[Mapping[str, Any]], Body]
Altered = Callable[[Chat, Mapping[str, Any]], Body]


@dataclass
class Script:
    """The server's configured faults, and what it saw.

    faults: taken in turn, one for the first arrival of each request; "" for none. refuse: a status
    with which everything is refused, and the message. seconds: duration of whole replies, in turn.
    arrivals: arrival times of each request, by its Idempotency-Key.
    """

    faults: tuple[str, ...] = ("",)
    refuse: tuple[int, str] | None = None
    seconds: tuple[float, ...] = (0.0,)
    arrivals: dict[str, list[float]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    over: threading.Event = field(default_factory=threading.Event)

    def next(self, key: str) -> str:
        """Record an arrival; return its fault."""
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
    """Forwards the application's answer: late, and truncated if the fault says so."""

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
        # A body shorter than its announced length ends with the connection.
        await self._send({"type": "http.response.body", "body": body, "more_body": False})


async def until(over: threading.Event, seconds: float) -> None:
    """Wait this long, or until the script is over."""
    end = time.monotonic() + seconds
    while not over.is_set() and time.monotonic() < end:
        await asyncio.sleep(min(0.02, max(0.0, end - time.monotonic())))


class Refused(Exception):
    """The server answers with status 400 and this text."""


class PocketServer:
    """The pocket model behind the bodies of both endpoints, scored by the reference scorer.

    billed: how often each body was answered, which a paid server would have billed.
    """

    def __init__(self) -> None:
        # Imported here: most tests need no torch, and this module is a plugin of all.
        from gauntlet.models.engine.local import load_network
        from gauntlet.models.engine.reference import Reference
        from gauntlet.models.engine.tokens import load_tokens

        self._model = Checkpoint(POCKET).load()
        folder = local_folder(POCKET)
        assert folder is not None
        self._tokens = load_tokens(folder, POCKET, chat=False)
        self._plain = Reference(load_network(folder, POCKET, "float32", "cpu"), self._tokens)
        self.billed: Counter[str] = Counter()

    def chat(self, body: Body) -> Body:
        """The reply to a body of /v1/chat/completions."""
        text = "".join(message["content"] for message in body["messages"])
        return self._reply(body, text, body.get("top_logprobs") if body.get("logprobs") else None)

    def completion(self, body: Body) -> Body:
        """The reply to a body of /v1/completions."""
        return self._reply(body, body["prompt"], body.get("logprobs"))

    def answer(self, path: str, data: bytes) -> bytes:
        body = json.loads(data)
        reply = (self.chat if path.endswith("/chat/completions") else self.completion)(body)
        self.billed[json.dumps(body, sort_keys=True)] += 1
        return json.dumps(reply).encode()

    def close(self) -> None:
        self._model.close()

    def _reply(self, body: Body, text: str, top: int | None) -> Body:
        seed, count, most = body.get("seed", 0), body.get("n", 1), body["max_tokens"]
        read = len(self._tokens.encode(Prompt("", text)))
        if read + most > self._plain.limit:
            raise Refused(
                f"{read} tokens and {most} to write are more than the {self._plain.limit}"
            )
        if most == 1:
            choices = self._first_tokens(text, top, body["temperature"], range(seed, seed + count))
            return _body(choices, read, count)
        first = Generate(
            Prompt("", text), most, body["temperature"], tuple(body.get("stop") or ()), seed
        )
        written = self._model.answer([replace(first, seed=seed + n) for n in range(count)])
        return _body(
            [_choice(n, reply.text, reply.finishes[0]) for n, reply in enumerate(written)],
            read,
            sum(reply.tokens for reply in written),
        )

    def _first_tokens(
        self, text: str, top: int | None, temperature: float, seeds: Sequence[int]
    ) -> list[Body]:
        import torch

        from gauntlet.models.engine.text import choose

        logprobs = self._plain.next_token(self._tokens.encode(Prompt("", text)))
        drawn = [choose(logprobs, temperature, np.random.default_rng(seed)) for seed in seeds]
        if top is None:
            return [_choice(n, self._tokens.decode([token])) for n, token in enumerate(drawn)]
        best = torch.topk(logprobs, top).indices.tolist()
        spelt = {t: self._tokens.tokenizer.decode([t]) for t in (*best, *drawn)}
        listed = [{"token": spelt[t], "logprob": float(logprobs[t])} for t in best]
        return [
            {
                **_choice(n, spelt[token]),
                "logprobs": {
                    "tokens": [spelt[token]],
                    "top_logprobs": [{spelt[t]: float(logprobs[t]) for t in (token, *best)}],
                    "content": [{"token": spelt[token], "top_logprobs": listed}],
                },
            }
            for n, token in enumerate(drawn)
        ]


def _choice(index: int, text: str, finish: str = "stop") -> Body:
    """A choice of chat and of completions in one; a stop string is named as vLLM does."""
    message = {"role": "assistant", "content": text}
    return {
        "index": index,
        "text": text,
        "message": message,
        "finish_reason": "length" if finish == "length" else "stop",
        "stop_reason": "Z" if finish == "stop_string" else None,
        "logprobs": None,
    }


def _body(choices: list[Body], read: int, written: int) -> Body:
    counted = {"prompt_tokens": read, "completion_tokens": written}
    return {"id": "x", "object": "x", "created": 0, "choices": choices, "usage": counted}


def failure(status: int, message: str, headers: Mapping[str, str]) -> Response:
    """An error in OpenAI's form."""
    error = {"message": message, "type": "error", "param": None, "code": None}
    return JSONResponse({"error": error}, status, {**headers, "connection": "close"})


def application(server: PocketServer) -> Starlette:
    """OpenAI's routes over the server. A repeated body with the same Idempotency-Key is answered
    from memory."""
    lock, replies = threading.Lock(), dict[tuple[str, bytes], bytes]()

    def answered(path: str, key: str, data: bytes) -> bytes:
        with lock:
            if (key, data) not in replies:
                replies[key, data] = server.answer(path, data)
            return replies[key, data]

    async def answer(request: Request) -> Response:
        key, data = request.headers.get("idempotency-key", ""), await request.body()
        if (name := json.loads(data)["model"]) != NAME:
            return failure(404, f"the model {name!r} does not exist", {})
        try:
            body = await run_in_threadpool(answered, request.url.path, key, data)
        except Refused as error:
            return failure(400, str(error), {})
        return Response(body, media_type="application/json")

    async def models(_: Request) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": NAME, "object": "model"}]})

    routes = [Route(f"/v1/{path}", answer, methods=["POST"]) for path in ENDPOINTS]
    return Starlette(routes=[Route("/v1/models", models), *routes])


@contextmanager
def listening(app: ASGIApp) -> Iterator[str]:
    """Yield the address of a server that runs in a thread."""
    config = uvicorn.Config(app, http="h11", lifespan="off", log_config=None, log_level="error")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def serving(model: PocketServer, script: Script) -> Iterator[str]:
    """The address of a server that follows the script."""
    with listening(Faulty(application(model), script)) as url:
        try:
            yield url
        finally:
            script.over.set()


class Stage:
    """One server whose application the tests replace: starting one takes longer than most tests."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self.app(scope, receive, send)


@pytest.fixture(scope="module")
def served() -> Iterator[PocketServer]:
    model = PocketServer()
    yield model
    model.close()


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    """The key in the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return KEY


@pytest.fixture
def script(served: PocketServer, key: str) -> Script:
    served.billed.clear()
    return Script()


@pytest.fixture(scope="module")
def stage() -> Iterator[tuple[Stage, str]]:
    stage = Stage()
    with listening(stage) as address:
        yield stage, address


@pytest.fixture
def url(stage: tuple[Stage, str], served: PocketServer, script: Script) -> Iterator[str]:
    """The address of a server that follows the script, without other tests' requests in memory."""
    stage[0].app = Faulty(application(served), script)
    yield stage[1]
    script.over.set()


@pytest.fixture
def changed(served: PocketServer, monkeypatch: pytest.MonkeyPatch) -> Callable[[Altered], None]:
    """Makes the server's chat what a function of it and a body makes."""

    def change(alter: Altered) -> None:
        chat = served.chat
        monkeypatch.setattr(served, "chat", lambda body, *ticket: alter(chat, body))

    return change


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
    """The requests of cloze and counterfactual prompting in a game of UNO."""
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
