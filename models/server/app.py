"""OpenAI's routes over a model of this machine: what comes in and goes out over HTTP.

    POST /v1/chat/completions   POST /v1/completions   GET /v1/models

Every error is one JSON object in OpenAI's form.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from common.errors import GauntletError
from models.server.asked import Refused
from models.server.batches import Busy, Left, Ticket
from models.server.doors import Doors
from models.server.errors import RETRY, failure

if TYPE_CHECKING:
    from models.server.served import Served

LONGEST = 1 << 21
"""Bytes of a request's body: half a million tokens."""
HEARD = 4 * LONGEST
"""Bytes of a longer body that are still taken in and dropped: who is cut off while writing does not
see the error."""
MOST, MOST_OF_ONE = 192, 96
"""Requests under way at a time, of all and of one client; each has a thread that waits."""
REMEMBERED, REMEMBERED_BYTES = 10_000, 1 << 26
"""Replies, and their bytes, that are kept for a request that comes again with the same
Idempotency-Key."""
LINGER_SECONDS = 5.0
"""How long a request with such a key is worked on once its asker is gone: it may come again."""

Answer = Callable[[Mapping[str, Any], Ticket], dict[str, Any]]


def application(model: Served, hosts: Iterable[str] = ()) -> Starlette:
    """The routes over one model; hosts: further names of this server."""
    routes = Routes(model)
    return Starlette(
        routes=[
            Route("/v1/models", routes.models),
            Route("/v1/models/{name}", routes.model),
            Route("/v1/chat/completions", routes.chat, methods=["POST"]),
            Route("/v1/completions", routes.completion, methods=["POST"]),
        ],
        middleware=[Middleware(Doors, hosts=hosts)],
        exception_handlers={HTTPException: refused, Refused: unfit, Exception: broken},
        lifespan=routes.open,
    )


@dataclass(eq=False)
class Asked:
    """A request under way or answered, and how many wait for it."""

    ticket: Ticket
    task: asyncio.Task[bytes]
    waiting: int = 0


class Routes:
    """What stands behind each route."""

    def __init__(self, model: Served) -> None:
        self._model = model
        self._replies: OrderedDict[bytes, Asked] = OrderedDict()
        self._kept_bytes = 0
        self._under_way: set[Asked] = set()
        self._threads = ThreadPoolExecutor(MOST, "request")

    @asynccontextmanager
    async def open(self, _: Starlette) -> AsyncIterator[None]:
        yield
        for asked in self._under_way:
            self._model.leave(asked.ticket)
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

    async def _answered(self, request: Request, answer: Answer) -> Response:
        try:
            data = await read(request)
            body = parsed(data)
            if body.get("model") != self._model.name:
                said = f"the model {body.get('model')!r} does not exist"
                raise Refused(said, "model", "model_not_found")
            key = request.headers.get("idempotency-key")
            name = None if key is None else hashlib.sha256(key.encode() + b"\n" + data).digest()
            asked = self._replies.get(name) if name is not None else None
            if asked is None:
                asked = self._begun(name, Ticket(client_of(request)), answer, body)
            return Response(await self._waited(asked, name, request), media_type="application/json")
        except Busy as error:
            raise HTTPException(429, str(error), RETRY) from None
        except Left:
            raise HTTPException(503, "the request was given up", RETRY) from None
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        except Refused:
            raise
        except (GauntletError, ValueError) as error:
            raise HTTPException(400, str(error)) from None

    def _begun(
        self, name: bytes | None, ticket: Ticket, answer: Answer, body: Mapping[str, Any]
    ) -> Asked:
        """The request, given to a thread. Raises HTTPException where too much is under way."""
        busy = Counter(asked.ticket.client for asked in self._under_way)
        if busy.total() >= MOST:
            raise HTTPException(503, f"{MOST} requests are under way already", RETRY)
        if busy[ticket.client] >= MOST_OF_ONE:
            raise HTTPException(429, f"{MOST_OF_ONE} of your requests are under way", RETRY)
        loop = asyncio.get_running_loop()

        async def run() -> bytes:
            told = await loop.run_in_executor(self._threads, answer, body, ticket)
            return json.dumps(told).encode()

        asked = Asked(ticket, asyncio.create_task(run()))
        self._under_way.add(asked)
        asked.task.add_done_callback(lambda _: self._done(name, asked))
        if name is not None:
            self._replies[name] = asked
        return asked

    async def _waited(self, asked: Asked, name: bytes | None, request: Request) -> bytes:
        """The answer. Raises ClientDisconnect where the client goes first: the work then ends too,
        but one asker that goes away takes the answer from no other."""
        asked.waiting += 1
        going = asyncio.create_task(gone(request))
        try:
            await asyncio.wait({asked.task, going}, return_when=asyncio.FIRST_COMPLETED)
            if asked.task.done():
                return asked.task.result()
            raise ClientDisconnect
        finally:
            going.cancel()
            asked.waiting -= 1
            linger = LINGER_SECONDS if name is not None else 0.0
            asyncio.get_running_loop().call_later(linger, self._give_up, asked)

    def _give_up(self, asked: Asked) -> None:
        """Ends work that nobody waits for."""
        if not asked.waiting and not asked.task.done():
            self._model.leave(asked.ticket)

    def _done(self, name: bytes | None, asked: Asked) -> None:
        """Remembers the answer for a while, if it has a name and is one."""
        self._under_way.discard(asked)
        failed = asked.task.cancelled() or asked.task.exception() is not None
        if name is None:
            return
        if failed:
            self._replies.pop(name, None)
            return
        self._kept_bytes += len(asked.task.result())
        while len(self._replies) > REMEMBERED or self._kept_bytes > REMEMBERED_BYTES:
            oldest = next(iter(self._replies.values()))
            if not oldest.task.done():
                return
            self._replies.popitem(last=False)
            self._kept_bytes -= len(oldest.task.result())


