"""The server under clients that mean no good: nobody keeps others waiting, whatever is sent."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import httpx2
import pytest

from models.base import Generate, Generation, Prompt
from models.engine.local import Local
from models.server import app, batches, connection
from models.server.app import application
from models.server.asked import MOST_CHOICES, MOST_WRITTEN
from models.server.batches import Batches, Busy, Line, Ticket, Waiting
from models.server.doors import bare
from models.server.serve import _options
from models.server.served import Served
from tests.api import Counting, listening

CHAT = {"model": "pocket", "messages": [{"role": "user", "content": "Say: "}], "max_tokens": 4}


@pytest.fixture(scope="module")
def base(served: Counting) -> Iterator[str]:
    with listening(application(served, ["arena.example"])) as url:
        yield url


@pytest.fixture(scope="module")
def http(base: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=base, timeout=30) as client:
        yield client


def told(reply: httpx2.Response, status: int) -> dict[str, Any]:
    """The error, which is in OpenAI's form."""
    assert reply.status_code == status, reply.text
    error: dict[str, Any] = reply.json()["error"]
    assert sorted(error) == ["code", "message", "param", "type"]
    assert error["message"].isprintable()
    assert len(error["message"]) <= 300
    return error


def raw(url: str, data: bytes, seconds: float = 10.0) -> tuple[int, dict[str, Any]]:
    """What the server says to these bytes: a status and an error; (0, {}) where it hangs up."""
    address = httpx2.URL(url)
    with socket.create_connection((address.host, address.port or 80), timeout=seconds) as sent:
        sent.sendall(data)
        came = b""
        while b"\r\n\r\n" not in came or not came.endswith(b"}}"):
            more = sent.recv(1 << 16)
            if not more:
                break
            came += more
    if not came:
        return 0, {}
    head, _, body = came.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["error"]


# Bodies.

HEAD = "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ("Content-Length: -1\r\n\r\n", 400),
        ("Content-Length: 1e3\r\n\r\n", 400),
        (f"Content-Length: {1 << 60}\r\n\r\n", 413),
        ("Content-Length: 5\r\nContent-Length: 6\r\n\r\n12345", 400),
        ("Content-Length: 2\r\n\r\n{}trailing", 404),
        ("Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n", 400),
        (f"x: {'y' * 200_000}\r\n\r\n", 400),
    ],
)
def test_a_length_that_lies_is_refused(base: str, headers: str, status: int) -> None:
    found, error = raw(base, (HEAD + headers).encode())
    assert found == status
    assert sorted(error) == ["code", "message", "param", "type"]


