"""Access control for the pages: only the user's browser, and no requests from other sites.

Any web page may make a browser send requests here, or point a host name of its site here (DNS
rebinding). The pages in turn load nothing from other servers. Requests that do not arrive
completely in time are dropped.
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
"""The content security policy: only resources of this server. NiceGUI's scripts are inline and
compiled in the page."""


class OriginCheck:
    """Middleware that checks Host and Origin of requests and live connections.

    hosts: names of this server besides the loopback ones and the address that a connection came to.
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

        if scope["type"] not in ("http", "websocket") or not (refusal := self._closed(scope)):
            await self.app(scope, receive, guarded)
        elif scope["type"] == "http":
            await PlainTextResponse(refusal[1], refusal[0])(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008, "reason": refusal[1]})

    def _closed(self, scope: Scope) -> tuple[int, str] | None:
        """The status and message of a refusal, or None."""
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
    asked = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest"))
    return scope.get("method") == "GET" and asked == ("navigate", "document")


def bare(host: str) -> str:
    """A host without its port, normalised; "" if there is none."""
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
"""Time limit for a request to arrive, from its first byte to its last."""
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
        """Hands the connection to another protocol."""
        self._upgraded = True
        self._clear_timer()
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._clear_timer()

    def _set_timer(self) -> None:
        """Start the timer of an incomplete request, stop that of a complete one."""
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
        """Close the connection, with an error unless a response has begun."""
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            head = f"HTTP/1.1 408 Request Timeout\r\ncontent-length: {len(LATE)}\r\n"
            self.transport.write(head.encode() + b"connection: close\r\n\r\n" + LATE)
        self.transport.close()
        self.loop.call_later(CLOSING_SECONDS, self.transport.abort)
