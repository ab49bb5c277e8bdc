"""A server with the batch jobs of OpenAI and Anthropic, written from the vendors' references."""

from __future__ import annotations

import email
import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gauntlet.models.api.dialects.base import strings
from tests.vendors import VENDORS, Body, Piece

DATE = "2026-11-25T10:00:00Z"
Fate = Callable[[int, int, Body], str]
"""What becomes of a request, by the number of its job, its place in it and its body: "" is a reply,
others are expired, canceled, missing or a status."""


@dataclass
class Job:
    number: int
    requests: list[tuple[str, Body]]
    endpoint: str = ""
    looks: int = 0
    fetched: int = 0

    @property
    def name(self) -> str:
        return f"job_{self.number}"


@dataclass
class BatchServer:
    """endpoint: of VENDORS. answer: a reply to a body. fate: of requests in jobs.

    done: jobs end at the first look at which it is set. faults: statuses for the next requests
    whose path begins with the given text; 0 takes the request and cuts the reply. pad: spaces in
    results. broken: why jobs fail. alone: bodies that came outside jobs.
    """

    endpoint: str
    answer: Callable[[Body], Body]
    fate: Fate = lambda job, place, body: ""
    key: str = ""
    done: threading.Event = field(default_factory=threading.Event)
    faults: list[tuple[str, int]] = field(default_factory=list)
    pad: int = 0
    broken: str = ""
    jobs: dict[str, Job] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    alone: list[Body] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def times(self) -> Counter[str]:
        """How often each request came in a job."""
        return Counter(key for job in self.jobs.values() for key, _ in job.requests)

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/v1/{path:path}", self._serve, methods=["GET", "POST"])])

    async def _serve(self, request: Request) -> Response:
        data = await request.body()
        with self.lock:
            path: str = request.path_params["path"]
            if request.headers.get("authorization") != f"Bearer {self.key}":
                return self._error(401, "wrong key")
            if self.faults and path.startswith(self.faults[0][0]):
                _, status = self.faults.pop(0)
                if status:
                    return self._error(status, "slower", {"retry-after-ms": "50"})
                self._reply(request, path, data)
                return Response(b"{", media_type="application/json")
            return self._reply(request, path, data)

    def _reply(self, request: Request, path: str, data: bytes) -> Response:
        vendor = VENDORS[self.endpoint]
        if request.method == "POST" and path == vendor.path:
            self.alone.append(json.loads(data))
            return JSONResponse(self.answer(json.loads(data)))
        if vendor.key == "ANTHROPIC_API_KEY":
            return self._anthropic(request.method, path, data)
        return self._openai(request, path, data)

    def _openai(self, request: Request, path: str, data: bytes) -> Response:
        match request.method, *path.split("/"):
            case "POST", "files":
                head = f"content-type: {request.headers['content-type']}\r\n\r\n".encode()
                parts = email.message_from_bytes(head + data).get_payload()
                fields = {
                    str(one.get_param("name", header="content-disposition")): one.get_payload(
                        decode=True
                    )
                    for one in parts  # type: ignore[union-attr]
                }
                assert fields["purpose"] == b"batch"
                name = f"file-{len(self.files)}"
                self.files[name] = fields["file"]  # type: ignore[assignment]
                size, about = len(self.files[name]), {"created_at": 1, "status": "processed"}
                about |= {"object": "file", "purpose": "batch", "filename": "batch.jsonl"}
                return JSONResponse({"id": name, "bytes": size, **about})
            case "POST", "batches":
                asked = json.loads(data)
                assert asked["completion_window"] == "24h"
                requests = []
                for line in self.files[asked["input_file_id"]].decode().split("\n")[:-1]:
                    one = json.loads(line)
                    assert (one["method"], one["url"]) == ("POST", asked["endpoint"])
                    requests.append((one["custom_id"], one["body"]))
                return JSONResponse(self._batch(self._new(requests, asked["endpoint"])))
            case "GET", "batches", name if name in self.jobs:
                self.jobs[name].looks += 1
                return JSONResponse(self._batch(self.jobs[name]))
            case "GET", "files", name, "content" if name.partition("-")[2] in self.jobs:
                kind, _, job = name.partition("-")
                return self._lines(self.jobs[job], kind == "errors")
        return self._error(404, f"no {path}")

    def _batch(self, job: Job) -> Body:
        over = job.looks > 0 and self.done.is_set()
        status = "completed" if over else "in_progress"
        fates = [self._fate(job, place) for place in range(len(job.requests))]
        status = "expired" if over and "expired" in fates else status
        state: Body = {"id": job.name, "object": "batch", "endpoint": job.endpoint}
        state |= {"completion_window": "24h", "created_at": 1, "input_file_id": "file-0"}
        if over and self.broken:
            error = {"code": "invalid_request", "message": self.broken, "line": 1, "param": None}
            return {**state, "status": "failed", "errors": {"object": "list", "data": [error]}}
        if over:
            state["output_file_id"] = f"output-{job.name}" if "" in fates else None
            state["error_file_id"] = f"errors-{job.name}" if any(fates) else None
        return {**state, "status": status, "errors": None}

    def _anthropic(self, method: str, path: str, data: bytes) -> Response:
        match method, *path.split("/")[2:]:
            case ("POST",):
                asked = json.loads(data)["requests"]
                assert all(set(one) == {"custom_id", "params"} for one in asked)
                requests = [(one["custom_id"], one["params"]) for one in asked]
                return JSONResponse(self._message_batch(self._new(requests, "")))
            case "GET", name if name in self.jobs:
                self.jobs[name].looks += 1
                return JSONResponse(self._message_batch(self.jobs[name]))
            case "GET", name, "results" if name in self.jobs:
                return self._lines(self.jobs[name], None)
        return self._error(404, f"no {path}")

    def _message_batch(self, job: Job) -> Body:
        over = job.looks > 0 and self.done.is_set()
        counts = dict.fromkeys(("canceled", "errored", "expired", "processing", "succeeded"), 0)
        state: Body = {"id": job.name, "type": "message_batch", "created_at": DATE}
        state |= {"expires_at": DATE, "request_counts": counts, "archived_at": None}
        elsewhere = f"http://elsewhere/v1/messages/batches/{job.name}/results"
        state |= {"ended_at": DATE if over else None, "results_url": elsewhere if over else None}
        return {**state, "processing_status": "ended" if over else "in_progress"}

    def _new(self, requests: list[tuple[str, Body]], endpoint: str) -> Job:
        job = Job(len(self.jobs), requests, endpoint)
        assert all(len(key) == 64 for key, _ in requests)
        assert len(dict(requests)) == len(requests)
        self.jobs[job.name] = job
        return job

    def _fate(self, job: Job, place: int) -> str:
        return self.fate(job.number, place, job.requests[place][1])

    def _lines(self, job: Job, errors: bool | None) -> Response:
        """The results, last first. errors: only those that failed, or not; None for all."""
        job.fetched += 1
        lines = [b"", b"{", b'{"custom_id": 7}', b" " * self.pad]
        for place in reversed(range(len(job.requests))):
            fate, (key, body) = self._fate(job, place), job.requests[place]
            if fate != "missing" and errors in (None, bool(fate)):
                make = self.result if errors is None else self._line
                lines.append(json.dumps({"custom_id": key, **make(fate, body)}).encode())
        return Response(b"\n".join(lines) + b"\n", media_type="application/binary")

    def _line(self, fate: str, body: Body) -> Body:
        """What OpenAI says of one request."""
        if fate in ("expired", "canceled"):
            error = {"code": f"batch_{fate}", "message": "it took too long"}
            return {"id": "r", "response": None, "error": error}
        status = int(fate or 200)
        said = VENDORS[self.endpoint].error("a bad prompt", status) if fate else self.answer(body)
        response = {"status_code": status, "request_id": "x", "body": said}
        return {"id": "r", "response": response, "error": None}

    def result(self, fate: str, body: Body) -> Body:
        """What Anthropic says of one request."""
        if fate in ("expired", "canceled"):
            return {"result": {"type": fate}}
        if fate:
            kind = {"400": "invalid_request_error"}.get(fate, "api_error")
            error = VENDORS[self.endpoint].error("a bad prompt", int(fate), kind)
            return {"result": {"type": "errored", "error": {**error, "request_id": "x"}}}
        return {"result": {"type": "succeeded", "message": self.answer(body)}}

    def _error(self, status: int, message: str, headers: dict[str, str] | None = None) -> Response:
        return JSONResponse(VENDORS[self.endpoint].error(message, status), status, headers)


def echo(endpoint: str) -> Callable[[Body], Body]:
    """Replies whose text is a function of all that was asked."""

    def answer(body: Body) -> Body:
        asked = " ".join(sorted(strings({**body, "prompt_cache_key": ""})))
        text = hashlib.sha256(asked.encode()).hexdigest()[:8]
        made: Any = VENDORS[endpoint].reply
        return dict(made(Piece((text,)), body["n"]) if "n" in body else made(Piece((text,))))

    return answer


def until(happens: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait for something. Raises AssertionError if it does not happen."""
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
