"""Access control for the pages: only the user's browser, and no requests from other sites.

Any web page may make a browser send requests here, or point a host name of its site here (DNS
rebinding). The pages in turn load nothing from other servers.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
