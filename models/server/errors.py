"""Every error as one JSON object in OpenAI's form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus

from starlette.responses import Response

from common.foreign import one_line

RETRY = {"retry-after": "1"}
"""Of a server that is full: its answers take about so long."""


def failure(
    status: int,
    said: str,
    headers: Mapping[str, str],
    param: str | None = None,
    code: str | None = None,
) -> Response:
    """The error as a reply. Whoever sees one has perhaps not sent all of a body, so the connection
    ends with it where a limit was passed."""
    if status in (403, 413, 421, 429, 503):
        headers = {**headers, "connection": "close"}
    body = _body(status, said, param, code)
    return Response(body, status, dict(headers), media_type="application/json")


def raw_failure(status: int, said: str, headers: Mapping[str, str]) -> bytes:
    """The same as bytes, for a connection on which no request can be read; it ends with it."""
    body = _body(status, said, None, None)
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        *(f"{name}: {value}" for name, value in headers.items()),
        *("content-type: application/json", f"content-length: {len(body)}", "connection: close"),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _body(status: int, said: str, param: str | None, code: str | None) -> bytes:
    kind = "invalid_request_error" if status < 500 else "server_error"
    kind = "rate_limit_error" if status == 429 else kind
    told = None if param is None else one_line(param, 100)
    error = {"message": one_line(said), "type": kind, "param": told, "code": code}
    return json.dumps({"error": error}).encode()