def test_a_chunked_body_without_end_is_refused(base: str) -> None:
    address = httpx2.URL(base)
    with socket.create_connection((address.host, address.port or 80), timeout=10) as sent:
        sent.sendall(f"{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode())
        piece = b"100000\r\n" + bytes(1 << 20) + b"\r\n"
        taken = 0
        with suppress(OSError):
            while taken < 100:
                sent.sendall(piece)
                taken += 1
    assert taken < 32


FIELDS: dict[str, tuple[dict[str, Any], str | None]] = {
    "n is 1000000; it must be a whole number from 1 to 1024": ({"n": 10**6}, "n"),
    "n is 1.0; it must be a whole": ({"n": 1.0}, "n"),
    "n is True; it must be a whole": ({"n": True}, "n"),
    "more than the 2048 tokens that the model can hold": ({"max_tokens": 10**5}, None),
    "2000000000 tokens are more than the 131072": ({"max_tokens": 2 * 10**9}, "max_tokens"),
    "128000 tokens": ({"n": 1000, "max_tokens": 128}, None),
    "1024 answers of 2000 tokens are more": ({"n": 1024, "max_tokens": 2000}, "max_tokens"),
    "temperature is True; it must be 0 to 2": ({"temperature": True}, "temperature"),
    "best_of is not supported": ({"best_of": 50}, "best_of"),
    "top_p is not supported": ({"top_p": 0.5}, "top_p"),
    "the field 'top_k' is not known here": ({"top_k": 5}, "top_k"),
    r"the field '\x1b[2J": ({"\x1b[2J" + "x" * 1000: 5}, None),
    "stop can be 16 texts": ({"stop": ["a"] * 17}, "stop"),
    "of 1 to 1000 characters": ({"stop": [""]}, "stop"),
    "seed is 99999999999999999999": ({"seed": 10**20 - 1}, "seed"),
    "logprobs is 'yes'; it must be true or false": ({"logprobs": "yes"}, "logprobs"),
    "21 log-probabilities": (
        {"max_tokens": 1, "logprobs": True, "top_logprobs": 21},
        "top_logprobs",
    ),
}


@pytest.mark.parametrize("line", [line for line in FIELDS if line != "128000 tokens"])
def test_a_field_beyond_its_limit_is_named(http: httpx2.Client, line: str) -> None:
    fields, param = FIELDS[line]
    error = told(http.post("/chat/completions", json={**CHAT, **fields}), 400)
    assert line in error["message"]
    assert param is None or error["param"] == param


def test_fields_that_change_nothing_are_understood(http: httpx2.Client) -> None:
    neutral = {"top_p": 1.0, "presence_penalty": 0, "logit_bias": None, "user": "me", "best_of": 1}
    assert http.post("/chat/completions", json={**CHAT, **neutral}).status_code == 200
    assert MOST_CHOICES * 128 <= MOST_WRITTEN, "an honest number of answers fits"


@pytest.mark.parametrize(
    "body",
    [
        b'{"model": "pocket", "prompt": "x", "temperature": NaN}',
        b'{"model": "pocket", "prompt": "x", "temperature": 1e999}',
        b'{"model": "pocket", "prompt": "\\ud800"}',
        b"[" * 100_000 + b"]" * 100_000,
        b'{"model": "pocket", "prompt": "x", "a": ' + b'{"a": ' * 5000 + b"1" + b"}" * 5001,
        b"1" * 10_000,
        b"",
    ],
)
def test_what_is_no_json_is_refused(http: httpx2.Client, body: bytes) -> None:
    assert told(http.post("/completions", content=body), 400)["type"] == "invalid_request_error"


def test_many_prompts_and_long_ones_are_refused_before_they_are_read(
    http: httpx2.Client, served: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"model": "pocket", "max_tokens": 1}
    many = told(http.post("/completions", json={**asked, "prompt": ["x"] * 1025}), 400)
    assert "1025 prompts of n=1 answers are more than the 1024" in many["message"]
    monkeypatch.setattr(type(served._raw.tokens), "encode", None)
    monkeypatch.setattr(served, "_token_bytes", 16)
    long = told(http.post("/completions", json={**asked, "prompt": "x " * 900_000}), 400)
    assert "a prompt of 1800000 bytes" in long["message"]
    assert long["code"] == "context_length_exceeded"


# Who may ask.


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8000", "127.0.0.1", "[::1]:80", "LOCALHOST."]
)
def test_its_own_names_are_served(http: httpx2.Client, host: str) -> None:
    assert http.get("/models", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "",
        "[::",
        "localhost:80:80",
    ],
)
def test_other_names_are_not(http: httpx2.Client, host: str) -> None:
    assert "--allow-host" in told(http.get("/models", headers={"host": host}), 421)["message"]
    assert told(http.post("/chat/completions", json=CHAT, headers={"host": host}), 421)


def test_further_names_may_be_allowed(http: httpx2.Client) -> None:
    assert http.get("/models", headers={"host": "arena.example:80"}).status_code == 200
    assert _options(["--allow-host", "a", "--allow-host", "b"]).allow_host == ["a", "b"]
    assert bare("[0:0::1]:80") == bare("::1") == "::1"


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:3000"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_pages_from_elsewhere_are_not_served(http: httpx2.Client, headers: dict[str, str]) -> None:
    assert told(http.post("/chat/completions", json=CHAT, headers=headers), 403)
    assert told(http.get("/models", headers=headers), 403)


def test_its_own_pages_would_be(http: httpx2.Client) -> None:
    host = {"host": "localhost:1", "origin": "http://localhost:1"}
    assert http.get("/models", headers=host).status_code == 200


# How much at a time.


def opened(url: str, data: bytes) -> socket.socket:
    address = httpx2.URL(url)
    found = socket.create_connection((address.host, address.port or 80), timeout=10)
    found.sendall(data)
    return found


@pytest.mark.parametrize(
    "half", [b"", b"POST /v1/comp", HEAD.encode() + b"Content-Length: 9\r\n\r\n{"]
)
def test_half_requests_hold_nobody_and_no_thread(
    http: httpx2.Client, base: str, monkeypatch: pytest.MonkeyPatch, half: bytes
) -> None:
    monkeypatch.setattr(connection, "MOST", 20)
    assert http.post("/chat/completions", json=CHAT).status_code == 200
    before = threading.active_count()
    with ExitStack() as held:
        sockets = [held.enter_context(opened(base, half)) for _ in range(60)]
        started = time.monotonic()
        assert httpx2.post(f"{base}/chat/completions", json=CHAT, timeout=10).status_code == 200
        assert time.monotonic() - started < 5
        assert threading.active_count() - before <= 1
        open_still = 0
        for one in sockets:
            one.settimeout(0.02)
            try:
                open_still += one.recv(1) != b""
            except TimeoutError:
                open_still += 1
            except ConnectionError:
                continue
        assert open_still <= 20


