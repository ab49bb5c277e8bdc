"""`python -m models.server.serve`: a checkpoint of this machine behind OpenAI's protocol.

It listens on the loopback interface and knows no keys: whoever reaches it may use it.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import socket
import sys
from collections.abc import Sequence

import uvicorn
from starlette.types import ASGIApp

from common.errors import ModelError
from models.server.app import application
from models.server.connection import LAST_SECONDS, Connection

POCKET = "pkg:models/pocket/weights"
BACKLOG = 128
IDLE_SECONDS = 60
"""How long an unused connection stays open: longer than clients keep theirs, so that none sends a
request just as it is closed."""


class Server:
    """An application at an address. It can be reached once this is made, and answers in `run`."""

    def __init__(self, app: ASGIApp, host: str, port: int) -> None:
        """port: 0 for a free one. Raises OSError where it cannot be had."""
        if not 0 <= port < 1 << 16:
            raise OSError(f"port {port}: 0 to 65535 are allowed")
        self._socket = socket.create_server((host, port), backlog=BACKLOG)
        self.url = "http://{}:{}/v1".format(*self._socket.getsockname())
        config = uvicorn.Config(
            app,
            http=Connection,
            ws="none",
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=math.ceil(2 * LAST_SECONDS),
            backlog=BACKLOG,
            log_config=None,
            log_level="error",
            access_log=False,
        )
        self._server = uvicorn.Server(config)

    def run(self) -> None:
        """Answers until `stop`, Ctrl-C or SIGTERM; what came by then is answered first if that
        takes no longer than LAST_SECONDS, and a second Ctrl-C does not wait for that. The signal
        is raised again at the end."""
        self._server.run([self._socket])

    def stop(self) -> None:
        """Ends `run`, from any thread."""
        self._server.should_exit = True


def main(arguments: Sequence[str] | None = None) -> int:
    """Serves until it is interrupted. Returns the exit status: 0, or 2 for a user's mistake."""
    from models.server.served import Served

    options = _options(arguments)
    try:
        model = Served(options.path, options.name, options.dtype)
        app = application(model, (options.host, socket.gethostname(), *options.allow_host))
        server = Server(app, options.host, options.port)
    except (ModelError, OSError) as error:
        print(f"serve: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    print(f"model {options.name!r} at {server.url}", flush=True)
    with contextlib.suppress(KeyboardInterrupt), contextlib.closing(model):
        server.run()  # raises it again or returns: that depends on when it came
    print("\nserve: closed", file=sys.stderr)
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m models.server.serve", description="A checkpoint behind OpenAI's protocol."
    )
    parser.add_argument("path", nargs="?", default=POCKET, help="folder or hub name of the model")
    parser.add_argument("--name", default="pocket", help="what clients call it")
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16", "float16"))
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a further name that clients call this machine by; may be given again",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # nothing is left to write; to take the libraries apart takes seconds
