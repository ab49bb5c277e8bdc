"""What a server's error means: whether to ask again, and which setting to change.

Codes, types and names of fields count first, words where a server gives nothing else. The wordings
known are rows of `tests/models/refusals.jsonl`.
"""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gauntlet.models.api.dialects.base import count_at

Meaning = Literal[
    "again", "unpaid", "region", "filtered", "context", "limit", "key", "missing", "refused"
]
"""again: the same request may succeed later. unpaid: the account has no money left. region: not
served from here. filtered: the prompt is flagged. context: the prompt alone is longer than the
model's context. limit: the token limit does not fit into the context, or is none that the model
allows. key: not accepted. missing: no such model or address. refused: anything else."""

TRANSIENT = (408, 409, 425, 429)
NEVER = (501, 505)
"""Errors of a server that do not pass."""
BUSY = (401, 429, 503)
"""Statuses that say enough: "too many input tokens" a minute are no full context."""
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
"""The status of an error that a reply or a stream reports by its type only."""
WORDS = 2_000
"""Characters of a message in which words are looked for."""
AGAIN = ("server_error", "rate_limit_exceeded")
"""Why a response of OpenAI's failed, if it may succeed later."""

NAMES: Mapping[Meaning, tuple[str, ...]] = {
    "unpaid": (
        *("insufficient_quota", "billing_error", "billing_hard_limit_reached", "Arrearage"),
        *("billing_not_active", "exceeded_current_quota_error", "insufficient_balance"),
    ),
    "region": ("unsupported_country_region_territory",),
    "filtered": (
        *("content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"),
        *("data_inspection_failed", "DataInspectionFailed", "flagged_input", "1301"),
    ),
    "context": ("context_length_exceeded", "exceed_context_size_error", "1261"),
    "limit": ("max_tokens_exceeded",),
}
"""The vendors' names of errors."""
MEANINGS = {name: meaning for meaning, names in NAMES.items() for name in names}

UNPAID = r"credit balance|insufficient (balance|credit|fund)|(all available|any) credits"
REGION = (
    r"(country|region|territory|location)\b.{0,40}\b(not supported|unsupported|not available)|"
    r"not (supported|available) in your (country|region|territory|location)"
)
FLAGGED = (
    r"\bflagged\b|content (management|moderation|policy|filter|exists risk)|"
    r"violat\w+ (\w+ ){0,4}(guideline|polic)|usage (guideline|polic)|"
    r"(inappropriate|sensitive|prohibited) content|considered high risk|for safety reasons"
)
OF_THE_ACCOUNT = r"your (account|organi[sz]ation|access|project|api key)|account (has been|is)"
"""What else may be flagged, or violate a policy, than a prompt."""
FULL = (
    r"maximum (allowed )?(context|prompt|model|input) (length|size|window)|"
    r"context (length|size|window) (is|of) only|context (length|size|window) exceed|"
    r"(exceed\w*|longer than|greater than|larger than)\b.{0,40}"
    r"(context (length|size|window|limit)|model token limit)|"
    r"(prompt|input|messages)\b.{0,10}\btoo (long|large|many)|too many input tokens|"
    r"input token count .*exceed|input tokens exceed|prompt exceeds|`inputs`|"
    r"range of input length|more than max tokens allowed|at least 1, got -|"
    r"reduce the length of the (messages|prompt|input)"
)
"""How servers say that a request is longer than the context."""
NUMBER = r"(\d[\d,]*)"
WINDOW = (
    rf"(?:context|model) (?:length|size|window)(?: is| of)?(?: only)? \(?{NUMBER}|[<>]=? ?{NUMBER}"
)
PROMPT_SHARE = (
    rf"{NUMBER} (?:tokens )?(?:\w+ ){{0,3}}`?(?:messages|prompt|inputs?)\b|{NUMBER} \+ \d"
)
REPLY_SHARE = (
    r"\d (?:tokens )?(?:\w+ +){0,3}(?:completion|output)|\d \+ \d|max_\w*tokens|maxOutputTokens"
)
"""The tokens of context, prompt and reply where a server gives them."""
BOUND = (
    r"too (large|high|big|small|low)|maximum|minimum|at (most|least)|(less|greater) than|"
    r"below|above|between|exceed|range|[<>]"
)
PER_MINUTE = r"request too large"
"""More tokens than a minute allows: waiting does not help."""
UNKNOWN = (
    r"(unknown|unrecogni[sz]ed|unsupported|unexpected)\b|extra inputs|"
    r"not (permitted|supported|allowed)|does ?n[o']t support|not enabled"
)
SYSTEM = (
    r"(system|developer)\W+(role|message|instruction|prompt)|support '(system|developer)'|"
    "roles must alternate"
)
STAYS = rf"(parameter|argument|field)\b|not (permitted|supported|allowed)|{SYSTEM}"
"""What a server that answers 500, or gives no status, will refuse again."""

