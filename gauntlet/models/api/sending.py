"""Sends requests, from one thread that awaits all of them.

A whole reply has one timeout, from connecting to its last byte, so a server that sends a byte now
and then cannot stall a caller; a stream has a deadline, and a timeout between its bytes. Callers
can be released at any moment. Redirects are not followed: prompts and key go only to the address
that the user gave.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import os
import threading
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

import httpx2

from gauntlet.common.errors import GauntletError, ModelError
from gauntlet.models.api.response_limits import LIMIT, OF_AN_ERROR, limit_response

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
    """A server's response: status, the headers that `response_limits` keeps, and body."""

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
