"""What a server's error means: whether to ask again, and which setting to change."""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gauntlet.models.api.dialects.base import is_count

TRANSIENT = (408, 409, 425, 429)
STATUSES = {
    "authentication_error": 401,
    "billing_error": 402,
    "invalid_request_error": 400,
    "not_found_error": 404,
    "overloaded_error": 529,
    "permission_error": 403,
    "rate_limit_error": 429,
    "request_too_large": 413,
}
"""The status of an error that a stream reports by its type only."""
UNPAID = ("insufficient_quota", "billing_error", "billing_hard_limit_reached")
AGAIN = ("server_error", "rate_limit_exceeded")
"""Why a response of OpenAI's failed, if it may succeed later."""
FULL = ("context_length_exceeded", "exceed_context_size_error")
"""What OpenAI and llama.cpp call a prompt beyond the context; others only say so."""
FULL_WORDS = r"maximum context length|prompt is too long|input token count .*exceeds the maximum"
LENGTH = r"context|too (large|long|many)|exceed"
UNKNOWN = r"(unknown|unrecogni[sz]ed|unsupported|unexpected|extra|not (permitted|supported)).*"
SETTINGS = (
    (r"temperature|top_[pk]\b", "set model.temperature=omit"),
    (r"logprob", "set model.scores=sampled"),
    (r"max_completion_tokens\W*instead", "set model.limit=max_completion_tokens"),
    (UNKNOWN + "max_completion_tokens", "set model.limit=max_tokens"),
    (UNKNOWN + "max_tokens", "set model.limit=max_completion_tokens"),
    (r"budget", "change model.thinking_budget"),
    (r"effort|thinking|reasoning", "change model.effort"),
    (r"max_(output_)?tokens", "change model.thinking_room, which is added to the limit"),
)
"""What a refusal speaks of, and what to do; the first that fits counts."""


@dataclass(frozen=True)
class Failure:
    """An error that a server reports.

    status: None if it gives none.
    kind: its own name for the error, "" if it has none.
    field: of the request, that it refuses; "" if it names none.
    """

    message: str
    status: int | None = None
    kind: str = ""
    field: str = ""

    @property
    def unpaid(self) -> bool:
        """Whether the account has no money left."""
        return self.status == 402 or self.kind in UNPAID or "credit balance" in self.message

    @property
    def of_the_key(self) -> bool:
        """Whether the key is not accepted."""
        wrong = self.status == 400 and re.search(r"api.?key", self.message, re.IGNORECASE)
        return self.status in (401, 403) or bool(wrong)

    @property
    def beyond_context(self) -> bool:
        """Whether the prompt is longer than the model's context."""
        said = re.search(FULL_WORDS, self.message, re.IGNORECASE)
        return self.status in (400, 413) and (self.kind in FULL or bool(said))

    @property
    def transient(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status is None or self.status >= 500 or self.status in TRANSIENT

    @property
    def advice(self) -> str:
        """The setting to change, as "; set model.x=y"; "" if unknown."""
        text = f"{self.message} {self.field}" if "max" in self.field else self.field or self.message
        if re.search(LENGTH, text, re.IGNORECASE):
            return ""
        found = (advice for pattern, advice in SETTINGS if re.search(pattern, text, re.IGNORECASE))
        return "".join(f"; {advice}" for advice in [*found][:1])


def failure(reply: Any, status: int | None = None) -> Failure | None:
    """The error in a body, which may lack a status of its own; None if it is none.

    status: of the response, if that was one of an error.
    """
    node = reply if isinstance(reply, Mapping) else {}
    if status is None and (not _error(node) or _answers(node)):
        return None
    error = _error(node) or next((node[key] for key in ("message", "detail") if node.get(key)), "")
    if not isinstance(error, Mapping):
        return Failure(str(error), status)
    code, kind, field = error.get("code"), error.get("type"), error.get("param")
    names = [one for one in (code, kind, error.get("status")) if isinstance(one, str)]
    kind = next((one for one in names if one in UNPAID), names[0] if names else "")
    if status is None:
        known = is_count(code) and 400 <= code < 600
        status = code if known else next((STATUSES[one] for one in names if one in STATUSES), None)
    said = str(error.get("message") or error)
    return Failure(said, status, kind, field if isinstance(field, str) else "")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The delay a server asks for, in seconds; headers give milliseconds, seconds or a date."""
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) / scale)
        except (KeyError, ValueError):
            continue
    try:
        date = email.utils.parsedate_to_datetime(headers["retry-after"])
        return max(0.0, date.timestamp() - time.time())
    except (KeyError, ValueError, OverflowError):
        return None


def _error(node: Mapping[str, Any]) -> Any:
    return node.get("error") or (node if node.get("type") == "error" else None)


def _answers(node: Mapping[str, Any]) -> bool:
    """Whether a body is a reply all the same: it has texts, or says that the model failed."""
    final = node.get("status") == "failed" and node["error"].get("code") not in AGAIN
    return bool(node.get("choices") or node.get("output") or final)
