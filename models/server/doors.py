"""Who may ask: a client that means this server, and no page of a browser that came from elsewhere.

A page of any site may make a browser send requests here, and a name of that site may be made to
lead here too. The first shows in the header Origin, the second in Host.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from models.server.errors import failure

OWN = ("localhost", "127.0.0.1", "::1")


class Doors:
    """An application behind a check of Host and Origin.

    hosts: names that are this server's beside OWN and the address that a connection came to.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = ()) -> None:
        self._app = app
        self._hosts = {bare(host) for host in (*OWN, *hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (told := self._closed(scope)):
            await failure(*told, {})(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _closed(self, scope: Scope) -> tuple[int, str] | None:
        """The status and the words of a refusal."""
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if bare(host) not in {*self._hosts, bare(str(scope["server"][0]))}:
            return 421, f"the host {host!r} is not served here; --allow-host serves it"
        site = headers.get("sec-fetch-site", "none")
        if origin not in (None, f"{scope['scheme']}://{host}") or site not in (
            "none",
            "same-origin",
        ):
            return 403, "pages of browsers that came from elsewhere are not served"
        return None


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
