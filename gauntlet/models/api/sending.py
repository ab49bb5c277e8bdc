"""Sends requests, from one thread that awaits all of them.

A whole reply has one timeout, from connecting to its last byte, so a server that sends a byte now
and then cannot stall a caller; a stream has a deadline, and a timeout between its bytes. Callers
can be released at any moment. Redirects are not followed: prompts and key go only to the address
that the user gave.

A server may send endlessly, or a megabyte that decompresses to gigabytes. So the bytes of a reply
are counted before and after decompression, in chunks of at most a megabyte, and the connection is
closed at the first excess byte.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import os
import re
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

import httpx2

from gauntlet.common.errors import GauntletError, ModelError
from gauntlet.models.api.ledger import Tokens

NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)
"""Connection failures from before the request was sent."""
PROXIES = ("http_proxy", "https_proxy", "all_proxy")
"""The environment variables of proxies, which may be in upper case too."""
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""The environment variables of certificates."""
SLACK_SECONDS = 1.0
"""Added to the timeout of a whole request, so that the connect timeout fires first."""
LAST_SECONDS = 0.7
"""How long replies in flight may still arrive once the run ends."""

NONE: Mapping[str, str] = {}

certificates = cache(httpx2.create_ssl_context)
"""Read once per process: that takes as long as hundreds of requests."""

T = TypeVar("T")


class Cancelled(GauntletError):
    """The run ended before the reply arrived."""


@dataclass(frozen=True)
class Response:
    """A server's response: status, the headers in `KEPT`, and body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Call:
    """A request: posts its content, or gets what is there if it has none."""

    path: str
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def json(cls, path: str, body: Mapping[str, Any], headers: Mapping[str, str] = NONE) -> Call:
        """A request whose content is JSON."""
        content = json.dumps(body, separators=(",", ":")).encode()
        return cls(path, content, {"content-type": "application/json", **headers})


class Sender:
    """Sends requests to one server, from any number of threads.

    Raises ModelError for a proxy or certificates in the environment that cannot be used.
    """

    def __init__(
        self, base_url: str, headers: Mapping[str, str], timeout: float, connections: int
    ) -> None:
        """timeout: seconds to connect, and between two bytes."""
        try:
            verified_by = certificates()
        except OSError as error:  # also ssl.SSLError
            named = [name for name in CERTIFICATES if os.environ.get(name)]
            where = f"{' or '.join(named)} names" if named else "this machine has"
            raise ModelError(f"{where} certificates that cannot be read: {error}") from error
        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
        self._timeout, self._base_url = timeout, base_url.rstrip("/")
        try:
            self._client = httpx2.AsyncClient(
                headers={"accept": "application/json", "user-agent": "gauntlet", **headers},
                timeout=timeout,
                limits=limits,
                follow_redirects=False,
                verify=verified_by,
                event_hooks={"response": [limit_response]},
            )
        except (ImportError, ValueError, httpx2.InvalidURL):
            raise ModelError(_of_the_proxy()) from None
        self._over = False
        self._under_way: set[asyncio.Task[Any]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="sender")
        self._thread.start()

    def send(self, call: Call, most_bytes: int, seconds: float) -> Response:
        """The response, whatever its status.

        seconds: to its last byte.

        Raises TooLong for a longer one, Cancelled, and the client's errors: a timeout, a failed
        connection or a body that cannot be decompressed.
        """
        method = "GET" if call.content is None else "POST"

        async def send() -> Response:
            LIMIT.set(most_bytes)
            raw = await self._client.request(
                method, self._url(call.path), content=call.content, headers=call.headers
            )
            return Response(raw.status_code, raw.headers, raw.content)

        return self._waited_for(send(), seconds)

    def models(self) -> list[str]:
        """The names of the server's models; [] if it does not list them."""

        async def look() -> list[str]:
            LIMIT.set(OF_AN_ERROR)
            page = json.loads((await self._client.get(self._url("models"))).content)
            listed = page["data"] if "data" in page else page["models"]
            return [str(model["id"] if "id" in model else model["name"]) for model in listed]

        try:
            return self._waited_for(look(), self._timeout)
        except (
            httpx2.HTTPError,
            GauntletError,
            ValueError,
            TypeError,
            LookupError,
            RecursionError,
        ):
            return []

    def cancel(self) -> None:
        """Abandon all requests that are not answered within LAST_SECONDS."""
        if self._loop.is_closed():
            return
        self._loop.call_soon_threadsafe(self._loop.call_later, LAST_SECONDS, self._let_go)

    def close(self) -> None:
        """Close the client. Nothing may be in flight."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._client.aclose(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _url(self, path: str) -> str:
        """A path is below the address, or from `/` on below the server itself."""
        base = self._base_url.removesuffix("/v1") if path.startswith("/") else self._base_url
        return f"{base}/{path.removeprefix('/')}"

    def _waited_for(self, sending: Coroutine[Any, Any, T], seconds: float) -> T:
        future = asyncio.run_coroutine_threadsafe(self._in_time(sending, seconds), self._loop)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise Cancelled("the run ends") from None

    async def _in_time(self, sending: Coroutine[Any, Any, T], seconds: float) -> T:
        task = asyncio.ensure_future(sending)
        self._under_way.add(task)
        if self._over:
            task.cancel()
        try:
            async with asyncio.timeout(seconds + SLACK_SECONDS):
                return await task
        except TimeoutError:
            raise httpx2.ReadTimeout("it took too long") from None
        finally:
            self._under_way.discard(task)

    def _let_go(self) -> None:
        self._over = True
        for task in self._under_way:
            task.cancel()


def proxy_of(address: str) -> str:
    """The environment variable whose proxy leads to this address; "" if none does."""
    url = urlsplit(address)
    if proxy_bypass(url.hostname or ""):
        return ""
    names = (f"{url.scheme}_proxy", f"{url.scheme.upper()}_PROXY", "all_proxy", "ALL_PROXY")
    return next((name for name in names if os.environ.get(name)), "")


def _of_the_proxy() -> str:
    """Which proxy of the environment cannot be used, without its address, which may hold a
    password."""
    named = {name: os.environ[name] for name in os.environ if name.lower() in PROXIES}
    socks = [name for name, address in named.items() if address.startswith("socks")]
    if socks:
        return f"{socks[0]} names a SOCKS proxy: pip install socksio, or unset the variable"
    return f"{' or '.join(named)} names a proxy that cannot be used; unset the variable"


BREAK = re.compile(r"\r\n|\n|\r")


def events(text: str) -> Iterator[dict[str, Any]]:
    """The data of each event, without pings, comments and the closing mark. Raises ValueError for
    data that is no JSON object."""
    lines: list[str] = []
    for line in [*BREAK.split(text), ""]:
        name, _, value = line.partition(":")
        if name == "data":
            lines.append(value.removeprefix(" "))
        elif not line and lines:
            data, lines = "\n".join(lines), []
            if data.strip() != "[DONE]":
                yield _parsed(data)


def _parsed(data: str) -> dict[str, Any]:
    event = json.loads(data)
    if not isinstance(event, dict):
        raise ValueError(f"an event of its stream is {type(event).__name__}")
    return event


SPARE = 1 << 20
"""Bytes of a reply other than its texts: a token's log-probabilities, counts, names."""
A_TOKEN = 256
"""Bytes per generated token: the longest run of spaces in any known tokenizer, or forty letters
escaped by JSON; four are usual."""
AN_EVENT = 1024
"""Bytes per generated token of a stream, which wraps each in an event and may repeat the whole."""
OF_AN_ERROR = 1 << 16
"""Bytes read of an error response; the rest is dropped."""
KEPT = (b"retry-after", b"retry-after-ms", b"x-should-retry", b"location")
"""The headers kept of a reply, as bytes: a server may send any. The others control decoding, and a
compression named in place of a character set is one more way to inflate a reply."""
REDIRECTED = "x-redirected"
"""The header that holds a redirect's target, so that nothing follows it."""
RENAMED = {b"location": REDIRECTED.encode()}

