"""The batch jobs of OpenAI and Anthropic: many requests at half price, answered within a day.

Pure: requests to a server as calls, and what its replies say. All functions that read a reply
raise ValueError, KeyError, TypeError or AttributeError if it lacks a required part.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from gauntlet.models.api.refusals import Failure, failure
from gauntlet.models.api.sending import Call

NAME = re.compile(r"[\w-]{1,200}", re.ASCII)
"""Names of jobs and files, which become parts of addresses."""


@dataclass(frozen=True)
class JobOutcome:
    """A job that is over.

    results: where its results are.
    failed: why none of its requests was accepted.
    """

    results: tuple[str, ...]
    failed: Failure | None = None


@dataclass(frozen=True)
class Result:
    """The result of the request `key`: a reply of the model, or an error, which is not billed."""

    key: str
    reply: Mapping[str, Any] | None
    failed: Failure | None = None


class OpenAIJobs:
    """v1/batches, over a file of requests; results come in two files, one of them for errors.

    MOST_REQUESTS, MOST_BYTES: of a job.
    """

    MOST_REQUESTS: ClassVar = 50_000
    MOST_BYTES: ClassVar = 200_000_000

    def line(self, key: str, path: str, body: Mapping[str, Any]) -> bytes:
        """A request as a part of a job. path: where it would go alone."""
        request = {"custom_id": key, "method": "POST", "url": f"/v1/{path}", "body": body}
        return _json(request) + b"\n"

    def upload(self, lines: list[bytes]) -> Call | None:
        """What is sent before the job, if anything."""
        bound = uuid.uuid4().hex
        part = f'--{bound}\r\nContent-Disposition: form-data; name="'
        purpose = f'{part}purpose"\r\n\r\nbatch\r\n'
        file = f'{part}file"; filename="batch.jsonl"\r\nContent-Type: application/jsonl\r\n\r\n'
        content = b"".join([(purpose + file).encode(), *lines, f"\r\n--{bound}--\r\n".encode()])
        return Call("files", content, {"content-type": f"multipart/form-data; boundary={bound}"})

    def create(self, lines: list[bytes], path: str, file: str) -> Call:
        """file: the server's name for what `upload` sent."""
        body = {"input_file_id": file, "completion_window": "24h"}
        return Call.json("batches", {**body, "endpoint": f"/v1/{path}"})

    def look(self, job: str) -> Call:
        return Call(f"batches/{job}")

    def outcome(self, state: Any) -> JobOutcome | None:
        """None while the job is in progress. state: the reply to `look`."""
        if state["status"] not in ("completed", "failed", "expired", "cancelled"):
            return None
        errors = (state.get("errors") or {}).get("data") or []
        failed = Failure("the job failed", 400) if state["status"] == "failed" else None
        if failed and errors:
            failed = Failure(str(errors[0]["message"]), 400, str(errors[0].get("code") or ""))
        files = ("output_file_id", "error_file_id")
        names = [name_in(state, file) for file in files if state.get(file)]
        return JobOutcome(tuple(f"files/{name}/content" for name in names), failed)

    def result(self, line: Any) -> Result:
        key, answer, error = line["custom_id"], line.get("response"), line.get("error")
        if not answer:
            return Result(key, None, Failure(str(error["message"]), None, str(error.get("code"))))
        if answer["status_code"] < 300:
            return Result(key, answer["body"])
        return Result(key, None, failure(answer["body"], answer["status_code"]))


class AnthropicJobs:
    """v1/messages/batches: the requests come with the job."""

    MOST_REQUESTS: ClassVar = 100_000
    MOST_BYTES: ClassVar = 256_000_000

    def line(self, key: str, path: str, body: Mapping[str, Any]) -> bytes:
        return _json({"custom_id": key, "params": body})

    def upload(self, lines: list[bytes]) -> Call | None:
        return None

    def create(self, lines: list[bytes], path: str, file: str) -> Call:
        content = b'{"requests":[' + b",".join(lines) + b"]}"
        return Call("messages/batches", content, {"content-type": "application/json"})

    def look(self, job: str) -> Call:
        return Call(f"messages/batches/{job}")

    def outcome(self, state: Any) -> JobOutcome | None:
        if state["processing_status"] != "ended":
            return None
        # Its `results_url` would be the server's choice of where our key goes.
        return JobOutcome((f"messages/batches/{name_in(state, 'id')}/results",))

    def result(self, line: Any) -> Result:
        key, kind = line["custom_id"], line["result"]["type"]
        if kind == "succeeded":
            return Result(key, line["result"]["message"])
        error = line["result"]["error"] if kind == "errored" else None
        return Result(key, None, failure(error) or Failure(f"the request has {kind}"))


Jobs = OpenAIJobs | AnthropicJobs
"""The batch jobs of a vendor."""
JOBS: dict[str, Jobs] = {
    **dict.fromkeys(("chat", "completions", "responses"), OpenAIJobs()),
    "messages": AnthropicJobs(),
}
"""By the name that the setting `endpoint` gives."""


def name_in(reply: Mapping[str, Any], field: str) -> str:
    """Raises ValueError for a name that could change an address."""
    name = reply[field]
    if not (isinstance(name, str) and NAME.fullmatch(name)):
        raise ValueError(f"its {field} is no name")
    return name


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
