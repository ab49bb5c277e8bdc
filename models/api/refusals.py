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
FULL_WORDS = (
    r"maximum context length|prompt is too long|input token count .*exceeds the maximum"
    r"|longer than the (model's )?context|exceeds the (model's )?context (length|window)"
    r"|greater than the context length|input is too long for|overflows the context"
)
"""Of OpenAI and vLLM, Anthropic, Gemini, SGLang, Ollama, LM Studio and Bedrock."""
ROOM = re.compile(r"context (?:length|window)\D{0,20}(\d+)|> (\d+)(?!\d| -)", re.IGNORECASE)
READ = re.compile(
    r"(\d+) (?:in the (?:messages|prompt)|(?:input|prompt) tokens|tokens from the input)"
    r"|exceed context limit: (\d+) \+ \d+|has (\d+) input tokens",
    re.IGNORECASE,
)
"""The tokens of a context, and of a prompt, in a refusal that gives both: if the prompt alone fits,
the limit on what is written is too high."""
FLAGGED = (
    *("content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"),
    *("invalid_prompt", "moderation_blocked", "data_inspection_failed"),
)
FLAGGED_WORDS = (
    r"violat\w+ .*(guideline|polic)|content (management )?polic|flagged|failed check"
    r"|content.?filter|inappropriate content|blocked by .*safety"
)
REGION = r"(country|region|territory|location).*not (supported|available)|unsupported_country"
LENGTH = r"context|too (large|long|many)|exceed"
UNKNOWN = r"(unknown|unrecogni[sz]ed|unsupported|unexpected|extra|not (permitted|supported)).*"
SETTINGS = (
    (r"temperature|top_[pk]\b", "set model.temperature=omit"),
    (r"max_completion_tokens\W*instead", "set model.limit=max_completion_tokens"),
    (UNKNOWN + "max_completion_tokens", "set model.limit=max_tokens"),
    (UNKNOWN + "max_tokens", "set model.limit=max_completion_tokens"),
    (r"top_logprobs.*(less|at most|between|maximum|<=)", "lower model.top"),
    (r"logprob", "set model.scores=sampled"),
    (r"\b(seed|stop|response_format)\b", "set model.extra_body={NAME:null}, which leaves it out"),
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
    def flagged(self) -> bool:
        """Whether it refuses what the prompt says, by a policy; the next one may pass."""
        said = re.search(FLAGGED_WORDS, self.message, re.IGNORECASE)
        return self.status in (400, 403, 422) and (self.kind in FLAGGED or bool(said))

    @property
    def of_the_region(self) -> bool:
        """Whether it serves nobody from here."""
        said = re.search(REGION, f"{self.kind} {self.message}", re.IGNORECASE)
        return self.status in (400, 403) and bool(said)

    @property
    def of_the_key(self) -> bool:
        """Whether the key is not accepted."""
        wrong = self.status == 400 and re.search(r"api.?key", self.message, re.IGNORECASE)
        return self.status in (401, 403) or bool(wrong)

    @property
    def beyond_context(self) -> bool:
        """Whether the prompt alone is longer than the model's context."""
        said = re.search(FULL_WORDS, self.message, re.IGNORECASE)
        full = self.status in (400, 413) and (self.kind in FULL or bool(said))
        return full and not self.beyond_limit

    @property
    def beyond_limit(self) -> bool:
        """Whether the prompt fits the context, but not with all that may be written."""
        room, read = ROOM.search(self.message), READ.search(self.message)
        if not (room and read):
            return False
        most, tokens = (next(int(one) for one in found.groups() if one) for found in (room, read))
        return tokens < most

    @property
    def transient(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status is None or self.status >= 500 or self.status in TRANSIENT

    @property
    def advice(self) -> str:
        """The setting to change, as "; set model.x=y"; "" if unknown."""
        if self.beyond_limit:
            return "; lower model.thinking_room, or max_tokens of the prompting method"
        text = f"{self.message} {self.field}" if "max" in self.field else self.field or self.message
        if re.search(LENGTH, text, re.IGNORECASE):
            return ""
        for pattern, advice in SETTINGS:
            if found := re.search(pattern, text, re.IGNORECASE):
                return f"; {advice.replace('NAME', found[0])}"
        return ""


def failure(reply: Any, status: int | None = None) -> Failure | None:
    """The error in a body, which may lack a status of its own; None if it is none.

    status: of the response, if that was one of an error.
    """
    node = reply if isinstance(reply, Mapping) else {}
    if status is None and (inner := _error_of_a_choice(node)):
        return failure({"error": inner})
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


def _error_of_a_choice(node: Mapping[str, Any]) -> Any:
    """What OpenRouter and others report in a choice of a reply that has status 200."""
    choices = node.get("choices")
    every = choices if isinstance(choices, list) else []
    return next(
        (one["error"] for one in every if isinstance(one, Mapping) and one.get("error")), None
    )


def _answers(node: Mapping[str, Any]) -> bool:
    """Whether a body is a reply all the same: it has texts, or says that the model failed."""
    final = node.get("status") == "failed" and node["error"].get("code") not in AGAIN
    return bool(node.get("choices") or node.get("output") or final)
