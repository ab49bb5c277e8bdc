"""What all protocols share: the settings of a model, and a reply's texts and counts.

A body holds all that defines the answer (model, prompt, limits, seed); the ledger knows a request
by it. `sent` makes of it what goes over the wire: without what the protocol has no field for, and
with what changes no answer (streaming, a key for the server's cache).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple

from gauntlet.models.api.ledger import Tokens
from gauntlet.models.base import Detail, Dialogue, Finish, Generate, Prompt
from gauntlet.models.chat import Tags, thoughts_of

Body = dict[str, Any]
Limit = Literal["max_tokens", "max_completion_tokens"]
Sending = Literal["auto", "send", "omit"]

SCORE_TEMPERATURE = 1.0
"""At 1 the reported probabilities are the model's own even if the server reports them after
temperature scaling, and so are the shares of sampled answers."""
TEMPLATE_TOKENS = 256
"""Upper bound on the tokens a chat template adds to a message."""
MOST_COUNTED = 10**9
"""Maximum token count of a request; larger counts by a server are ignored."""


class ReplyText(NamedTuple):
    """One text of a reply."""

    text: str
    detail: Detail


@dataclass(frozen=True, kw_only=True)
class Dialect(ABC):
    """The requests and replies of one protocol, for one model of a server.

    official: whether the server is the one of the protocol's inventor.
    others: as the settings of the same name in conf/model/openai.yaml.

    A prompt's parts come in their order, static text first, so that servers can cache it. A cue
    ends the user's messages, because not every server lets a request open the model's turn. All
    functions that read a reply raise ValueError, KeyError, TypeError, AttributeError or IndexError
    if it lacks a required part.
    """

    name: str
    official: bool = False
    limit: Limit = "max_tokens"
    effort: str | None = None
    thinking_room: int = 0
    thinking_budget: int | None = None
    temperature: Sending = "auto"
    stream: bool = False
    thought_tags: Tags | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict, hash=False)

    KEY_ENV: ClassVar[str] = "OPENAI_API_KEY"
    ADDRESS: ClassVar[str] = "https://api.openai.com/v1"
    LACKS: ClassVar[tuple[str, ...]] = ()
    """What the protocol has no field for: n, seed, json, stop."""
    THINKS: ClassVar[tuple[str, ...]] = ("effort",)
    """The settings of thinking that it has a field for."""
    FINISHES: ClassVar[Mapping[str, Finish]] = {}
    BATCHES: ClassVar[bool] = True
    """Whether its vendor has batch jobs that `jobs.py` knows."""
    CACHE_WRITES: ClassVar[bool] = False
    """Whether text that a server takes into its cache costs more than text read."""

    @abstractmethod
    def writing(self, request: Generate) -> Body:
        """The request for the first sample."""

    @abstractmethod
    def texts(self, reply: Mapping[str, Any]) -> list[ReplyText]:
        """The generated texts, at least one."""

    @abstractmethod
    def usage(self, reply: Mapping[str, Any]) -> Tokens | None:
        """The tokens that the server counted, if it reports both read and written."""

    @abstractmethod
    def joined(self, events: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """The whole reply from the events of a stream. Raises ValueError if its end is missing."""

    @abstractmethod
    def path(self, body: Body) -> str:
        """Where such a request goes, relative to the server's address."""

    def scoring(self, prompt: Prompt, top: int) -> Body | None:
        """The request for the `top` most likely first tokens; None if the protocol has none."""
        return None

    def first_token(self, reply: Mapping[str, Any]) -> Reported | None:
        """The reported first-token probabilities; None if they cannot be read. Raises ValueError
        for an invalid log-probability."""
        return None

    def sampling(self, prompt: Prompt, seed: int) -> Body:
        """The request for a sampled first token."""
        return self.writing(Generate(prompt, 1, SCORE_TEMPERATURE, seed=seed))

    def several(self, body: Body, count: int, first: int) -> Body:
        """The request for `count` samples, numbered from `first` on."""
        further = {**body, "seed": body["seed"] + first}
        return {**further, "n": count} if count > 1 else further

    def sent(self, body: Body, group: str = "") -> Body:
        """What goes over the wire. group: names the static text, for the server's cache."""
        lacking = [key for key in ("seed", "n") if key in self.LACKS]
        plain = {key: value for key, value in body.items() if key not in lacking}
        return self.extended(plain | self._carried(body, group))

    def _carried(self, body: Body, group: str) -> Body:
        """What is sent besides and changes no answer."""
        return {"stream": True} if self.streams(body) else {}

    def extended(self, body: Body) -> Body:
        """The body with `extra_body`; null removes a field."""
        merged = _merged(body, self.extra_body)
        return {key: value for key, value in merged.items() if value is not None}

    def streams(self, body: Body) -> bool:
        """Whether the reply to such a request comes as a stream."""
        return self.stream and not body.get("logprobs")

    def headers(self, key: str) -> dict[str, str]:
        """The headers of a request; without authentication if there is no key."""
        return {"authorization": f"Bearer {key}"} if key else {}

    def prompt_bytes(self, body: Body) -> int:
        """The length of all texts in a request."""
        return sum(len(text.encode()) for text in strings(self._messages(body)))

    def limit_of(self, body: Body) -> int:
        """The token limit of a text; 0 if the request has none."""
        return self._limit_of(self.extended(body))

    def most(self, body: Body) -> Tokens:
        """Upper bound on the tokens of a request: a token is at least one byte."""
        read = self.prompt_bytes(body) + TEMPLATE_TOKENS * len(self._messages(body))
        return Tokens(read, self.limit_of(body) * int(body.get("n", 1)))

    @property
    def sends_temperature(self) -> bool:
        if self.temperature == "auto":
            return not self._refuses_temperature()
        return self.temperature == "send"

    def _refuses_temperature(self) -> bool:
        return False

    @abstractmethod
    def _messages(self, body: Body) -> Sequence[Any]: ...

    def final_texts(self, body: Body, reply: Mapping[str, Any]) -> list[ReplyText]:
        """`texts`, with thoughts within them set apart; a single one that took just the tokens it
        was allowed was cut, even where the server does not say so, as llama.cpp's does not in
        responses. One that took more is of a server whose limit does not count thoughts."""
        texts, counted = [self._parted(part) for part in self.texts(reply)], self.usage(reply)
        if len(texts) == 1 and counted and 0 < self.limit_of(body) == counted.written:
            text, detail = texts[0]
            if detail.finish == "stop":
                return [ReplyText(text, replace(detail, finish="length"))]
        return texts

    def _parted(self, reply: ReplyText) -> ReplyText:
        within, text = thoughts_of(self.thought_tags).split(reply.text)
        thoughts = "\n".join(part for part in (reply.detail.thoughts, within) if part)
        return ReplyText(text, replace(reply.detail, thoughts=thoughts))

    @abstractmethod
    def _limit_of(self, body: Body) -> int: ...

    def _finish(self, reason: Any) -> Finish:
        return self.FINISHES.get(reason, "unknown") if isinstance(reason, str) else "unknown"


