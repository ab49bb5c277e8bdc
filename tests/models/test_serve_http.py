"""The server over HTTP: errors in OpenAI's form, a limit to bodies, a graceful end."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from models.server.app import LONGEST, application
from models.server.serve import Server, main
from tests.api import Counting, listening

ROOT = Path(__file__).parent.parent.parent
CHAT = {"model": "pocket", "messages": [{"role": "user", "content": "Say: "}], "max_tokens": 4}


@pytest.fixture(scope="module")
def http(served: Counting) -> Iterator[httpx2.Client]:
    with listening(application(served)) as url, httpx2.Client(base_url=url, timeout=30) as client:
        yield client


def told(reply: httpx2.Response, status: int) -> str:
    """The message of an error, which is in OpenAI's form."""
    assert reply.status_code == status
    assert reply.headers["content-type"] == "application/json"
    error = reply.json()["error"]
    assert sorted(error) == ["code", "message", "param", "type"]
    return str(error["message"])


def test_an_error_is_one_object(http: httpx2.Client) -> None:
    assert told(http.get("/nowhere"), 404) == "there is nothing at /v1/nowhere"
    assert told(http.get("/models/gpt"), 404) == "there is nothing at /v1/models/gpt"
    assert told(http.get("/completions"), 405) == "Method Not Allowed"
    assert "the body is no JSON" in told(http.post("/completions", content=b"{"), 400)
    assert "the body is no JSON" in told(http.post("/completions", content=b"\xff"), 400)
    assert "must be an object" in told(http.post("/completions", json=[]), 400)
    assert "'gpt' does not exist" in told(http.post("/completions", json={"model": "gpt"}), 404)


def test_a_body_that_is_too_long_is_told_so(http: httpx2.Client) -> None:
    long = b"[" + b" " * (LONGEST - 2) + b"]"
    assert "must be an object" in told(http.post("/completions", content=long), 400)
    for body in (long + b" ", iter([long, b" "])):  # with an announced length and without
        line = f"{LONGEST + 1} bytes or more; {LONGEST} are the most"
        assert line in told(http.post("/completions", content=body), 413)


def test_a_body_without_end_is_not_read_to_its_end(http: httpx2.Client) -> None:
    sent = 0

    def body() -> Iterator[bytes]:
        nonlocal sent
        while sent < 16 * LONGEST:
            sent += 1 << 20
            yield bytes(1 << 20)

    with pytest.raises(httpx2.HTTPError):  # an error, or no more than a closed connection
        http.post("/completions", content=body()).raise_for_status()
    assert sent < 16 * LONGEST
    assert http.post("/chat/completions", json=CHAT).status_code == 200


def test_a_slip_of_its_own_is_an_error_of_the_server(
    http: httpx2.Client, served: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(body: Any, ticket: Any) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(served, "chat", fail)
    reply = http.post("/chat/completions", json=CHAT)
    assert told(reply, 500) == "the server failed: RuntimeError"
    assert reply.headers["connection"] == "close", "nobody asks over it again"


def test_a_request_that_comes_again_is_answered_from_memory(
    http: httpx2.Client, served: Counting
) -> None:
    served.billed.clear()
    again = {"headers": {"idempotency-key": "one"}, "json": {**CHAT, "temperature": 2}}
    first, second = (http.post("/chat/completions", **again) for _ in range(2))
    assert first.content == second.content
    assert served.billed.total() == 1
    http.post("/chat/completions", headers={"idempotency-key": "two"}, json=again["json"])
    assert served.billed.total() == 2


def test_a_request_that_failed_may_come_again(http: httpx2.Client) -> None:
    key = {"idempotency-key": "three"}
    assert told(http.post("/chat/completions", headers=key, json={**CHAT, "n": 0}), 400)
    assert http.post("/chat/completions", headers=key, json=CHAT).status_code == 200


class Waiting:
    """A model whose answer waits until it may come."""

    name = "pocket"

    def __init__(self) -> None:
        self.started, self.go = threading.Event(), threading.Event()

    def chat(self, body: Any, ticket: Any) -> dict[str, Any]:
        self.started.set()
        assert self.go.wait(30)
        return {"said": "done"}

    completion = chat

    def leave(self, ticket: Any) -> None:
        """It goes on."""


def test_what_is_under_way_is_answered_before_the_end() -> None:
    model = Waiting()
    stand_in: Any = model
    server = Server(application(stand_in), "127.0.0.1", 0)
    thread = threading.Thread(target=server.run)
    thread.start()
    replies = []
    asking = threading.Thread(
        target=lambda: replies.append(
            httpx2.post(f"{server.url}/chat/completions", json=CHAT, timeout=30)
        )
    )
    asking.start()
    assert model.started.wait(30)
    server.stop()
    thread.join(0.5)
    assert thread.is_alive(), "it waits for the answer"
    model.go.set()
    thread.join(30)
    asking.join(30)
    assert [reply.json() for reply in replies] == [{"said": "done"}]
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"{server.url}/models")


def test_the_command_serves_until_ctrl_c() -> None:
    command = [sys.executable, "-m", "models.server.serve", "--port", "0"]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        line = running.stdout.readline()
        name, _, url = line.strip().rpartition(" at ")
        assert name == "model 'pocket'"
        reply = httpx2.post(f"{url}/chat/completions", json=CHAT, timeout=60)
        assert reply.json()["choices"][0]["message"]["content"]
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err) == (0, "", "\nserve: closed\n")


def test_an_address_that_is_taken_is_one_line(
    capsys: pytest.CaptureFixture[str], http: httpx2.Client
) -> None:
    port = str(http.base_url.port)
    assert main(["--port", port]) == 2
    line = capsys.readouterr().err
    assert line.startswith("serve: ")
    assert line.count("\n") == 1
    assert main(["--port", "99999"]) == 2
    assert capsys.readouterr().err == "serve: port 99999: 0 to 65535 are allowed\n"
