"""Limits how much of a reply is read, however it is compressed.

A server may send endlessly, or send a megabyte that decompresses to gigabytes. Bytes are counted
before and after decompression, in chunks of at most a megabyte, and the connection is closed at the
first excess byte.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from contextvars import ContextVar

import httpx2

from gauntlet.common.errors import GauntletError
from gauntlet.models.api.ledger import Tokens

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
    kept = [
        (RENAMED.get(name.lower(), name), value)
        for name, value in response.headers.raw
        if name.lower() in KEPT
    ]
    response.headers = httpx2.Headers([*kept, (b"content-type", b"application/json")])
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