SETTINGS = (
    (r"temperature|top_[pk]\b", "", "set model.temperature=omit"),
    ("log_?prob", BOUND, "lower model.top"),
    ("log_?prob", "", "set model.scores=sampled"),
    ("", r"max_completion_tokens\W*instead", "set model.limit=max_completion_tokens"),
    ("max_completion_tokens", UNKNOWN, "set model.limit=max_tokens"),
    ("max_tokens", UNKNOWN, "set model.limit=max_completion_tokens"),
    ("budget", "", "change model.thinking_budget"),
    ("effort|thinking|reasoning", "", "change model.effort"),
    ("", SYSTEM, "set model.system_role=false"),
    ("", "JSON mode is not", "set model.extra_body={generationConfig:{responseMimeType:null}}"),
)
"""The field that a refusal names, else its words; further words; and what to do. The first that
fits counts."""
DISTINCT = ("response_format", "stream_options", "prompt_cache_key", "stop_sequences")
COMMON = ("seed", "stop", "store", "include", "text")
"""Fields that a request can do without; the latter are words of English too."""
CHANGE_LIMIT = "change model.thinking_room, which is added to the limit, or prompt.max_tokens"


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

    def meaning(self, limit: int = 0) -> Meaning:
        """limit: the request's own token limit."""
        named, ours = MEANINGS.get(self.kind), self.status is None or self.status < 500
        if named in ("unpaid", "region"):
            return named
        if self.status == 402 or (ours and self._says(UNPAID)):
            return "unpaid"
        if ours and self._says(REGION):
            return "region"
        if self.status not in BUSY:
            flagged = ours and self._says(FLAGGED) and not self._says(OF_THE_ACCOUNT)
            if named == "filtered" or flagged:
                return "filtered"
            if size := self._size(named, limit):
                return size
        if self._says("unexpected endpoint"):
            return "missing"
        if self._passes:
            return "again"
        if self.status in (404, 405):
            return "missing"
        return "key" if self._of_the_key else "refused"

    @property
    def advice(self) -> str:
        """The setting to change, as "; set model.x=y"; "" if unknown."""
        about = self.field or self.message[:WORDS]
        for field, words, advice in SETTINGS:
            if re.search(field, about, re.IGNORECASE) and self._says(words):
                return f"; {advice}"
        plain = () if not self.field and not self._says(UNKNOWN) else COMMON
        for name in (*DISTINCT, *plain):
            if re.search(rf"\b{name}\b", about):
                return f"; set model.extra_body={{{name}:null}}"
        return ""

    def _size(self, named: Meaning | None, limit: int) -> Meaning | None:
        """Whether prompt or limit is too long; None if the error is none of that."""
        of_the_reply = "max" in self.field or self._says(REPLY_SHARE)
        if named == "context" or self._says(FULL):
            window, prompt = (_number(share, self.message) for share in (WINDOW, PROMPT_SHARE))
            alone = 0 < window <= prompt or self._says("got -")
            too_large = 0 < window < limit or (of_the_reply and not alone)
            return "limit" if too_large else "context"
        renamed = self._says(UNKNOWN) or self._says("instead")
        bound = of_the_reply and self._says(BOUND) and not renamed
        return "limit" if named == "limit" or bound else None

    @property
    def _passes(self) -> bool:
        """Whether the same request may succeed later."""
        if self.status in (None, 500):
            return not (self._says(STAYS) and self.advice)
        if self.status == 429:
            return not self._says(PER_MINUTE)
        return self.status in TRANSIENT or (self.status > 500 and self.status not in NEVER)

    @property
    def _of_the_key(self) -> bool:
        """Whether the key is not accepted."""
        page = self.message.lstrip().startswith("<")  # of something on the way to the server
        named = self.status == 400 and self._says("api.?key")
        return self.status == 401 or (self.status == 403 and not page) or named

    def _says(self, words: str) -> bool:
        return re.search(words, self.message[:WORDS], re.IGNORECASE) is not None


