"""Requests through the `openai` client, from one thread that awaits all of them.

A request has one timeout, from connecting to the last byte of its reply, so a server that sends a
byte now and then cannot stall a caller. Callers can be released at any moment.

The client's own retries are off: they give up on a Retry-After of more than two minutes and on
replies that are truncated or not JSON, and ignore what an attempt may have cost. Redirects are not
followed: prompts and key go only to the address that the user gave.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

import httpx2
import openai

from gauntlet.common.errors import GauntletError
from gauntlet.models.api.response_limits import LIMIT, OF_AN_ERROR, limit_response
from gauntlet.models.api.wire import Body, Endpoint

NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
"""Connection failures from before the request was sent."""
SLACK_SECONDS = 1.0
"""Added to the timeout of a whole request, so that the connect timeout fires first."""
LAST_SECONDS = 0.7
"""How long replies in flight may still arrive once the run ends."""

T = TypeVar("T")


class Cancelled(GauntletError):
    """The run ended before the reply arrived."""


class Sender:
    """Sends requests to one server, from any number of threads."""

    def __init__(self, base_url: str, key: str, timeout: float, connections: int) -> None:
        self._timeout = timeout
        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
        self._client = openai.AsyncOpenAI(
            base_url=base_url,
            api_key=key,
            timeout=timeout,
            max_retries=0,
            http_client=openai.DefaultAsyncHttpx2Client(
                limits=limits, follow_redirects=False, event_hooks={"response": [limit_response]}
            ),
        )
        self._over = False
        self._under_way: set[asyncio.Task[Any]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="sender")
        self._thread.start()

    def post(
        self, endpoint: Endpoint, body: Body, headers: Mapping[str, str], most_bytes: int
    ) -> bytes:
        """The body of the reply. Raises TooLong for a longer one, Cancelled, and the client's
        errors: a timeout, a failed connection or an error status."""
        route: Any = self._client.completions
        if endpoint == "chat":
            route = self._client.chat.completions

        async def send() -> bytes:
            LIMIT.set(most_bytes)
            raw = await route.with_raw_response.create(**body, extra_headers=headers)
            return bytes(raw.content)

        return self._waited_for(send())

    def models(self) -> list[str]:
        """The names of the server's models; [] if it does not list them."""

        async def look() -> list[str]:
            LIMIT.set(OF_AN_ERROR)
            page = await self._client.models.list()
            return [str(model.id) for model in page.data]

        try:
            return self._waited_for(look())
        except (openai.OpenAIError, GauntletError, ValueError, TypeError, AttributeError):
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
        asyncio.run_coroutine_threadsafe(self._client.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _waited_for(self, sending: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(self._in_time(sending), self._loop)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise Cancelled("the run ends") from None

    async def _in_time(self, sending: Coroutine[Any, Any, T]) -> T:
        task = asyncio.ensure_future(sending)
        self._under_way.add(task)
        if self._over:
            task.cancel()
        try:
            async with asyncio.timeout(self._timeout + SLACK_SECONDS):
                return await task
        except TimeoutError:
            raise openai.APITimeoutError(httpx2.Request("POST", self._client.base_url)) from None
        finally:
            self._under_way.discard(task)

    def _let_go(self) -> None:
        self._over = True
        for task in self._under_way:
            task.cancel()
