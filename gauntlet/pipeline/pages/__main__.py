"""`python -m pipeline.pages [DIR]`: runs and matches in a browser, on this machine only."""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from gauntlet.common.errors import UserError, require
from gauntlet.common.process import as_process, invocation
from gauntlet.common.sanitize import visible
from gauntlet.pipeline.config.yaml_files import existing

PORT = 8050
CLOSING_SECONDS = 1
"""How long open pages may take to disconnect when the server stops."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until interrupted, then end the process. Returns 2 for a user error."""
    options = _options(arguments)
    try:
        require("nicegui", "pages")
        configs = existing(options.config_dir)
        listening = _listen(options.host, options.port)
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    import uvicorn

    from gauntlet.pipeline.pages.site import site  # slow to import: the port is checked first

    app = site(options.outputs, (options.host, *options.allow_host), configs)
    host, port = listening.getsockname()[:2]
    where = f"[{host}]" if ":" in host else host
    print(visible(f"pages on {options.outputs} at http://{where}:{port}"), flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        config = uvicorn.Config(
            app,
            ws="wsproto",
            log_level="error",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=CLOSING_SECONDS,
        )
        uvicorn.Server(config).run([listening])
    os._exit(0)  # threads that still read logs have nothing to write


def _listen(host: str, port: int) -> socket.socket:
    """Raises UserError if the address is not available."""
    if not 0 <= port < 1 << 16:
        raise UserError(f"--port {port}: 0 to 65535 are allowed, 0 takes a free one")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        why = (error.strerror or "no such address").partition(" (")[0]
        message = f"{host} port {port} is not available: {why}; --port 0 takes a free one"
        raise UserError(message) from error


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=invocation("pipeline.pages"),
        description="Runs and matches in a browser, on this machine alone.",
    )
    add = parser.add_argument
    add("outputs", nargs="?", type=Path, default=Path("outputs"), metavar="DIR", help="outputs/")
    add("--port", type=int, default=PORT, help="default: %(default)s; 0 takes a free one")
    add("--host", default="127.0.0.1", help="address to listen on, default: %(default)s")
    add(
        "--config-dir",
        action="append",
        default=[],
        type=Path,
        metavar="DIR",
        help="a further folder of configs, for games and players of your own",
    )
    add("--allow-host", action="append", default=[], metavar="NAME", help="a further name of it")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    as_process(main)
