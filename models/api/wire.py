"""OpenAI's protocol as data: what a request's body says, and what a reply's body tells.

Pure functions of the endpoint; nothing is sent here. Raises ValueError for a reply without what
every reply must have.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeGuard

from gauntlet.models.api.ledger import Tokens
from gauntlet.models.base import Generate, Prompt

Endpoint = Literal["chat", "completions"]
Limit = Literal["max_tokens", "max_completion_tokens"]
Body = dict[str, Any]

SCORE_TEMPERATURE = 1.0
"""At 1 the reported probabilities are the model's own also on servers that report them after the
temperature, and so are the shares of drawn answers."""
TEMPLATE_TOKENS = 256
"""More than any chat template adds to a short message."""
ROUNDING = 1e-3
"""How far above 0 rounding may lift a log-probability."""
MOST_COUNTED = 10**9
"""Tokens of a request; a server that counts more does not count."""


@dataclass(frozen=True, slots=True)
class Reported:
    """The likeliest first tokens, as a server lists them.

    logprobs: of each token; of several that look alike the likeliest counts.
    ceiling: no token that is left out has a larger logprob.
    """

    logprobs: Mapping[str, float]
    ceiling: float

    def logprobs_of(self, words: Sequence[str]) -> tuple[float, ...]:
        """The logprob of each word, spelt with or without a leading space; minus infinity where
        neither is listed."""
        found = self.logprobs
        spelt = ((found.get(word), found.get(f" {word}")) for word in words)
        return tuple(
            max((one for one in pair if one is not None), default=-math.inf) for pair in spelt
        )


@dataclass(frozen=True, slots=True)
class Heard:
    """What a server said to one prompt of a Score: reported tokens, or drawn texts."""

    said: Reported | tuple[str, ...]
    tokens: int

    def logprobs(self, choices: Sequence[str]) -> tuple[float, ...]:
        """Of drawn texts the logarithm of each choice's share; it may stand behind spaces."""
        if isinstance(self.said, Reported):
            return self.said.logprobs_of(choices)
        drawn = Counter(text.strip() for text in self.said)
        shares = (drawn[choice] / len(self.said) for choice in choices)
        return tuple(math.log(share) if share else -math.inf for share in shares)

    @property
    def ceiling(self) -> float:
        return self.said.ceiling if isinstance(self.said, Reported) else 0.0


