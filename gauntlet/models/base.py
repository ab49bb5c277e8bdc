"""Requests, replies and the model interface.

Agents send plain prompts. Batching, caching and sharding are internal to a model; nothing in a
request refers to them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from gauntlet.common.errors import ModelError, Stopped

Finish = Literal[
    "stop",
    "stop_string",
    "length",
    "context",
    "loop",
    "tool",
    "refused",
    "filtered",
    "paused",
    "failed",
    "unknown",
]
"""Why a text ended. stop: the model ended it. stop_string: at a string of the request. length: at
the token limit. context: the model's context is full. loop: it repeated itself without end. tool:
the model called a tool. refused: the model refused to answer. filtered: the server withheld it.
paused: the server waits for more. failed: the server broke off. unknown: a reason that the protocol
does not list."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A model's input. As raw text it is the four parts joined, system text first.

    static: the part that a seat's decisions share (role, goal, rules); ends in a line break.
    changing: the situation, the options and the question.
    cue: how the answer begins ("Answer:"); with a chat template it opens the model's turn.
    system: a system message where the model supports it. Ends in a line break, or is empty.
    """

    static: str
    changing: str
    cue: str = ""
    system: str = ""

    @property
    def text(self) -> str:
        return self.system + self.static + self.changing + self.cue

    @property
    def messages(self) -> tuple[str, ...]:
        """The messages without cues, alternating between user and model."""
        return (self.static + self.changing,)


@dataclass(frozen=True, slots=True)
class Dialogue(Prompt):
    """A prompt that was answered, and the conversation since.

    As raw text everything is joined, with the cue after each message to the model.

    turns: in order, the model's reply and the next message to it.
    returned: for each turn the reply's `Detail.returned`; () if no reply had one.
    """

    turns: tuple[tuple[str, str], ...] = ()
    returned: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        first = self.system + self.static + self.changing + self.cue
        return first + "".join(reply + message + self.cue for reply, message in self.turns)

    @property
    def messages(self) -> tuple[str, ...]:
        texts = (text for turn in self.turns for text in turn)
        return (self.static + self.changing, *texts)


def continue_dialogue(prompt: Prompt, reply: Generation, message: str) -> Dialogue:
    """The conversation so far, the first text of the reply, and the next message to the model."""
    before = prompt.turns if isinstance(prompt, Dialogue) else ()
    returned = prompt.returned if isinstance(prompt, Dialogue) else ()
    latest = reply.detail().returned
    if latest or returned:
        returned = (*returned, *[""] * (len(before) - len(returned)), latest)
    turns = (*before, (reply.text, message))
    return Dialogue(prompt.static, prompt.changing, prompt.cue, prompt.system, turns, returned)


@dataclass(frozen=True, slots=True)
class Score:
    """Requests the probability of each choice as the next token after each prompt.

    The prompts belong to one decision: they usually share most of their text, and are at the same
    point of the same dialogue, if any. A choice is a word that is a single token, with or without a
    leading space.
    """

    prompts: tuple[Prompt, ...]
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scores:
    """The reply to Score.

    logprobs: natural logarithms of shape (prompts, choices), normalised over the whole vocabulary;
        the larger of a choice's two spellings (with and without a leading space). Minus infinity
        for a choice that the model did not report.
    tokens: length in tokens of each prompt as sent.
    ceilings: for each prompt an upper bound on the logprob of an unreported choice; () if every
        choice was reported.
    finish: why no choice was reported, if a prompt was not answered.
    """

    logprobs: tuple[tuple[float, ...], ...]
    tokens: tuple[int, ...]
    ceilings: tuple[float, ...] = ()
    finish: Finish = "stop"


@dataclass(frozen=True, slots=True)
class Generate:
    """Requests text after a prompt: at most `max_tokens` tokens, ended early by a stop string.

    n: number of independent samples; sample i is the same whatever n is.
    json: whether the text should be one JSON object. Models without constrained output ignore it,
        so the caller must check the text.
    """

    prompt: Prompt
    max_tokens: int
    temperature: float = 0.0
    stop: tuple[str, ...] = ()
    seed: int = 0
    n: int = 1
    json: bool = False


@dataclass(frozen=True, slots=True)
class Detail:
    """What belongs to one text of a Generation besides its words.

    finish: why it ended.
    thoughts: the model's reasoning, kept apart from the text.
    refusal: the words of a refusal, which are no answer.
    returned: what the server wants to receive again with the next turn, as JSON (signed thoughts);
        "" if nothing. Meaningful only to the source that wrote it.
    """

    finish: Finish = "stop"
    thoughts: str = ""
    refusal: str = ""
    returned: str = ""


PLAIN = Detail()
"""Of a text that the model ended by itself, without thoughts."""


def unless_plain(details: Sequence[Detail]) -> tuple[Detail, ...]:
    """The details of a Generation's texts, in the form that it keeps: () if all are `PLAIN`."""
    return () if all(detail == PLAIN for detail in details) else tuple(details)


