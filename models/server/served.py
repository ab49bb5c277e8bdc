"""What `app.py` answers: OpenAI's requests as data, answered by a checkpoint of this machine.

Nothing here knows HTTP.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jinja2 import TemplateError

from common.errors import GauntletError
from models.base import Generate, Generation, Prompt, Reply, Score, Scores
from models.engine import hub
from models.engine.files import check_folder, local_folder
from models.engine.local import Local, load_network
from models.engine.sampling import choose, cut_at
from models.engine.tokens import Tokens, load_tokens
from models.server.batches import Batches

Body = Mapping[str, Any]

MOST_TOP = 20
"""Log-probabilities that a request may ask for, as in OpenAI's chat."""


class Refused(GauntletError):
    """A request that cannot be answered as it is; the message says what can."""


class ByNumber(Tokens):
    """Reads a prompt as it is; a choice is the number of a token, not a word. So a Score over all
    numbers gives the whole distribution of the next token."""

    def text(self, prompt: Prompt) -> str:
        return prompt.text

    def _spellings(self, choice: str) -> tuple[int, ...]:
        return (int(choice),)


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
            raise Refused("stream is not supported; leave it out")
        limit = "max_completion_tokens" if "max_completion_tokens" in body else "max_tokens"
        max_tokens = _number(body, limit, 16, 1)
        if top is not None and max_tokens > 1:
            raise Refused(f"log-probabilities are told of one token: set {limit} to 1")
        if top is not None and top > MOST_TOP:
            raise Refused(f"{top} log-probabilities were asked for; 0 to {MOST_TOP} can be")
        temperature = body.get("temperature")
        temperature = 1.0 if temperature is None else temperature
        if not isinstance(temperature, (int, float)) or not 0 <= temperature <= 2:
            raise Refused(f"temperature is {temperature!r}; it must be 0 to 2")
        seed = _number(body, "seed", random.getrandbits(31), 0)
        count = _number(body, "n", 1, 1)
        stops, json = _stops(body), _wants_json(body)
        return ApiRequest(tuple(prompts), max_tokens, temperature, stops, seed, count, top, json)


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
        self._batches = Batches()

    def completion(self, body: Body) -> dict[str, Any]:
        """The body that answers a body of /v1/completions. Raises Refused or ModelError."""
        prompt = body.get("prompt")
        prompts = [prompt] if isinstance(prompt, str) else prompt
        if not isinstance(prompts, list) or not all(isinstance(p, str) for p in prompts):
            raise Refused("prompt must be text or a list of texts")
        top = None if body.get("logprobs") is None else _number(body, "logprobs", 0, 0)
        asked = ApiRequest.of(body, prompts, top)
        answers = self._answer(self._raw, asked)
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

    def chat(self, body: Body) -> dict[str, Any]:
        """The body that answers a body of /v1/chat/completions. Raises Refused or ModelError."""
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages or not all(map(_is_message, messages)):
            raise Refused("messages must be a list of {role, content}, with text as content")
        top = _number(body, "top_logprobs", 0, 0) if body.get("logprobs") else None
        asked = ApiRequest.of(body, [self._text(messages)], top)
        answers = self._answer(self._chat, asked)
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
            raise Refused(f"the model's chat template: {error}") from None

    def _answer(self, model: Local, asked: ApiRequest) -> list[Choice]:
        """`count` choices for every prompt."""
        prompts = [_prompt(text) for text in asked.prompts]
        if asked.max_tokens == 1:  # one distribution is enough for any number of draws
            scores = [self._batches.ask(model, Score((p,), self._everything)) for p in prompts]
            return [choice for future in scores for choice in self._firsts(future.result(), asked)]
        written = [
            self._batches.ask(model, request) for p in prompts for request in _drawn(p, asked)
        ]
        return [_choice(future.result(), asked) for future in written]

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


def _stops(body: Body) -> tuple[str, ...]:
    stop = body.get("stop") or ()
    stops = (stop,) if isinstance(stop, str) else stop
    if not isinstance(stops, (list, tuple)) or not all(isinstance(one, str) for one in stops):
        raise Refused(f"stop is {stop!r}; it must be text or a list of texts")
    return tuple(stops)


def _wants_json(body: Body) -> bool:
    """Whether one JSON object is asked for."""
    form = body.get("response_format") or {"type": "text"}
    kind = form.get("type") if isinstance(form, Mapping) else form
    if kind not in ("text", "json_object"):
        raise Refused(f"response_format is of type {kind!r}; it can be text or json_object")
    return bool(kind == "json_object")


def _number(body: Body, key: str, default: int, least: int) -> int:
    value = body.get(key)
    if value is None:
        return default
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return value
    raise Refused(f"{key} is {value!r}; it must be a whole number from {least} up")
