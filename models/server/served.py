"""What `app.py` answers: OpenAI's requests as data, answered by a checkpoint of this machine.

Nothing here knows HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jinja2 import TemplateError

from models.base import Generate, Generation, Prompt, Reply, Score, Scores
from models.engine import hub
from models.engine.files import check_folder, local_folder
from models.engine.local import Local, load_network
from models.engine.reference import longest
from models.engine.sampling import choose, cut_at
from models.engine.tokens import Tokens, load_tokens
from models.server.asked import ApiRequest, Body, Refused, check_fields, top_of
from models.server.batches import Batches, Left, Ticket

TOO_LONG = "context_length_exceeded"
MOST_CHARACTERS = 16
"""Characters a token, on average over a prompt: four are usual. A longer prompt is not even
tokenized."""


class ByNumber(Tokens):
    """Reads a prompt as it is; a choice is the number of a token, not a word. So a Score over all
    numbers gives the whole distribution of the next token."""

    def text(self, prompt: Prompt) -> str:
        return prompt.text

    def _spellings(self, choice: str) -> tuple[int, ...]:
        return (int(choice),)


@dataclass(frozen=True)
class Choice:
    """One answer: its text, why it ended, tokens, and the likeliest first tokens if asked for."""

    text: str
    ended: str
    prompt_tokens: int
    tokens: int
    drawn: tuple[str, float] | None = None
    likeliest: tuple[tuple[str, float], ...] = ()


class Served:
    """A checkpoint that answers the bodies of both endpoints with bodies. Any thread may ask."""

    def __init__(self, path: str, name: str, dtype: str = "float32") -> None:
        """path: as in `Checkpoint`; name: what clients call the model. Raises ModelError."""
        folder = local_folder(path)
        if folder is None:
            folder = hub.fetched_folder(path, None)
        check_folder(folder, path)
        network = load_network(folder, path, dtype, "auto")
        self.name = name
        self._tokenizer = load_tokens(folder, path, chat=False).tokenizer
        self._template = Tokens(self._tokenizer, path, bool(self._tokenizer.chat_template))
        self._raw = Local(network, ByNumber(self._tokenizer, path, chat=False), "packed")
        self._chat = self._raw
        if self._tokenizer.chat_template:
            self._chat = Local(network, ByNumber(self._tokenizer, path, chat=True), "packed")
        self._everything = tuple(map(str, range(network.config.vocab_size)))
        self._limit = longest(network.config)
        """Tokens of a text: the prompt's and those to write."""
        self._batches = Batches()

    def completion(self, body: Body, ticket: Ticket | None = None) -> dict[str, Any]:
        """The body that answers a body of /v1/completions; ticket: for whom. Raises Refused, Busy,
        Left or ModelError."""
        check_fields(body, "completions")
        prompt = body.get("prompt")
        prompts = [prompt] if isinstance(prompt, str) else prompt
        if not isinstance(prompts, list) or not all(isinstance(p, str) for p in prompts):
            raise Refused("prompt must be text or a list of texts", "prompt")
        top = None if body.get("logprobs") is None else top_of(body, "logprobs")
        asked = ApiRequest.of(body, prompts, top)
        answers = self._answer(self._raw, asked, ticket or Ticket())
        choices = [
            {
                "index": number,
                "text": choice.text,
                "finish_reason": choice.ended,
                "logprobs": _completion_logprobs(choice),
            }
            for number, choice in enumerate(answers)
        ]
        return self._reply("text_completion", asked, answers, choices)

    def chat(self, body: Body, ticket: Ticket | None = None) -> dict[str, Any]:
        """The same for /v1/chat/completions."""
        check_fields(body, "chat")
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages or not all(map(_is_message, messages)):
            raise Refused(
                "messages must be a list of {role, content}, with text as content", "messages"
            )
        if body.get("logprobs") not in (None, True, False):
            raise Refused(f"logprobs is {body['logprobs']!r}; it must be true or false", "logprobs")
        top = top_of(body, "top_logprobs") if body.get("logprobs") else None
        asked = ApiRequest.of(body, [self._text(messages)], top)
        answers = self._answer(self._chat, asked, ticket or Ticket())
        choices = [
            {
                "index": number,
                "message": {"role": "assistant", "content": choice.text},
                "finish_reason": choice.ended,
                "logprobs": _chat_logprobs(choice),
            }
            for number, choice in enumerate(answers)
        ]
        return self._reply("chat.completion", asked, answers, choices)

    def leave(self, ticket: Ticket) -> None:
        """Whoever asked with this ticket has gone: what is asked for it raises Left."""
        self._batches.leave(ticket)

    def close(self) -> None:
        self._batches.close()

    def _text(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The conversation as the model reads it; without a template its contents, joined. A last
        message of the assistant is gone on with."""
        if not self._template.chat:
            return "".join(message["content"] for message in messages)
        try:
            return self._template.wrapped(messages, messages[-1]["role"] == "assistant")
        except TemplateError as error:
            raise Refused(f"the model's chat template: {error}", "messages") from None

    def _answer(self, model: Local, asked: ApiRequest, ticket: Ticket) -> list[Choice]:
        """`count` choices for every prompt."""
        prompts = [self._fitting(model, text, asked) for text in asked.prompts]
        if asked.max_tokens == 1:  # one distribution is enough for any number of draws
            scores = [Score((prompt,), self._everything) for prompt in prompts]
            replies = self._replies(model, scores, ticket)
            return [choice for reply in replies for choice in self._firsts(reply, asked)]
        written = [request for prompt in prompts for request in _drawn(prompt, asked)]
        return [_choice(reply, asked) for reply in self._replies(model, written, ticket)]

    def _fitting(self, model: Local, text: str, asked: ApiRequest) -> Prompt:
        """The text as a prompt. Raises Refused where the model cannot hold it: a request that would
        fail in a batch makes the others wait. What is far too long is not even tokenized."""
        prompt = _prompt(text)
        length, unit = len(text), "characters"
        if length <= self._limit * MOST_CHARACTERS:
            length, unit = len(model.tokens.encode(prompt)), "tokens"
            # What comes first after a text is known without room for it.
            if length + (asked.max_tokens if asked.max_tokens > 1 else 0) <= self._limit:
                return prompt
        raise Refused(
            f"a prompt of {length} {unit} and {asked.max_tokens} tokens to write are more than the "
            f"{self._limit} tokens that the model can hold",
            code=TOO_LONG,
        )

    def _replies(
        self, model: Local, requests: Sequence[Score | Generate], ticket: Ticket
    ) -> list[Reply]:
        futures: list[Future[Reply]] = []
        try:
            futures += (self._batches.ask(model, request, ticket) for request in requests)
            return [future.result() for future in futures]
        except CancelledError:
            raise Left("nobody waits for the answer") from None
        finally:
            self._batches.leave(ticket)  # of a request that failed, the rest is not wanted

    def _firsts(self, scores: Reply, asked: ApiRequest) -> list[Choice]:
        """`count` first tokens, from the distribution of all."""
        assert isinstance(scores, Scores)
        logprobs = torch.tensor(scores.logprobs[0])
        best = torch.topk(logprobs, asked.top or 0)
        listed = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        likeliest = tuple((self._spelt(number), logprob) for number, logprob in listed)
        choices = []
        for seed in range(asked.seed, asked.seed + asked.count):
            token = choose(logprobs, asked.temperature, np.random.default_rng(seed))
            text = str(self._tokenizer.decode([token], skip_special_tokens=True))
            text, _ = cut_at(text, asked.stop)
            told = (self._spelt(token), float(logprobs[token])) if asked.top is not None else None
            choices.append(Choice(text, "length", scores.tokens[0], 1, told, likeliest))
        return choices

    def _spelt(self, token: int) -> str:
        return str(self._tokenizer.decode([token], skip_special_tokens=False))

    def _reply(
        self, kind: str, asked: ApiRequest, answers: Sequence[Choice], choices: list[dict[str, Any]]
    ) -> dict[str, Any]:
        read = sum(choice.prompt_tokens for choice in answers[:: asked.count])
        written = sum(choice.tokens for choice in answers)
        return {
            "id": f"{kind}-{asked.seed}",
            "object": kind,
            "created": 0,
            "model": self.name,
            "choices": choices,
            "usage": {
                "prompt_tokens": read,
                "completion_tokens": written,
                "total_tokens": read + written,
            },
        }


def _prompt(text: str) -> Prompt:
    """The text as a prompt; what lies before its last empty line is likely to come again."""
    cut = text.rfind("\n\n") + 2
    return Prompt(text[:cut], text[cut:]) if cut > 1 else Prompt("", text)


def _drawn(prompt: Prompt, asked: ApiRequest) -> list[Generate]:
    """A request for each answer: answer i is the first of the seed i further on, so that a client
    can ask for the rest of what it got in part."""
    first = Generate(
        prompt, asked.max_tokens, asked.temperature, asked.stop, asked.seed, json=asked.json
    )
    return [replace(first, seed=asked.seed + number) for number in range(asked.count)]


def _choice(reply: Reply, asked: ApiRequest) -> Choice:
    assert isinstance(reply, Generation)
    ended = "length" if reply.tokens >= asked.max_tokens else "stop"
    return Choice(reply.text, ended, reply.prompt_tokens, reply.tokens)


def _completion_logprobs(choice: Choice) -> dict[str, Any] | None:
    if choice.drawn is None:
        return None
    token, logprob = choice.drawn
    listed: dict[str, float] = {}
    for other, value in (*choice.likeliest, choice.drawn):
        listed.setdefault(other, value)
    return {
        "tokens": [token],
        "token_logprobs": [logprob],
        "top_logprobs": [listed],
        "text_offset": [0],
    }


def _chat_logprobs(choice: Choice) -> dict[str, Any] | None:
    if choice.drawn is None:
        return None
    listed = [_told(*one) for one in choice.likeliest]
    return {"content": [{**_told(*choice.drawn), "top_logprobs": listed}], "refusal": None}


def _told(token: str, logprob: float) -> dict[str, Any]:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode())}


def _is_message(message: Any) -> bool:
    return isinstance(message, Mapping) and all(
        isinstance(message.get(part), str) for part in ("role", "content")
    )