def reply_text(
    text: Any, finish: Finish, thoughts: Any = "", refusal: Any = "", returned: str = ""
) -> ReplyText:
    """A text with its detail."""
    return ReplyText(clean(text), Detail(finish, clean(thoughts), clean(refusal), returned))


class Message(NamedTuple):
    """A message after the first. returned: of the model, what its server wants back, or ""."""

    of_the_model: bool
    text: str
    returned: str = ""


def conversation(prompt: Prompt) -> Iterator[Message]:
    """The messages after the first, in order. Servers refuse a turn of the model without a word,
    so it is left out."""
    if not isinstance(prompt, Dialogue):
        return
    returned = [*prompt.returned, *[""] * len(prompt.turns)]
    for (reply, message), back in zip(prompt.turns, returned, strict=False):
        if back or reply.strip():
            yield Message(True, reply, back)
        yield Message(False, message + prompt.cue)


def strings(node: Any) -> Iterator[str]:
    """Every text in plain data, except keys."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, Mapping):
        for value in node.values():
            yield from strings(value)
    elif isinstance(node, (list, tuple)):
        for value in node:
            yield from strings(value)


def clean(value: Any) -> str:
    """As text; lone surrogates, which JSON can encode and no file can hold, are replaced."""
    text = "" if value is None else str(value)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def count_at(node: Any, *path: str) -> int | None:
    """The count at this place, which JSON may write as 12.0; None if there is none."""
    for key in path:
        node = node.get(key) if isinstance(node, Mapping) else None
    if isinstance(node, bool) or not isinstance(node, int | float):
        return None
    return int(node) if 0 <= node <= MOST_COUNTED and node == int(node) else None


def count_in(node: Any, *path: str) -> int:
    """The count at this place; 0 if there is none."""
    return count_at(node, *path) or 0


def written_of(read: int, written: int, thoughts: int, total: int) -> int:
    """The tokens written, of counts that may leave out thoughts: as the total has it, if there is
    one. Thoughts that are more than what they should be a part of come on top of it.

    total: of read and written; 0 if unknown.
    """
    return max(total - read, written + thoughts if thoughts > written else written)


def check_end(reached: object) -> None:
    """Raises ValueError if a stream was cut."""
    if not reached:
        raise ValueError("the stream ends before the reply does")


def _merged(body: Mapping[str, Any], extra: Mapping[str, Any]) -> Body:
    merged = dict(body)
    for key, value in extra.items():
        old = merged.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        merged[key] = _merged(old, value) if both else value  # type: ignore[arg-type]
    return merged


ROUNDING = 1e-3
"""How far rounding may lift a log-probability above 0."""

SPACES = ("Ġ", "▁")
"""How vocabularies write a leading space, and some servers their tokens."""


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
        listed = self.logprobs
        spelt = ((listed.get(word), listed.get(f" {word}")) for word in words)
        return tuple(
            max((logprob for logprob in pair if logprob is not None), default=-math.inf)
            for pair in spelt
        )


@dataclass(frozen=True, slots=True)
class ScoredPrompt:
    """A server's answer to one prompt of a Score: reported tokens, or sampled texts.

    finish: why there are none, if the prompt was not answered.
    """

    answer: Reported | tuple[str, ...]
    tokens: int
    finish: Finish = "stop"

    def logprobs(self, choices: Sequence[str]) -> tuple[float, ...]:
        """The logprob of each choice; for sampled texts the log of its share, ignoring
        whitespace."""
        if isinstance(self.answer, Reported):
            return self.answer.logprobs_of(choices)
        drawn = Counter(text.strip() for text in self.answer)
        shares = (drawn[choice] / len(self.answer) for choice in choices)
        return tuple(math.log(share) if share else -math.inf for share in shares)

    @property
    def likeliest(self) -> list[str]:
        """The tokens or texts, the most likely first."""
        if isinstance(self.answer, Reported):
            logprobs = self.answer.logprobs
            return sorted(logprobs, key=lambda token: -logprobs[token])
        return [text for text, _ in Counter(self.answer).most_common()]

    @property
    def ceiling(self) -> float:
        return self.answer.ceiling if isinstance(self.answer, Reported) else 0.0


def reported(listed: Sequence[tuple[str, float]], sampled: Sequence[str] | None) -> Reported:
    """The tokens listed for a position.

    Some servers add the sampled token, `sampled[0]`, to the most likely ones; it therefore does not
    bound the unlisted tokens. Raises ValueError for a log-probability that is not finite or is
    above 0.
    """
    listed = [(_text(token), logprob) for token, logprob in listed]
    logprobs: dict[str, float] = {}
    for token, logprob in listed:
        if not math.isfinite(logprob) or logprob > ROUNDING:
            raise ValueError(f"it gives the token {token!r} a log-probability of {logprob:g}")
    for token, logprob in sorted(listed, key=lambda pair: -pair[1]):
        logprobs.setdefault(token, float(logprob))
    drawn = _text(sampled[0]) if sampled else None
    others = [value for token, value in logprobs.items() if token != drawn]
    return Reported(logprobs, min(others, default=0.0))


def _text(token: str) -> str:
    return f" {token[1:]}" if token.startswith(SPACES) else token
