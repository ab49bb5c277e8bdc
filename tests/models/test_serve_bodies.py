"""What the server refuses to read, and from whom, whatever is sent."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Any

import httpx2
import pytest

from models.server.asked import MOST_CHOICES, MOST_WRITTEN
from models.server.doors import bare
from models.server.serve import _options
from models.server.served import MOST_CHARACTERS
from tests.api import Counting
from tests.requests import CHAT, HEAD, raw, told


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
    most = served._limit * MOST_CHARACTERS
    long = told(http.post("/completions", json={**asked, "prompt": "x" * (most + 1)}), 400)
    assert f"a prompt of {most + 1} characters" in long["message"]
    assert long["code"] == "context_length_exceeded"


def test_errors_of_a_page_are_told_by_it(http: httpx2.Client) -> None:
    assert told(http.get("/nowhere%1b[2J"), 404)
    assert told(http.put("/models"), 405)
    missing = told(http.post("/completions", json={"model": "gpt"}), 404)
    assert (missing["param"], missing["code"]) == ("model", "model_not_found")


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