@dataclass(frozen=True, slots=True)
class Generation:
    """The reply to Generate: the text (without the stop string) and the tokens read and written.

    tokens: written, over all samples, thoughts included.
    others: the further samples, if more than one was requested.
    details: one per text, in order; () if all are `PLAIN`.
    thought_tokens: the part of `tokens` that was spent on thoughts; 0 if unknown.
    cached_tokens: the part of `prompt_tokens` that the server read from its cache.
    """

    text: str
    prompt_tokens: int
    tokens: int
    others: tuple[str, ...] = ()
    details: tuple[Detail, ...] = ()
    thought_tokens: int = 0
    cached_tokens: int = 0

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text, *self.others)

    def detail(self, sample: int = 0) -> Detail:
        """The detail of one text."""
        return self.details[sample] if self.details else PLAIN

    @property
    def finishes(self) -> tuple[Finish, ...]:
        """Why each text ended."""
        return tuple(self.detail(sample).finish for sample in range(len(self.texts)))


def merge_samples(samples: Sequence[Generation], n: int) -> Generation:
    """The reply of n samples of one prompt, each a Generation of its own; a single one is repeated
    n times. The tokens read are those of the first."""
    every = list(samples) if len(samples) == n else [*samples] * n
    return Generation(
        every[0].text,
        every[0].prompt_tokens,
        sum(sample.tokens for sample in every),
        tuple(sample.text for sample in every[1:]),
        unless_plain([sample.detail() for sample in every]),
        sum(sample.thought_tokens for sample in every),
        sum(sample.cached_tokens for sample in every),
    )


Request = Score | Generate
Reply = Scores | Generation


class Model(Protocol):
    """Answers batches of requests."""

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        """One reply per request, in order. A batch of one is not special."""
        ...

    def close(self) -> None:
        """Free the model's resources. A batch may still be running, whose answers nobody needs."""
        ...


More = Callable[[], Sequence[Request]]
"""Returns further requests, if there are any by now."""
Done = Callable[[int, Reply], None]
"""Receives the reply to a request, with its number in the order in which they came, from 0."""


@runtime_checkable
class Continuous(Protocol):
    """A model that begins further requests while it works on others, as text after text ends."""

    def answer_on(self, requests: Sequence[Request], more: More, done: Done) -> None:
        """Like `answer`, for these requests and all that `more` returns meanwhile; each reply is
        delivered as soon as it is there. Returns when all are."""
        ...


@runtime_checkable
class Concurrent(Protocol):
    """A model that answers single requests concurrently, like an API.

    `answer` may be called from `slots` threads at once, with one request per call.
    """

    @property
    def slots(self) -> int: ...


@runtime_checkable
class Cancellable(Protocol):
    """A model that may take long to answer, such as a person."""

    def cancel(self) -> None:
        """Called from another thread: answers in progress and later ones raise ModelError."""
        ...