def test_a_half_request_is_ended(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "WHOLE_SECONDS", 0.3)
    for half in (b"GET /v1/mod", HEAD.encode() + b"Content-Length: 9\r\n\r\n{"):
        status, error = raw(base, half)
        assert status == 408
        assert "no whole request came" in error["message"]
    whole = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with opened(base, whole) as kept:  # a connection that was used well is no better
        while b"pocket" not in kept.recv(1 << 16):
            pass
        kept.sendall(b"G")
        assert b" 408 " in kept.recv(1 << 16)


class Slow:
    """A model that answers when it may, and says who is gone."""

    name = "pocket"

    def __init__(self) -> None:
        self.go, self.left = threading.Event(), threading.Event()
        self.under_way = threading.Semaphore(0)

    def chat(self, body: Any, ticket: Ticket) -> dict[str, Any]:
        self.under_way.release()
        while not self.go.wait(0.02) and not ticket.gone:
            pass
        return {"gone": ticket.gone}

    completion = chat

    def leave(self, ticket: Ticket) -> None:
        ticket.gone = True
        self.left.set()


@contextmanager
def slow() -> Iterator[tuple[Slow, str]]:
    model: Any = Slow()
    with listening(application(model)) as url:
        try:
            yield model, url
        finally:
            model.go.set()


def test_more_than_can_be_under_way_is_told_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "MOST", 3)
    monkeypatch.setattr(app, "MOST_OF_ONE", 2)

    def ask(url: str, key: str) -> httpx2.Response:
        headers = {"authorization": f"Bearer {key}"}
        return httpx2.post(f"{url}/chat/completions", json=CHAT, headers=headers, timeout=20)

    with slow() as (model, url), ThreadPoolExecutor() as threads:
        asking = []
        for key in "aab":
            asking.append(threads.submit(ask, url, key))
            assert model.under_way.acquire(timeout=10)
        for key, status in (("a", 503), ("c", 503)):
            reply = ask(url, key)
            told(reply, status)
            assert reply.headers["retry-after"] == "1"
        monkeypatch.setattr(app, "MOST", 9)
        reply = ask(url, "a")
        assert told(reply, 429)["type"] == "rate_limit_error"
        assert reply.headers["retry-after"] == "1"
        model.go.set()
        assert [one.result().status_code for one in asking] == [200] * 3


def test_a_client_that_leaves_stops_what_it_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with slow() as (model, url):
        with pytest.raises(httpx2.ReadTimeout):
            httpx2.post(f"{url}/chat/completions", json=CHAT, timeout=0.2)
        assert model.left.wait(2)


def test_one_that_may_come_again_is_waited_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    key = {"idempotency-key": "again"}
    with slow() as (model, url):
        with pytest.raises(httpx2.ReadTimeout):
            httpx2.post(f"{url}/chat/completions", json=CHAT, headers=key, timeout=0.2)
        assert not model.left.wait(0.3)
        model.go.set()
        reply = httpx2.post(f"{url}/chat/completions", json=CHAT, headers=key, timeout=10)
        assert reply.json() == {"gone": False}
        assert model.under_way.acquire(timeout=1)
        assert not model.under_way.acquire(timeout=0), "the answer was worked out once"


def test_a_key_that_comes_with_another_request_is_another_request(http: httpx2.Client) -> None:
    replies = [
        http.post(
            "/chat/completions",
            json={**CHAT, "messages": [{"role": "user", "content": text}]},
            headers={"idempotency-key": "same"},
        ).json()["usage"]["prompt_tokens"]
        for text in ("red", "red 1, blue 2, green 3")
    ]
    assert replies[0] != replies[1]


def test_what_is_remembered_has_a_bound(
    http: httpx2.Client, served: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "REMEMBERED_BYTES", 1000)
    served.billed.clear()
    for name in ("k1", "k2", "k3", "k4", "k1"):
        http.post("/chat/completions", headers={"idempotency-key": name}, json=CHAT)
    assert served.billed.total() == 5, "the first was forgotten"


# A fair part for everybody.


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
    time.sleep(0.3)
    served.leave(ticket)
    started = time.monotonic()
    assert served.chat(CHAT)["choices"]
    assert time.monotonic() - started < 3, "what was left is not written on"
    thread.join(10)
    assert took


def test_errors_of_a_page_are_told_by_it(http: httpx2.Client) -> None:
    assert told(http.get("/nowhere%1b[2J"), 404)
    assert told(http.put("/models"), 405)
    missing = told(http.post("/completions", json={"model": "gpt"}), 404)
    assert (missing["param"], missing["code"]) == ("model", "model_not_found")
