"""OpenAI's protocol as data: request bodies and the parsing of reply bodies.

Pure functions; nothing is sent here. They raise ValueError for a reply without a required part.
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
"""At 1 the reported probabilities are the model's own even if the server reports them after
temperature scaling, and so are the shares of sampled answers."""
TEMPLATE_TOKENS = 256
"""Upper bound on the tokens a chat template adds to a message."""
ROUNDING = 1e-3
"""How far rounding may lift a log-probability above 0."""
MOST_COUNTED = 10**9
"""Maximum token count of a request; larger counts by a server are ignored."""


@dataclass(frozen=True, slots=True)
class Reported:
    """The most likely first tokens, as listed by a server.

    logprobs: by token; among tokens that look alike the most likely counts.
    ceiling: upper bound on the logprob of a token that is not listed.
    """

    logprobs: Mapping[str, float]
    ceiling: float

    def logprobs_of(self, words: Sequence[str]) -> tuple[float, ...]:
        """The logprob of each word, with or without a leading space; minus infinity if unlisted."""
        found = self.logprobs
        spelt = ((found.get(word), found.get(f" {word}")) for word in words)
        return tuple(
            max((one for one in pair if one is not None), default=-math.inf) for pair in spelt
        )


@dataclass(frozen=True, slots=True)
class ScoredPrompt:
    """A server's answer to one prompt of a Score: reported tokens, or sampled texts."""

    said: Reported | tuple[str, ...]
    tokens: int

    def logprobs(self, choices: Sequence[str]) -> tuple[float, ...]:
        """The logprob of each choice; for sampled texts the log of its share, ignoring
        whitespace."""
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
    """The request format of one endpoint, for one model of a server.

    A prompt is a user message, or the raw text of a completion; a dialogue is a list of messages.
    The cue ends the user's messages, because not every server lets a request open the model's turn.
    A system text is a separate message, or opens the raw text.
    """

    name: str
    endpoint: Endpoint
    limit: Limit

    def scoring(self, prompt: Prompt, top: int) -> Body:
        """The request for the `top` most likely first tokens."""
        asked: Body = {"logprobs": top}
        if self.endpoint == "chat":
            asked = {"logprobs": True, "top_logprobs": top}
        return {**self._opening(prompt, 1), "temperature": SCORE_TEMPERATURE, **asked}

    def sampling(self, prompt: Prompt, seed: int) -> Body:
        """The request for a sampled first token."""
        return {**self._opening(prompt, 1), "temperature": SCORE_TEMPERATURE, "seed": seed}

    def writing(self, request: Generate) -> Body:
        """The request for the first sample. Only chat supports JSON mode."""
        body = self._opening(request.prompt, request.max_tokens)
        body |= {"temperature": request.temperature, "seed": request.seed}
        if request.stop:
            body["stop"] = list(request.stop)
        if request.json and self.endpoint == "chat":
            body["response_format"] = {"type": "json_object"}
        return body

    @staticmethod
    def several(body: Body, count: int, first: int) -> Body:
        """The request for `count` samples, numbered from `first` on."""
        further = {**body, "seed": body["seed"] + first}
        return {**further, "n": count} if count > 1 else further

    def most(self, body: Body) -> Tokens:
        """Upper bound on the tokens of a request: a token is at least one byte."""
        if self.endpoint == "completions":
            texts = [body["prompt"]]
        else:
            texts = [message["content"] for message in body["messages"]]
        read = sum(len(text.encode()) + TEMPLATE_TOKENS for text in texts)
        return Tokens(read, int(body[self._limit_key]) * int(body.get("n", 1)))

    def texts(self, reply: Mapping[str, Any]) -> list[str]:
        """The generated texts, one per choice."""
        if self.endpoint == "completions":
            return [_text(choice["text"]) for choice in choices(reply)]
        return [_text(choice["message"]["content"] or "") for choice in choices(reply)]

    def first_token(self, reply: Mapping[str, Any]) -> Reported | None:
        """The reported first-token probabilities; None if they cannot be read. Raises ValueError
        for an invalid log-probability."""
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
    """The prompt and completion tokens that the server counted, if it reports both."""
    counted = reply.get("usage")
    if not isinstance(counted, Mapping):
        return None
    read, written = counted.get("prompt_tokens"), counted.get("completion_tokens")
    return Tokens(read, written) if _is_count(read) and _is_count(written) else None


def failure(reply: Any) -> tuple[str, int | None] | None:
    """The message and status (if any) of a body that reports an error instead of choices."""
    error = reply.get("error") if isinstance(reply, Mapping) else None
    if not error or reply.get("choices"):
        return None
    if not isinstance(error, Mapping):
        return str(error), None
    code = error.get("code")
    known = _is_count(code) and 400 <= code < 600
    return str(error.get("message") or error), code if known else None


def reported(listed: Sequence[tuple[str, float]], sampled: Sequence[str] | None) -> Reported:
    """The tokens listed for a position.

    Some servers add the sampled token, `sampled[0]`, to the most likely ones; it therefore does not
    bound the unlisted tokens. Raises ValueError for a log-probability that is not finite or is
    above 0.
    """
    logprobs: dict[str, float] = {}
    for token, logprob in listed:
        if not math.isfinite(logprob) or logprob > ROUNDING:
            raise ValueError(f"it gives the token {token!r} a log-probability of {logprob:g}")
    for token, logprob in sorted(listed, key=lambda pair: -pair[1]):
        logprobs.setdefault(token, float(logprob))
    others = [value for token, value in logprobs.items() if not sampled or token != sampled[0]]
    return Reported(logprobs, min(others, default=0.0))


def _text(value: Any) -> str:
    """As text; lone surrogates, which JSON can encode and no file can hold, are replaced."""
    return str(value).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_COUNTED
