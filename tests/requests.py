"""What clients send to our server, and how it answers what it refuses."""

from __future__ import annotations

import json
import socket
from typing import Any

import httpx2

CHAT = {"model": "pocket", "messages": [{"role": "user", "content": "Say: "}], "max_tokens": 4}
HEAD = "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n"


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
