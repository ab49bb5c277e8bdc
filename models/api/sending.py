"""Requests over the `openai` client, from one thread that waits for all of them at once.

A request has one limit of time, from connecting to the last byte of its reply: a server that sends
a byte now and then holds nobody for longer. Whoever waits can be let go at any moment.

The client's own retries are off: they give up on a Retry-After of more than two minutes and on a
reply that is cut or no JSON, and know nothing of what an attempt may have cost. It follows no
redirection: prompts and key go to the address that the user named.
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
from gauntlet.models.api.response_limits import LIMIT, OF_AN_ERROR, bound
from gauntlet.models.api.wire import Body, Endpoint

NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
"""Connections that failed before the request left."""
SLACK_SECONDS = 1.0
"""Added to the limit of a whole request: one that cannot connect is told by a limit of its own."""
LAST_SECONDS = 0.7
"""How long replies under way may still come in once the run ends."""

T = TypeVar("T")


class Cancelled(GauntletError):
    """The run ended before the reply was there."""


class Sender:
    """Sends to one server, for any number of threads."""

    def __init__(self, base_url: str, key: str, timeout: float, connections: int) -> None:
        self._timeout = timeout
        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
        self._client = openai.AsyncOpenAI(
            base_url=base_url,
            api_key=key,
            timeout=timeout,
            max_retries=0,
            http_client=openai.DefaultAsyncHttpx2Client(
                limits=limits, follow_redirects=False, event_hooks={"response": [bound]}
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
        """The body of the reply. Raises TooLong for one of more bytes, Cancelled, and what the
        client does: a timeout, a connection that failed, or the error of a status."""
        route: Any = self._client.completions
        if endpoint == "chat":
            route = self._client.chat.completions

        async def send() -> bytes:
            LIMIT.set(most_bytes)
            raw = await route.with_raw_response.create(**body, extra_headers=headers)
            return bytes(raw.content)

        return self._waited_for(send())

    def models(self) -> list[str]:
        """The names of the server's models, as it lists them; none where it does not."""

        async def look() -> list[str]:
            LIMIT.set(OF_AN_ERROR)
            page = await self._client.models.list()
            return [str(model.id) for model in page.data]

        try:
            return self._waited_for(look())
        except (openai.OpenAIError, GauntletError, ValueError, TypeError, AttributeError):
            return []

    def cancel(self) -> None:
        """Lets go of all that is not there in LAST_SECONDS."""
        if self._loop.is_closed():
            return
        self._loop.call_soon_threadsafe(self._loop.call_later, LAST_SECONDS, self._let_go)

    def close(self) -> None:
        """Nothing may be under way."""
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
