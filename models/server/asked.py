"""What a body of either endpoint asks for, checked: values that can be meant, within limits.

A limit is there so that one request cannot keep all others waiting; none is near what a client asks
for that means well.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from common.errors import GauntletError

Body = Mapping[str, Any]

MOST_TOP = 20
"""Log-probabilities that a request may ask for, as in OpenAI's chat."""
MOST_CHOICES = 1024
"""Answers to a request, over all of its prompts."""
MOST_WRITTEN = 1 << 17
"""Tokens to write for a request, over all of its answers."""
MOST_STOPS, LONGEST_STOP = 16, 1000
"""Stop strings of a request, and the characters of one."""
MOST_SEED = (1 << 63) - 1

WRITING = ("max_tokens", "temperature", "stop", "seed", "n", "stream")
KNOWN = {
    "completions": ("model", "prompt", "logprobs", "response_format", *WRITING),
    "chat": (
        *("model", "messages", "logprobs", "top_logprobs", "response_format"),
        *("max_completion_tokens", *WRITING),
    ),
}
"""The fields that an endpoint reads."""
NEUTRAL: Mapping[str, tuple[object, ...]] = {
    "top_p": (1,),
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "logit_bias": ({},),
    "echo": (False,),
    "suffix": ("",),
    "stream_options": (),
    "store": (False,),
    "parallel_tool_calls": (True, False),
}
"""Fields of OpenAI's that are understood where they change nothing: with these values or null."""
IGNORED = ("user", "metadata", "safety_identifier", "service_tier")


class Refused(GauntletError):
    """A request that cannot be answered as it is; the message says what can. param: the field."""

    def __init__(self, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.param, self.code = param, code


@dataclass(frozen=True)
class ApiRequest:
    """One request of either endpoint, checked."""

    prompts: tuple[str, ...]
    max_tokens: int
    temperature: float
    stop: tuple[str, ...]
    seed: int
    count: int
    top: int | None
    json: bool

    @staticmethod
    def of(body: Body, prompts: Sequence[str], top: int | None) -> ApiRequest:
        """Raises Refused for a value that cannot be meant or is not supported."""
        if not prompts or not all(prompts):
            raise Refused("the prompt is empty; a model needs some text to go on from")
        if body.get("stream"):
            raise Refused("stream is not supported; leave it out", "stream")
        limit = "max_completion_tokens" if "max_completion_tokens" in body else "max_tokens"
        max_tokens = number(body, limit, 16, 1)
        if top is not None and max_tokens > 1:
            raise Refused(f"log-probabilities are told of one token: set {limit} to 1", limit)
        temperature = body.get("temperature")
        temperature = 1.0 if temperature is None else temperature
        plain = isinstance(temperature, (int, float)) and not isinstance(temperature, bool)
        if not plain or not 0 <= temperature <= 2:
            raise Refused(f"temperature is {temperature!r}; it must be 0 to 2", "temperature")
        seed = number(body, "seed", random.getrandbits(31), 0, MOST_SEED)
        count = number(body, "n", 1, 1, MOST_CHOICES)
        if body.get("best_of") not in (None, count):
            raise Refused("best_of is not supported; leave it out, or set it to n", "best_of")
        if count * len(prompts) > MOST_CHOICES:
            raise Refused(
                f"{len(prompts)} prompts of n={count} answers are more than the {MOST_CHOICES} "
                "answers that a request can have",
                "n",
            )
        if max_tokens > 1 and count * len(prompts) * max_tokens > MOST_WRITTEN:
            raise Refused(
                f"{count * len(prompts)} answers of {max_tokens} tokens are more than the "
                f"{MOST_WRITTEN} tokens that a request can write",
                limit,
            )
        stops, json = _stops(body), _wants_json(body)
        return ApiRequest(tuple(prompts), max_tokens, temperature, stops, seed, count, top, json)


def check_fields(body: Body, endpoint: str) -> None:
    """Raises Refused for a field that is not known, or that would change the answer."""
    for field, value in body.items():
        if field in KNOWN[endpoint] or field in IGNORED or value is None or field == "best_of":
            continue
        if field not in NEUTRAL:
            raise Refused(f"the field {field!r} is not known here; leave it out", field)
        # 1 and True are equal, and mean different things.
        if not any(type(value) in (type(one), float) and value == one for one in NEUTRAL[field]):
            raise Refused(f"{field} is not supported; leave it out", field)


def number(body: Body, key: str, default: int, least: int, most: int | None = None) -> int:
    """A whole number of the body. Raises Refused."""
    value = body.get(key)
    if value is None:
        return default
    whole = isinstance(value, int) and not isinstance(value, bool)
    if whole and value >= least and (most is None or value <= most):
        return int(value)
    allowed = f"from {least} up" if most is None else f"from {least} to {most}"
    raise Refused(f"{key} is {value!r}; it must be a whole number {allowed}", key)


def top_of(body: Body, key: str) -> int:
    """How many log-probabilities are asked for. Raises Refused."""
    top = number(body, key, 0, 0)
    if top > MOST_TOP:
        raise Refused(f"{top} log-probabilities were asked for; 0 to {MOST_TOP} can be", key)
    return top


def _stops(body: Body) -> tuple[str, ...]:
    stop = body.get("stop") or ()
    stops = (stop,) if isinstance(stop, str) else stop
    if not isinstance(stops, (list, tuple)) or not all(isinstance(one, str) for one in stops):
        raise Refused(f"stop is {stop!r}; it must be text or a list of texts", "stop")
    if len(stops) > MOST_STOPS or not all(0 < len(one) <= LONGEST_STOP for one in stops):
        raise Refused(
            f"stop can be {MOST_STOPS} texts of 1 to {LONGEST_STOP} characters, no more", "stop"
        )
    return tuple(stops)


def _wants_json(body: Body) -> bool:
    """Whether one JSON object is asked for."""
    form = body.get("response_format") or {"type": "text"}
    kind = form.get("type") if isinstance(form, Mapping) else form
    if kind not in ("text", "json_object"):
        raise Refused(
            f"response_format is of type {kind!r}; it can be text or json_object", "response_format"
        )
    return bool(kind == "json_object")