def failure(reply: Any, status: int | None = None) -> Failure | None:
    """The error in a body, which may lack a status of its own; None if it is none.

    status: of the response, if that was one of an error.
    """
    if isinstance(reply, list) and len(reply) == 1:  # as Google's server answers
        (reply,) = reply
    node = reply if isinstance(reply, Mapping) else {}
    error = _error(node)
    succeeded = status is None
    if succeeded and not error:
        return None
    words = {"message": error} if error else {}
    part = error if isinstance(error, Mapping) else {**node, **words}
    names = [*_names(part)]
    kind = next((name for name in names if name in MEANINGS), names[0] if names else "")
    if status is None:
        code = count_at(part, "code")
        known = code is not None and 400 <= code < 600
        status = (
            code if known else next((STATUSES[kind] for kind in names if kind in STATUSES), None)
        )
    message, field = _message(part)
    failed = Failure(message, status, kind, field)
    answers = succeeded and _answers(node) and failed.meaning() != "filtered"
    return None if answers else failed


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The delay a server asks for, in seconds; headers give milliseconds, seconds or a date."""
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) / scale
            return max(0.0, seconds) if math.isfinite(seconds) else None
        except (KeyError, ValueError):
            continue
    try:
        date = email.utils.parsedate_to_datetime(headers["retry-after"])
        return max(0.0, date.timestamp() - time.time())
    except (KeyError, ValueError, OverflowError):
        return None


def _error(node: Mapping[str, Any]) -> Any:
    """The error in a body, or in one of its choices."""
    if node.get("error"):
        return node["error"]
    if "error" in (node.get("type"), node.get("object")):
        return node
    return next((choice["error"] for choice in _choices(node) if choice.get("error")), None)


def _answers(node: Mapping[str, Any]) -> bool:
    """Whether a body is a reply all the same: it has texts, or says that the model failed."""
    error = node.get("error")
    code = error.get("code") if isinstance(error, Mapping) else None
    final = node.get("status") == "failed" and code not in AGAIN
    ended = any(choice.get("finish_reason") not in (None, "error") for choice in _choices(node))
    return bool(ended or node.get("output") or final)


def _choices(node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    choices = node.get("choices")
    listed = choices if isinstance(choices, list) else []
    return [choice for choice in listed if isinstance(choice, Mapping)]


def _names(error: Mapping[str, Any]) -> Iterator[str]:
    """What a server calls its error, in any of the places that vendors have for it."""
    inner, metadata = (error.get(key) for key in ("innererror", "metadata"))
    for place in (error, inner, metadata):
        if isinstance(place, Mapping):
            names = (place.get(key) for key in ("code", "type", "status", "error_type"))
            yield from (name for name in names if isinstance(name, str) and name)
            yield from ("flagged_input",) if place.get("flagged_input") else ()


def _message(error: Mapping[str, Any]) -> tuple[str, str]:
    """An error's words, and the field that it refuses."""
    words = next((error[key] for key in ("message", "detail", "msg") if error.get(key)), "")
    words = words.get("detail") or words if isinstance(words, Mapping) else words
    first = words[0] if isinstance(words, list) and words else None
    if isinstance(first, Mapping) and "loc" in first:  # of a body that is checked by pydantic
        field = ".".join(str(part) for part in first["loc"] if part != "body")
        return f"{field}: {first.get('msg')}", field
    metadata, refused = error.get("metadata"), error.get("param")
    upstream = metadata.get("raw") if isinstance(metadata, Mapping) else None
    message = str(words or error or "")
    message += f" ({upstream})" if isinstance(upstream, str) else ""
    return message, refused if isinstance(refused, str) else ""


def _number(words: str, message: str) -> int:
    """The number that the words find in a message; 0 if there is none."""
    match = re.search(words, message[:WORDS], re.IGNORECASE)
    digits = next((group for group in match.groups() if group), "") if match else ""
    return int(digits.replace(",", "") or 0)
