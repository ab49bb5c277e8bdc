"""`python -m models.server.serve`: a checkpoint of this machine behind OpenAI's protocol.

    POST /v1/chat/completions   POST /v1/completions   GET /v1/models

It listens on the loopback interface and knows no keys: whoever reaches it may use it.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from common.errors import ModelError

if TYPE_CHECKING:
    from models.server.served import Served

POCKET = "pkg:models/pocket/weights"
LONGEST = 1 << 24
"""Bytes of a request's body."""
REMEMBERED = 10_000
"""Replies that are kept for a request that comes again with the same Idempotency-Key."""


class Server(ThreadingHTTPServer):
    """Serves one model. A thread a connection; the model batches what they ask."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, model: Served, host: str, port: int, handler: type[BaseHTTPRequestHandler]
    ) -> None:
        self.model = model
        self._replies: OrderedDict[str, Future[bytes]] = OrderedDict()
        self._lock = threading.Lock()
        super().__init__((host, port), handler)

    @property
    def url(self) -> str:
        host, port = self.server_address[:2]
        return f"http://{host if isinstance(host, str) else host.decode()}:{port}/v1"

    def once(self, key: str | None, answer: Callable[[], bytes]) -> bytes:
        """The answer; to a key that came before, the one that was or is being given."""
        if key is None:
            return answer()
        with self._lock:
            known = self._replies.get(key)
            if known is None:
                future: Future[bytes] = Future()
                self._replies[key] = future
                while len(self._replies) > REMEMBERED:
                    self._replies.popitem(last=False)
        if known is not None:
            return known.result()
        try:
            future.set_result(answer())
        except BaseException as error:
            future.set_exception(error)
            with self._lock:
                self._replies.pop(key, None)
        return future.result()


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        listed = {"id": self.server.model.name, "object": "model", "created": 0, "owned_by": "me"}
        if self.path == "/v1/models":
            self.reply(200, {"object": "list", "data": [listed]})
        elif self.path == f"/v1/models/{self.server.model.name}":
            self.reply(200, listed)
        else:
            self.refuse(404, f"there is nothing at {self.path}")

    def do_POST(self) -> None:
        from models.server.served import Refused

        model = self.server.model
        routes = {"/v1/chat/completions": model.chat, "/v1/completions": model.completion}
        length = int(self.headers.get("Content-Length", 0))
        if length > LONGEST:
            self.close_connection = True
            self.refuse(413, f"the body has {length} bytes; {LONGEST} are the most")
            return
        data = self.rfile.read(length)
        route = routes.get(self.path)
        if route is None:
            self.refuse(404, f"there is nothing at {self.path}")
            return
        try:
            body = json.loads(data)
            if not isinstance(body, dict):
                raise Refused("the body must be an object")
            if body.get("model") != model.name:
                self.refuse(404, f"the model {body.get('model')!r} does not exist")
                return
            key = self.headers.get("Idempotency-Key")
            self.send(200, self.server.once(key, lambda: json.dumps(route(body)).encode()))
        except (Refused, ModelError, ValueError) as error:
            self.refuse(400, str(error))

    def refuse(self, status: int, message: str, **headers: str) -> None:
        """An error in OpenAI's form."""
        error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
        self.reply(status, {"error": error}, **headers)

    def reply(self, status: int, body: dict[str, Any], **headers: str) -> None:
        self.send(status, json.dumps(body).encode(), **headers)

    def send(self, status: int, data: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """No line a request."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Serves until it is interrupted. Returns the exit status: 0, or 2 for a user's mistake."""
    from models.server.served import Served

    options = _options(arguments)
    try:
        model = Served(options.path, options.name, options.dtype)
        server = Server(model, options.host, options.port, Handler)
    except (ModelError, OSError, OverflowError) as error:
        print(f"serve: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    print(f"model {options.name!r} at {server.url}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print("\nserve: closed", file=sys.stderr)
    finally:
        server.server_close()
        model.close()
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
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
