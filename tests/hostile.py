"""Malicious servers, byte by byte: each answers every request in one bad way."""

from __future__ import annotations

import json
import re
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
MEGABYTE = b" " * (1 << 20)


class Talk:
    """One request at a server: the request, and the means to reply. `over` ends all waiting."""

    def __init__(self, connection: socket.socket, request: bytes, over: threading.Event) -> None:
        self.request, self.over, self._connection = request, over, connection

    def head(self, *headers: str, status: str = "200 OK") -> None:
        self.say("\r\n".join([f"HTTP/1.1 {status}", *headers, "", ""]).encode())

    def say(self, data: bytes) -> None:
        self._connection.sendall(data)

    def reply(self, body: bytes, *headers: str, status: str = "200 OK") -> None:
        self.head(f"content-length: {len(body)}", *headers, status=status)
        self.say(body)


Behaviour = Callable[[Talk], None]


def reply(text: str = "ok", **more: Any) -> bytes:
    """Return a reply of chat and of completions in one, as a benign server would give it."""
    choice = {"index": 0, "finish_reason": "stop", "text": text, "message": {"content": text}}
    counted = {"prompt_tokens": 3, "completion_tokens": 1}
    return json.dumps({"choices": [choice], "usage": counted, **more}).encode()


def good(talk: Talk) -> None:
    talk.reply(reply())


def hanging(talk: Talk) -> None:
    talk.over.wait(600)


def dripping(talk: Talk) -> None:
    """Send one byte at a time, of a reply that would be right."""
    talk.head("content-length: 1000000")
    while not talk.over.wait(0.05):
        talk.say(b" ")


def dripping_head(talk: Talk) -> None:
    talk.say(b"HTTP/1.1 200 OK\r\nx: ")
    while not talk.over.wait(0.05):
        talk.say(b"y")


def waiting(talk: Talk) -> None:
    talk.reply(b"{}", "retry-after: 100", status="429 Too Many Requests")


def endless(talk: Talk) -> None:
    talk.head()
    while not talk.over.is_set():
        talk.say(MEGABYTE)


def endless_chunks(talk: Talk) -> None:
    talk.head("transfer-encoding: chunked")
    while not talk.over.is_set():
        talk.say(b"100000\r\n" + MEGABYTE + b"\r\n")


def endless_error(talk: Talk) -> None:
    talk.head(status="400 Bad Request")
    talk.say(b'{"error": {"message": "no seed here"}}')
    endless(talk)


def endless_headers(talk: Talk) -> None:
    talk.say(b"HTTP/1.1 200 OK\r\n")
    for number in range(1 << 40):
        talk.say(b"x-%d: %s\r\n" % (number, MEGABYTE[:1000]))


def endless_welcomes(talk: Talk) -> None:
    while not talk.over.wait(0.001):
        talk.say(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)


def going_round(talk: Talk) -> None:
    talk.head(
        "location: /v1/chat/completions", "content-length: 0", status="307 Temporary Redirect"
    )


def bomb(coding: str, megabytes: int) -> Behaviour:
    """Return a reply of this many megabytes of spaces, compressed with each coding in turn."""
    data = MEGABYTE * megabytes
    for one in coding.split(","):
        data = zlib.compress(data) if one.strip() == "deflate" else _gzip(data)

    def explode(talk: Talk) -> None:
        talk.reply(data, f"content-encoding: {coding}")

    return explode


def _gzip(data: bytes) -> bytes:
    folding = zlib.compressobj(wbits=31)
    return folding.compress(data) + folding.flush()


@contextmanager
def at_work(behaviour: Behaviour) -> Iterator[tuple[str, list[Talk]]]:
    """The address of a server with this behaviour, and the requests it has had."""
    over, talks = threading.Event(), list[Talk]()
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    threading.Thread(target=serve, args=(connection,), daemon=True).start()

        def serve(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                while (request := _read(connection)) and not over.is_set():
                    talks.append(Talk(connection, request, over))
                    behaviour(talks[-1])

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1", talks
        finally:
            over.set()
            listening.shutdown(socket.SHUT_RDWR)


def _read(connection: socket.socket) -> bytes:
    """One request; nothing where the other side is gone."""
    data = b""
    while b"\r\n\r\n" not in data:
        came = connection.recv(1 << 16)
        if not came:
            return b""
        data += came
    head, _, body = data.partition(b"\r\n\r\n")
    announced = LENGTH.search(head)
    while announced and len(body) < int(announced.group(1)):
        body += connection.recv(1 << 16)
    return head + b"\r\n\r\n" + body
