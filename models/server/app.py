"""OpenAI's routes over a model of this machine: what comes in and goes out over HTTP.

    POST /v1/chat/completions   POST /v1/completions   GET /v1/models

Every error is one JSON object in OpenAI's form.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from common.errors import GauntletError

if TYPE_CHECKING:
    from models.server.served import Served

LONGEST = 1 << 24
"""Bytes of a request's body."""
HEARD = 4 * LONGEST
"""Bytes of a longer body that are still taken in and dropped: who is cut off while writing does not
see the error."""
REMEMBERED = 10_000
"""Replies that are kept for a request that comes again with the same Idempotency-Key."""
THREADS = 256
"""Requests that wait for the model at a time; it answers in one batch what waits together."""


def application(model: Served) -> Starlette:
    """The routes over one model."""
    routes = Routes(model)
    return Starlette(
        routes=[
            Route("/v1/models", routes.models),
            Route("/v1/models/{name}", routes.model),
            Route("/v1/chat/completions", routes.chat, methods=["POST"]),
            Route("/v1/completions", routes.completion, methods=["POST"]),
        ],
        exception_handlers={HTTPException: refused, Exception: broken},
        lifespan=routes.open,
    )


class Routes:
    """What stands behind each route."""

    def __init__(self, model: Served) -> None:
        self._model = model
        self._replies: OrderedDict[str, asyncio.Task[bytes]] = OrderedDict()
        self._threads = ThreadPoolExecutor(THREADS, "request")

    @asynccontextmanager
    async def open(self, _: Starlette) -> AsyncIterator[None]:
        yield
        self._threads.shutdown()

    async def models(self, _: Request) -> Response:
        return JSONResponse({"object": "list", "data": [self._listed()]})

    async def model(self, request: Request) -> Response:
        if request.path_params["name"] != self._model.name:
            raise HTTPException(404, f"there is nothing at {request.url.path}")
        return JSONResponse(self._listed())

    async def chat(self, request: Request) -> Response:
        return await self._answered(request, self._model.chat)

    async def completion(self, request: Request) -> Response:
        return await self._answered(request, self._model.completion)

    def _listed(self) -> dict[str, Any]:
        return {"id": self._model.name, "object": "model", "created": 0, "owned_by": "me"}

    async def _answered(
        self, request: Request, answer: Callable[[Mapping[str, Any]], dict[str, Any]]
    ) -> Response:
        data = await read(request)
        try:
            body = json.loads(data)
        except ValueError as error:
            raise HTTPException(400, f"the body is no JSON: {error}") from None
        if not isinstance(body, dict):
            raise HTTPException(400, "the body must be an object")
        if body.get("model") != self._model.name:
            raise HTTPException(404, f"the model {body.get('model')!r} does not exist")
        key = request.headers.get("idempotency-key")
        try:
            reply = await self._once(key, lambda: json.dumps(answer(body)).encode())
        except (GauntletError, ValueError) as error:
            raise HTTPException(400, str(error)) from None
        return Response(reply, media_type="application/json")

    async def _once(self, key: str | None, answer: Callable[[], bytes]) -> bytes:
        """The answer; to a key that came before, the one that was or is being given."""
        task = self._replies.get(key) if key is not None else None
        if task is None:
            task = asyncio.create_task(self._in_a_thread(answer))
            if key is not None:
                self._remember(key, task)
        # One asker that goes away takes the answer from no other.
        return await asyncio.shield(task)

    async def _in_a_thread(self, answer: Callable[[], bytes]) -> bytes:
        return await asyncio.get_running_loop().run_in_executor(self._threads, answer)

    def _remember(self, key: str, task: asyncio.Task[bytes]) -> None:
        self._replies[key] = task
        while len(self._replies) > REMEMBERED:
            self._replies.popitem(last=False)
        task.add_done_callback(lambda done: self._forget_failed(key, done))

    def _forget_failed(self, key: str, done: asyncio.Task[bytes]) -> None:
        if done.cancelled() or done.exception() is not None:
            self._replies.pop(key, None)


async def read(request: Request) -> bytes:
    """The body. Raises HTTPException with status 413 where it is too long."""
    data, length = bytearray(), 0
    async for chunk in request.stream():
        length += len(chunk)
        if length <= LONGEST:
            data += chunk
        elif length > HEARD:
            break
    if length > LONGEST:
        raise HTTPException(413, f"the body has {length} bytes or more; {LONGEST} are the most")
    return bytes(data)


async def refused(request: Request, error: Exception) -> Response:
    """An error in OpenAI's form."""
    assert isinstance(error, HTTPException)
    unknown = error.status_code == 404 and error.detail == "Not Found"
    said = f"there is nothing at {request.url.path}" if unknown else error.detail
    headers = dict(error.headers or {})
    if error.status_code == 413:  # what is left of the body is not read
        headers["connection"] = "close"
    return failure(error.status_code, said, headers)


async def broken(_: Request, error: Exception) -> Response:
    """A slip of the server's own; the server's log has all of it."""
    return failure(500, f"the server failed: {type(error).__name__}", {})


def failure(status: int, said: str, headers: Mapping[str, str]) -> Response:
    kind = "invalid_request_error" if status < 500 else "server_error"
    error = {"message": said, "type": kind, "param": None, "code": None}
    return JSONResponse({"error": error}, status, dict(headers))
