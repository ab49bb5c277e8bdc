"""HTTP to one llama.cpp server, from any number of threads, and a server of our own in a child
process."""

from __future__ import annotations

import http.client
import json
import os
import re
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gauntlet.common.errors import ModelError, Stopped, require
from gauntlet.common.sanitize import one_line

Body = Mapping[str, Any]

MOST_BYTES = 1 << 26
"""Of a reply; the longest, with many log-probabilities, have a few megabytes."""
POLL_SECONDS = 0.5
"""Between two questions whether a server has loaded its model."""
TOO_LONG = "exceed_context_size_error"
"""The server's word for a prompt that does not fit."""


class ContextFull(ModelError):
    """A prompt is longer than the model's context. tokens: its length."""

    def __init__(self, message: str, tokens: int) -> None:
        super().__init__(message)
        self.tokens = tokens


class Client:
    """Each request has its own connection: a server closes idle ones without notice.

    who: names model and server in messages.
    key: sent as a bearer token if not empty; it is in no message.
    timeout: seconds for the next bytes of a reply, and for a server to load its model; None: any.
    why_gone: why the server ended, if that is known.
    """

    def __init__(
        self,
        who: str,
        address: str,
        key: str = "",
        timeout: float | None = None,
        why_gone: Callable[[], str] | None = None,
    ) -> None:
        self.who = who
        self._address = urlsplit(address)
        self._key, self._timeout, self._why_gone = key, timeout, why_gone
        self._open: set[http.client.HTTPConnection] = set()
        self._lock = threading.Lock()
        self._over = threading.Event()

    def ask(self, path: str, body: Body | None = None) -> dict[str, Any]:
        """The reply to a POST of `body`, or to a GET. Waits for a server that still loads its
        model. Raises Stopped if no server answers, ContextFull, and ModelError if it refuses."""
        deadline = time.monotonic() + (self._timeout or 0.0)
        while True:
            status, reply = self._send(path, body)
            if status != 503 or time.monotonic() > deadline:
                return self._checked(path, status, reply)
            self._over.wait(POLL_SECONDS)

    def cancel(self) -> None:
        """End all requests; they and later ones raise ModelError."""
        self._over.set()
        with self._lock:
            for connection in self._open:
                if connection.sock is not None:
                    with suppress(OSError):  # it has ended by itself
                        connection.sock.shutdown(socket.SHUT_RDWR)

    def _send(self, path: str, body: Body | None) -> tuple[int, bytes]:
        secure = self._address.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        assert self._address.hostname is not None
        connection = kind(self._address.hostname, self._address.port, timeout=self._timeout)
        try:
            connection.connect()
            with self._lock:
                self._open.add(connection)
            self._check_over()
            return self._exchange(connection, path, body)
        except (OSError, http.client.HTTPException) as error:
            self._check_over()
            raise Stopped(f"{self.who}: {self._lost(error)}") from None
        finally:
            with self._lock:
                self._open.discard(connection)
            connection.close()

    def _exchange(
        self, connection: http.client.HTTPConnection, path: str, body: Body | None
    ) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        data = None if body is None else json.dumps(body).encode()
        place = f"{self._address.path.rstrip('/')}/{path}"
        connection.request("GET" if body is None else "POST", place, data, headers)
        response = connection.getresponse()
        reply = response.read(MOST_BYTES + 1)
        if len(reply) > MOST_BYTES:
            raise ModelError(f"{self.who}: a reply is longer than {MOST_BYTES:,} bytes")
        return response.status, reply

    def _checked(self, path: str, status: int, content: bytes) -> dict[str, Any]:
        try:
            reply = json.loads(content)
        except ValueError:
            reply = None
        if status == 200 and isinstance(reply, dict):
            return reply
        error = reply.get("error") if isinstance(reply, dict) else None
        error = error if isinstance(error, dict) else {}
        message = one_line(str(error.get("message") or content[:300].decode("utf-8", "replace")))
        if error.get("type") == TOO_LONG:
            raise self._too_long(error)
        if status == 503:
            raise Stopped(f"{self.who}: it still does not answer ({message or status})")
        if status in (401, 403):
            wish = "it does not accept the key" if self._key else "it wants a key,"
            raise Stopped(f"{self.who}: {wish} in the variable LLAMA_API_KEY ({status}: {message})")
        if status in (200, 404):
            raise Stopped(
                f"{self.who}: {path!r} is not answered as by llama.cpp's server ({status}: "
                f"{message}); model=openai is for other servers"
            )
        raise ModelError(f"{self.who}: refused ({status}: {message})")

    def _too_long(self, error: Body) -> ContextFull:
        tokens, room = int(error.get("n_prompt_tokens", 0)), error.get("n_ctx", "?")
        return ContextFull(
            f"{self.who}: a prompt of {tokens} tokens does not fit into its context of {room}",
            tokens,
        )

    def _lost(self, error: Exception) -> str:
        if self._why_gone is not None:
            return f"its llama.cpp process is gone: {self._why_gone()}"
        why = one_line(str(error)) or type(error).__name__
        return f"no llama.cpp server answers ({why})"

    def _check_over(self) -> None:
        if self._over.is_set():
            raise ModelError(f"{self.who}: the run ends")


PROGRAM = Path(__file__).with_name("serve.py")
SAME_BITS = {"n_ubatch": 31, "no_extra_bufts": True}
"""On CPUs llama.cpp multiplies matrices another way from 32 tokens a step on, or if it repacks the
weights; scores would then depend on how much of a prompt was cached (docs/servers.md)."""
WAITING = {"OMP_WAIT_POLICY": "passive"}
"""Threads that wait for each other sleep: on a busy machine spinning is many times slower."""
CACHE_MIB = 1024
"""Memory for prompts that have left their slot; llama.cpp's own default is 8 GiB."""
REASON = re.compile(r"error loading model: (.+)")
ERROR = re.compile(r"^\S+ E (.+)", re.MULTILINE)


class LocalServer:
    """llama.cpp's server in a child process that ends with this one.

    address, key: where it listens, on the loopback interface, and what it wants as a key, so that
        nobody else on this machine can ask it.
    """

    def __init__(self, path: str, threads: int, context: int, slots: int, **further: Any) -> None:
        """Return once the model is loaded. Raises ModelError with llama.cpp's reason."""
        require("xllamacpp", "gguf")
        self.key = secrets.token_hex(16)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**WAITING, **os.environ},
            start_new_session=True,  # a terminal's Ctrl-C reaches only the parent
        )
        file = str(Path(path).expanduser().absolute())
        settings = {"path": file, "threads": threads, "n_ctx": context * slots, "port": 0}
        settings |= {"n_parallel": slots, "verbosity": 1, **SAME_BITS}
        settings |= {"cache_ram_mib": CACHE_MIB, "ui": False, "api_keys": [self.key], **further}
        try:
            self.address = self._start(settings)
        except BaseException:  # Ctrl-C too
            self.close()
            raise
        if not self.address:
            why = self.reason()
            self.close()
            raise ModelError(f"model {path!r} cannot be loaded by llama.cpp: {why}")

    def _start(self, settings: dict[str, Any]) -> str:
        """The address; "" if the process ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(settings).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return ""
        return self._process.stdout.readline().decode().strip()

    def reason(self) -> str:
        """The reason for its end, from its log, as one line."""
        self._log.seek(0)
        log = self._log.read().decode("utf-8", "replace")
        lines = REASON.findall(log) or ERROR.findall(log) or log.strip().splitlines()[-1:]
        return one_line(lines[0]) if lines else "it ended without a word"

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream is not None:
                with suppress(BrokenPipeError):  # of what it never read
                    stream.close()