LIMIT: ContextVar[int] = ContextVar("limit", default=SPARE)
"""The byte limit for the reply to this task's request."""


class TooLong(GauntletError):
    """A reply is longer than it could possibly need to be."""


def most_bytes(most: Tokens, streams: bool = False) -> int:
    """The byte limit of a reply that may use these tokens."""
    return SPARE + (AN_EVENT if streams else A_TOKEN) * most.written


async def limit_response(response: httpx2.Response) -> None:
    """Response hook of the client: reading more than LIMIT bytes of the body raises TooLong. The
    body of an error response is truncated instead."""
    refused = response.status_code >= 300
    limit = OF_AN_ERROR if refused else LIMIT.get()
    raw = LimitedStream(response.stream, limit, refused)
    unfolded = httpx2.Response(response.status_code, headers=response.headers, stream=raw)
    headers = [
        (RENAMED.get(name.lower(), name), value)
        for name, value in response.headers.raw
        if name.lower() in KEPT
    ]
    response.headers = httpx2.Headers([*headers, (b"content-type", b"application/json")])
    response.stream = DecompressedStream(unfolded, limit, refused)


class LimitedStream(httpx2.AsyncByteStream):
    """The raw body, up to its limit.

    cut: truncate it there instead of raising TooLong.
    """

    def __init__(self, stream: object, limit: int, cut: bool) -> None:
        assert isinstance(stream, httpx2.AsyncByteStream)
        self._stream, self._limit, self._cut = stream, limit, cut

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in _up_to(self._limit, self._cut, aiter(self._stream)):
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class DecompressedStream(httpx2.AsyncByteStream):
    """The decompressed body, up to its limit."""

    def __init__(self, response: httpx2.Response, limit: int, cut: bool) -> None:
        self._response, self._limit, self._cut = response, limit, cut

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async with aclosing(self._response.aiter_bytes()) as chunks:
            async for chunk in _up_to(self._limit, self._cut, chunks):
                yield chunk

    async def aclose(self) -> None:
        await self._response.aclose()


async def _up_to(limit: int, cut: bool, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    left = limit
    async for chunk in chunks:
        if len(chunk) > left and not cut:
            raise TooLong(f"it is longer than {limit:,} bytes")
        yield chunk[:left]
        left -= len(chunk)
        if left < 0:
            return
