"""No more of a reply is read than can be meant, however it is compressed.

A server may send without end, or a megabyte that unfolds to gigabytes. What comes is counted before
and after it is unfolded, a piece of a megabyte at most at a time, and the connection is closed
at the first byte too many.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from contextvars import ContextVar

import httpx2

from gauntlet.common.errors import GauntletError
from gauntlet.models.api.ledger import Tokens

SPARE = 1 << 20
"""Bytes of a reply beside its texts: log-probabilities of a token, counts, names."""
A_TOKEN = 256
"""Bytes of a written token: the longest spaces of any known tokenizer, or forty letters that JSON
spells by their numbers; four are usual."""
OF_AN_ERROR = 1 << 16
"""Bytes of a refusal that are read; what follows is dropped."""
KEPT = (b"retry-after", b"retry-after-ms", b"location")
"""Of a reply's headers, as bytes: a server may send any. The others say how to read it, and a name
of a compression in the place of a character set is one more way to unfold it."""
REDIRECTED = "x-redirected"
"""Where the address stands that a redirection names, so that nobody follows it."""
RENAMED = {b"location": REDIRECTED.encode()}

LIMIT: ContextVar[int] = ContextVar("limit", default=SPARE)
"""The most bytes of the reply to the request that this task sends."""


class TooLong(GauntletError):
    """A reply has more bytes than it can need."""


def most_bytes(most: Tokens) -> int:
    """Of the reply to a request that may write so much."""
    return SPARE + A_TOKEN * most.written


async def bound(response: httpx2.Response) -> None:
    """A hook of the client: the reply's body raises TooLong where it has more than LIMIT bytes, and
    that of an error ends early."""
    refused = response.status_code >= 300
    limit = OF_AN_ERROR if refused else LIMIT.get()
    raw = Within(response.stream, limit, refused)
    unfolded = httpx2.Response(response.status_code, headers=response.headers, stream=raw)
    kept = [
        (RENAMED.get(name.lower(), name), value)
        for name, value in response.headers.raw
        if name.lower() in KEPT
    ]
    response.headers = httpx2.Headers([*kept, (b"content-type", b"application/json")])
    response.stream = Unfolded(unfolded, limit, refused)


class Within(httpx2.AsyncByteStream):
    """A body as it comes over the wire, up to its limit. cut: it ends there and raises nothing."""

    def __init__(self, stream: object, limit: int, cut: bool) -> None:
        assert isinstance(stream, httpx2.AsyncByteStream)
        self._stream, self._limit, self._cut = stream, limit, cut

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in _up_to(self._limit, self._cut, aiter(self._stream)):
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class Unfolded(httpx2.AsyncByteStream):
    """The body of a reply without its compression, up to its limit."""

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
