"""An HTTP connection of uvicorn that drops requests which do not arrive whole in time."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

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
