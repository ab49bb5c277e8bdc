"""The server under clients that mean no good: nobody keeps others waiting, whatever is sent."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx2
import pytest

from models.server import app, connection
from models.server.app import application
from models.server.batches import Ticket
from tests.api import Counting, listening
from tests.requests import CHAT, HEAD, raw, told


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