def parsed(data: bytes) -> dict[str, Any]:
    """The body as data. Raises HTTPException with status 400."""
    try:
        body = msgspec.json.decode(data)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"the body is no JSON: {error}") from None
    if not isinstance(body, dict):
        raise HTTPException(400, "the body must be an object")
    return body


def client_of(request: Request) -> str:
    """Who has a fair part of its own: a key of one address."""
    host = request.client.host if request.client else ""
    return f"{host} {request.headers.get('authorization', '')}"


async def gone(request: Request) -> None:
    """Returns once the client has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def read(request: Request) -> bytes:
    """The body. Raises HTTPException with status 413 where it is too long; a body that is announced
    so long that nobody would hear it to its end is told so at once."""
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > HEARD:
        raise too_long(int(announced))
    data, length = bytearray(), 0
    async for chunk in request.stream():
        length += len(chunk)
        if length <= LONGEST:
            data += chunk
        elif length > HEARD:
            break
    if length > LONGEST:
        raise too_long(length)
    return bytes(data)


def too_long(length: int) -> HTTPException:
    said = f"the body has {length} bytes or more; {LONGEST} are the most"
    return HTTPException(413, said)


async def refused(request: Request, error: Exception) -> Response:
    """An error in OpenAI's form."""
    assert isinstance(error, HTTPException)
    unknown = error.status_code == 404 and error.detail == "Not Found"
    said = f"there is nothing at {request.url.path}" if unknown else error.detail
    return failure(error.status_code, said, error.headers or {})


async def unfit(_: Request, error: Exception) -> Response:
    """A request that can be read, and not answered as it is."""
    assert isinstance(error, Refused)
    status = 404 if error.code == "model_not_found" else 400
    return failure(status, str(error), {}, error.param, error.code)


async def broken(_: Request, error: Exception) -> Response:
    """A slip of the server's own; the server's log has all of it. uvicorn ends the connection after
    it, so the client is told: one that asked again over it would be cut off."""
    return failure(500, f"the server failed: {type(error).__name__}", {"connection": "close"})