@dataclass(frozen=True)
class Wire:
    """The dialect of one endpoint, for one model of a server.

    A prompt is a message of the user, or the raw text of a completion; a dialogue is as many
    messages as were said. The cue stands at the end of the user's messages, because not every
    server lets a request open the model's turn. A system text is a message of its own, or opens the
    raw text.
    """

    name: str
    endpoint: Endpoint
    limit: Limit

    def scoring(self, prompt: Prompt, top: int) -> Body:
        """Asks for the `top` likeliest first tokens."""
        asked: Body = {"logprobs": top}
        if self.endpoint == "chat":
            asked = {"logprobs": True, "top_logprobs": top}
        return {**self._opening(prompt, 1), "temperature": SCORE_TEMPERATURE, **asked}

    def sampling(self, prompt: Prompt, seed: int) -> Body:
        """Asks for the first token, drawn."""
        return {**self._opening(prompt, 1), "temperature": SCORE_TEMPERATURE, "seed": seed}

    def writing(self, request: Generate) -> Body:
        """Asks for the first sample. Only chat knows of JSON."""
        body = self._opening(request.prompt, request.max_tokens)
        body |= {"temperature": request.temperature, "seed": request.seed}
        if request.stop:
            body["stop"] = list(request.stop)
        if request.json and self.endpoint == "chat":
            body["response_format"] = {"type": "json_object"}
        return body

    @staticmethod
    def several(body: Body, count: int, first: int) -> Body:
        """The same asked `count` times, as samples `first`, `first + 1` and so on."""
        further = {**body, "seed": body["seed"] + first}
        return {**further, "n": count} if count > 1 else further

    def most(self, body: Body) -> Tokens:
        """The most tokens that the request can take: a token is at least a byte."""
        if self.endpoint == "completions":
            texts = [body["prompt"]]
        else:
            texts = [message["content"] for message in body["messages"]]
        read = sum(len(text.encode()) + TEMPLATE_TOKENS for text in texts)
        return Tokens(read, int(body[self._limit_key]) * int(body.get("n", 1)))

    def texts(self, reply: Mapping[str, Any]) -> list[str]:
        """What the model said, a text a choice."""
        if self.endpoint == "completions":
            return [_text(choice["text"]) for choice in choices(reply)]
        return [_text(choice["message"]["content"] or "") for choice in choices(reply)]

    def first_token(self, reply: Mapping[str, Any]) -> Reported | None:
        """What is reported of the first place; None where no probabilities can be read there.
        Raises ValueError for a log-probability that cannot be one."""
        logprobs: Any = choices(reply)[0].get("logprobs")
        try:
            places = logprobs["content" if self.endpoint == "chat" else "top_logprobs"]
            if places == []:
                return reported([], None)
            if self.endpoint == "chat":
                listed = [(one["token"], one["logprob"]) for one in places[0]["top_logprobs"]]
            else:
                listed = list(places[0].items())
            return reported(listed, logprobs.get("tokens"))
        except (TypeError, KeyError, AttributeError):
            return None

    def _opening(self, prompt: Prompt, max_tokens: int) -> Body:
        body: Body = {"model": self.name, self._limit_key: max_tokens}
        if self.endpoint == "completions":
            return {**body, "prompt": prompt.text}
        opening = [{"role": "system", "content": prompt.system}] if prompt.system else []
        messages = [
            {"role": "assistant", "content": said}
            if number % 2
            else {"role": "user", "content": said + prompt.cue}
            for number, said in enumerate(prompt.messages)
        ]
        return {**body, "messages": [*opening, *messages]}

    @property
    def _limit_key(self) -> str:
        return self.limit if self.endpoint == "chat" else "max_tokens"


def choices(reply: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The reply's choices, at least one. Raises ValueError."""
    found = reply.get("choices")
    if not isinstance(found, list) or not found:
        raise ValueError("it has no choices")
    return found


def usage(reply: Mapping[str, Any]) -> Tokens | None:
    """The tokens that the server counted, if it says how many were read and how many written."""
    counted = reply.get("usage")
    if not isinstance(counted, Mapping):
        return None
    read, written = counted.get("prompt_tokens"), counted.get("completion_tokens")
    return Tokens(read, written) if _is_count(read) and _is_count(written) else None


def failure(reply: Any) -> tuple[str, int | None] | None:
    """What went wrong, and its status if it has one, where a body tells of an error instead of
    choices."""
    error = reply.get("error") if isinstance(reply, Mapping) else None
    if not error or reply.get("choices"):
        return None
    if not isinstance(error, Mapping):
        return str(error), None
    code = error.get("code")
    known = _is_count(code) and 400 <= code < 600
    return str(error.get("message") or error), code if known else None


def reported(listed: Sequence[tuple[str, float]], sampled: Sequence[str] | None) -> Reported:
    """The tokens listed for a place. Some servers list the token that was drawn beside the
    likeliest ones; so that one, `drawn[0]`, says nothing of those left out. Raises ValueError for
    a log-probability that is not finite or is above 0."""
    logprobs: dict[str, float] = {}
    for token, logprob in listed:
        if not math.isfinite(logprob) or logprob > ROUNDING:
            raise ValueError(f"it gives the token {token!r} a log-probability of {logprob:g}")
    for token, logprob in sorted(listed, key=lambda pair: -pair[1]):
        logprobs.setdefault(token, float(logprob))
    others = [value for token, value in logprobs.items() if not sampled or token != sampled[0]]
    return Reported(logprobs, min(others, default=0.0))


def _text(value: Any) -> str:
    """As text; halves of characters, which JSON can spell and no file can hold, are replaced."""
    return str(value).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_COUNTED
