"""Requests, replies and the one method that every model has.

An agent asks in plain prompts. How requests are batched, cached or sharded is the model's own
affair; nothing in a request speaks of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model reads. As raw text it is the three parts joined.

    static: the part that a seat's decisions share (role, goal, rules); ends in a line break.
    changing: the situation, the options and the question.
    cue: how the answer begins ("Answer:"); with a chat template it opens the model's turn.
    system: what stands before the conversation, in a message of its own where the model has such;
        as raw text it comes first. Ends in a line break, or is empty.
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
        """What was said, without cues: by whoever asks, by the model, in turn."""
        return (self.static + self.changing,)


@dataclass(frozen=True, slots=True)
class Dialogue(Prompt):
    """A prompt that was answered, and what was said since. As raw text all is joined, each message
    to the model followed by the cue.

    turns: in order, what the model replied and the next message to it.
    """

    turns: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        first = self.system + self.static + self.changing + self.cue
        return first + "".join(reply + told + self.cue for reply, told in self.turns)

    @property
    def messages(self) -> tuple[str, ...]:
        said = (text for turn in self.turns for text in turn)
        return (self.static + self.changing, *said)


@dataclass(frozen=True, slots=True)
class Score:
    """Asks how likely each choice is as the next token after each of the prompts.

    The prompts are those of one decision: they usually share most of their text, and are at the
    same place of the same dialogue if of any. A choice is a word that is one token of the
    tokenizer, with or without a space before it.
    """

    prompts: tuple[Prompt, ...]
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scores:
    """The reply to Score.

    logprobs: natural logarithms of shape (prompts, choices), normalised over the whole
        vocabulary; of a choice's two spellings (with and without a leading space) the likelier.
        Minus infinity for a choice that the model did not report.
    tokens: length in tokens of each prompt as sent.
    ceilings: for each prompt the most that the logprob of an unreported choice can be; () where
        every choice was reported.
    """

    logprobs: tuple[tuple[float, ...], ...]
    tokens: tuple[int, ...]
    ceilings: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Generate:
    """Asks for text after a prompt: at most `max_tokens` tokens, ended early by a stop string.

    n: how many samples of it, each drawn independently; sample i is the same whatever n is.
    json: whether the text is to be one JSON object. A model that can be held to that is; another
        one is not, and what it writes is for the asker to check.
    """

    prompt: Prompt
    max_tokens: int
    temperature: float = 0.0
    stop: tuple[str, ...] = ()
    seed: int = 0
    n: int = 1
    json: bool = False


@dataclass(frozen=True, slots=True)
class Generation:
    """The reply to Generate: the text (stop string left off) and the tokens read and written.

    others: the further samples, where more than one was asked for. tokens: of all of them.
    """

    text: str
    prompt_tokens: int
    tokens: int
    others: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """All samples, in order."""
        return (self.text, *self.others)


Request = Score | Generate
Reply = Scores | Generation


class Model(Protocol):
    """Answers batches of requests."""

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        """One reply a request, in order. A batch of one is not special."""
        ...

    def close(self) -> None:
        """Frees what the model holds."""
        ...


@runtime_checkable
class Concurrent(Protocol):
    """A model that answers requests one by one, several at a time, as an API does. `answer` may be
    called from `slots` threads at once, and is given one request a call: none waits for another."""

    @property
    def slots(self) -> int: ...


@runtime_checkable
class Cancellable(Protocol):
    """A model whose answer may be long in coming, such as a person's."""

    def cancel(self) -> None:
        """Called from another thread: an answer under way, and any later one, is a ModelError."""
        ...


@runtime_checkable
class Paid(Protocol):
    """A model source whose answers cost money."""

    @property
    def timeout(self) -> float:
        """Seconds that an answer under way may take."""
        ...

    @property
    def in_flight(self) -> int:
        """How many requests are under way at a time."""
        ...

    def price(self, read: int, written: int) -> float:
        """The price of prompt tokens read and completion tokens written; 0 where it is unknown."""
        ...

    def account(self) -> str:
        """What was paid so far and for what, in one line."""
        ...


class ModelSource(Protocol):
    """Where a model comes from: small, hashable, picklable, cheap to build (see conf/model)."""

    def __hash__(self) -> int: ...

    def identity(self) -> Mapping[str, Any]:
        """All that can change an answer (content hash of the weights and tokenizer, dtype, chat
        template), and nothing that cannot (path, device). Raises ModelError if it is not there."""
        ...

    def check_choices(self, choices: Sequence[str]) -> None:
        """Raises ModelError unless every choice is a single token of this model."""
        ...

    def load(self) -> Model:
        """The model, ready to answer. Raises ModelError."""
        ...
