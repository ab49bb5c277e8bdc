"""Who may open the pages: a browser of whoever started them, and no page from elsewhere.

A page of any site may make a browser send requests here, and a name of that site may be made to
lead here too. Nor does a browser load anything from elsewhere for these pages. A request that does
not arrive whole in time is dropped.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Iterable
from typing import Any

import h11
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

OWN = ("localhost", "127.0.0.1", "::1")
POLICY = (
    "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""What a browser may load for a page: what this server has. NiceGUI's own scripts stand in its
pages and are compiled there."""


class Doors:
    """An application behind a check of Host and Origin, of requests and of live connections.

    hosts: names that are this server's beside the loopback ones and the address that a connection
    came to.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = ()) -> None:
        self.app = app
        self._hosts = {bare(host) for host in (*OWN, *hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("content-security-policy", POLICY)
                headers["referrer-policy"] = "no-referrer"
                headers["x-content-type-options"] = "nosniff"
            await send(message)

        if scope["type"] not in ("http", "websocket") or not (told := self._closed(scope)):
            await self.app(scope, receive, guarded)
        elif scope["type"] == "http":
            await PlainTextResponse(told[1], told[0])(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008, "reason": told[1]})

    def _closed(self, scope: Scope) -> tuple[int, str] | None:
        """The status and the words of a refusal."""
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if bare(host) not in {*self._hosts, bare(str(scope["server"][0]))}:
            return 421, f"the host {host!r} is not served here; --allow-host serves it"
        own = origin is None or origin.partition("://")[2] == host
        if not own or not (_same_site(headers) or _followed_link(scope, headers)):
            return 403, "pages that came from elsewhere may not ask here"
        return None


def _same_site(headers: Headers) -> bool:
    return headers.get("sec-fetch-site", "none") in ("none", "same-origin")


def _followed_link(scope: Scope, headers: Headers) -> bool:
    """Whether a person opens a page by a link that stands elsewhere."""
    asked = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest"))
    return scope.get("method") == "GET" and asked == ("navigate", "document")


def bare(host: str) -> str:
    """A host without its port, in one spelling; "" for what is none."""
    name, _, port = host.rpartition(":")
    if not name or not port.isdigit() or (":" in name and not name.endswith("]")):
        name = host
    name = name.strip("[]").lower().removesuffix(".")
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return name


MAX_CONNECTIONS = 256
REQUEST_SECONDS = 10.0
"""How long a request may take to arrive, from its first byte to its last."""
CLOSING_SECONDS = 1.0
"""How long the client may take to read the error."""
LATE = f"no whole request came in {REQUEST_SECONDS:g} seconds".encode()


class Connection(H11Protocol):
    """One connection, with a timer that runs while a request is expected or incomplete."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._timer: asyncio.TimerHandle | None = None
        self._upgraded = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._set_timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._upgraded:
            self._set_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._clear_timer()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """From here on another protocol has the connection."""
        self._upgraded = True
        self._clear_timer()
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._clear_timer()

    def _set_timer(self) -> None:
        """Starts the timer of an incomplete request, stops that of a complete one."""
        answering = self.cycle is not None and not self.cycle.response_complete
        if answering and not self.cycle.more_body:
            self._clear_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(REQUEST_SECONDS, self._give_up)

    def _clear_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        """Ends the connection, with an error unless an answer has begun."""
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            head = f"HTTP/1.1 408 Request Timeout\r\ncontent-length: {len(LATE)}\r\n"
            self.transport.write(head.encode() + b"connection: close\r\n\r\n" + LATE)
        self.transport.close()
        self.loop.call_later(CLOSING_SECONDS, self.transport.abort)
