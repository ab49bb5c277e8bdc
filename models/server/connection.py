"""A connection that nobody can hold for nothing: uvicorn's, with limits of its own.

Whoever sends a request by half, or none, has so many seconds; where all connections are taken, the
one that has sent nothing whole for longest makes room. Neither costs more than an open socket.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from models.server.errors import RETRY, raw_failure

MOST = 256
"""Connections at a time."""
WHOLE_SECONDS = 10.0
"""How long a request may take to come, from its first byte to its last."""
LAST_SECONDS = 1.0
"""How long requests under way may still be answered once the server is to end, and a last word may
take to be read."""


class Connection(H11Protocol):
    """One connection. Whatever goes wrong with it is told in OpenAI's form."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._late: asyncio.TimerHandle | None = None
        self._upgraded = False
        self._since: float | None = None
        """Since when it is without a whole request."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MOST and not self._make_room():
            self._tell(503, f"all of {MOST} connections are taken", RETRY)
        else:
            self._expect()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._upgraded:
            self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._rest()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """From here on the connection is a live one, and another protocol's."""
        self._upgraded = True
        self._rest()
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._rest()
        self._since = self.loop.time()

    def timeout_keep_alive_handler(self) -> None:
        """Idle for too long, or the last answer is not taken away."""
        self.transport.abort()

    def shutdown(self) -> None:
        """What is under way is answered if that takes no longer than LAST_SECONDS."""
        if not self.transport.is_closing():
            super().shutdown()
            self.loop.call_later(LAST_SECONDS, self._tell, 503, "the server ends", {})

    def send_400_response(self, msg: str) -> None:
        self._tell(400, msg, {})

    def _make_room(self) -> bool:
        """Ends the connection that has had no whole request for longest, if there is one."""
        waiting = {
            other: other._since
            for other in self.connections
            if isinstance(other, Connection) and other._since is not None
        }
        if waiting:
            oldest = min(waiting, key=lambda other: waiting[other])
            oldest._rest()
            oldest.transport.abort()
        return bool(waiting)

    def _expect(self) -> None:
        """Starts the clock of a request that is not whole, stops that of one that is."""
        answering = self.cycle is not None and not self.cycle.response_complete
        if answering and not self.cycle.more_body:
            self._rest()
        elif self._late is None:
            self._since = self.loop.time()
            late: tuple[int, str, dict[str, str]]
            late = (408, f"no whole request came in {WHOLE_SECONDS:g} seconds", {})
            self._late = self.loop.call_later(WHOLE_SECONDS, self._tell, *late)

    def _rest(self) -> None:
        self._since = None
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _tell(self, status: int, said: str, headers: dict[str, str]) -> None:
        """Says so, unless an answer has begun, and ends the connection."""
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            self.transport.write(raw_failure(status, said, headers))
        self.transport.close()
        self.loop.call_later(LAST_SECONDS, self.transport.abort)