@runtime_checkable
class Paid(Protocol):
    """A model source whose answers cost money."""

    @property
    def timeout(self) -> float:
        """Timeout of one answer in seconds."""
        ...

    @property
    def in_flight(self) -> int:
        """Number of concurrent requests."""
        ...

    def price(self, read: int, written: int) -> float:
        """The price of prompt tokens read and completion tokens written; 0 if unknown."""
        ...

    def account(self) -> str:
        """What was paid so far and for what, as one line."""
        ...


@runtime_checkable
class Keyed(Protocol):
    """A model source that may need a key."""

    def check_key(self) -> None:
        """Raises ModelError, naming the variable, if the key is missing or cannot be one."""
        ...


class ModelSource(Protocol):
    """A model's configuration: small, hashable, picklable, cheap to build (see conf/model)."""

    def __hash__(self) -> int: ...

    def identity(self) -> Mapping[str, Any]:
        """Everything that can change an answer (content hash of the weights and tokenizer,
        dtype, chat template), and nothing that cannot (path, device).

        Raises ModelError if the model is missing.
        """
        ...

    def check_choices(self, choices: Sequence[str]) -> None:
        """Raises ModelError unless every choice is a single token of this model."""
        ...

    def load(self) -> Model:
        """The model, ready to answer. Raises ModelError."""
        ...


def check_fields(
    source: Any,
    name: str,
    allowed: Mapping[str, Sequence[str]],
    least: Mapping[str, float],
    switches: Sequence[str] = (),
) -> None:
    """Raises ValueError for a field of a source that has none of its allowed values, is less than
    it may be (None is no number), or is a switch other than true, false and "auto"."""
    right = {field: ", ".join(values) for field, values in allowed.items()}
    wrong = [field for field, values in allowed.items() if getattr(source, field) not in values]
    for field in switches:
        right[field] = "auto, true, false"
        if not isinstance(value := getattr(source, field), bool) and value != "auto":
            wrong.append(field)
    for field in wrong:
        value = getattr(source, field)
        raise ValueError(f"{field} {value!r} of model {name!r}: allowed are {right[field]}")
    for field, bound in least.items():
        value = getattr(source, field)
        if value is not None and not value >= bound:
            raise ValueError(f"{field} {value:g} of model {name!r}: at least {bound:g}")


def answer_each(model: Model, requests: Sequence[Request]) -> Sequence[Reply | Exception]:
    """The model's replies, with an exception for each reply it cannot give. If the batch fails,
    each request is sent alone. After Stopped the model is not called again."""
    try:
        return _all_checked(model.answer(requests), len(requests))
    except Stopped as error:
        return [error] * len(requests)
    except BaseException as error:  # any exception goes to the caller
        if len(requests) > 1:
            return [answer_each(model, [request])[0] for request in requests]
        return [error if isinstance(error, Exception) else RuntimeError(f"it raised {error!r}")]


def checked(reply: Reply) -> Reply:
    """The reply. Raises TypeError if it is something else."""
    if not isinstance(reply, (Scores, Generation)):
        raise TypeError(f"{type(reply).__name__} is no reply of a model")
    return reply


def _all_checked(replies: Sequence[Reply], wanted: int) -> Sequence[Reply]:
    """Check count and types: a waiter whose reply is missing would wait forever."""
    if len(replies) != wanted:
        raise TypeError(f"the model gave {len(replies)} replies to {wanted} requests")
    return [checked(reply) for reply in replies]


def read_key(variable: str) -> str:
    """The key, without white space around it; "" if the variable is not set. Raises ModelError for
    one that no header can carry."""
    value = os.environ.get(variable, "")
    key = value.strip()
    if value and not key:
        raise ModelError(f"the variable {variable} is blank; give it a key, or unset it")
    if not all("!" <= character <= "~" for character in key):
        raise ModelError(
            f"the variable {variable} holds a space or a character that no key has; only printable "
            "ASCII characters are allowed"
        )
    return key
