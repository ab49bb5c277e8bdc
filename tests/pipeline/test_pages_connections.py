"""Connections to the pages: half a request is dropped, a live page stays."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from gauntlet.pipeline.pages import access
from gauntlet.pipeline.pages.__main__ import configured

SECONDS = 0.5
LIVE = (
    "GET /live HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


async def live(scope: Scope, receive: Receive, send: Send) -> None:
    """Accepts a live connection and holds it."""
    assert scope["type"] == "websocket"
    await receive()
    await send({"type": "websocket.accept"})
    await receive()


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    monkeypatch.setattr(access, "REQUEST_SECONDS", SECONDS)
    config = configured(live)
    config.lifespan = "off"
    server = uvicorn.Server(config)
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    yield listening.getsockname()
    server.should_exit = True
    thread.join()


def exchange(address: tuple[str, int], data: str, seconds: float) -> tuple[bytes, bool]:
    """Return what is received within `seconds`, and whether the connection is still open."""
    heard = b""
    with socket.create_connection(address) as there:
        there.settimeout(seconds)
        there.sendall(data.encode())
        try:
            while piece := there.recv(1 << 16):
                heard += piece
        except TimeoutError:
            return heard, True
        return heard, False


@pytest.mark.parametrize("half", ["", "GET / HT", "POST / HTTP/1.1\r\nHost: x\r\n"])
def test_half_a_request_is_dropped(address: tuple[str, int], half: str) -> None:
    heard, still_open = exchange(address, half, 20)
    assert not still_open
    assert heard.startswith(b"HTTP/1.1 408 ")


def test_a_live_connection_stays(address: tuple[str, int]) -> None:
    heard, still_open = exchange(address, LIVE, 4 * SECONDS)
    assert heard.startswith(b"HTTP/1.1 101 ")
    assert still_open
