"""Who may open the pages: a browser of whoever started them, and no page from elsewhere.

A page of any site may make a browser send requests here, and a name of that site may be made to
lead here too. Nor does a browser load anything from elsewhere for these pages.
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
