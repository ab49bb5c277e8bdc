"""The protocols of model servers, and those that give probabilities of given options; each is pure:
requests as bodies, replies as texts and counts."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gauntlet.models.api.dialects.base import Body, Dialect, ReplyText, Reported, reported
from gauntlet.models.api.dialects.chat import Chat, Completions
from gauntlet.models.api.dialects.gemini import Gemini
from gauntlet.models.api.dialects.messages import Messages
from gauntlet.models.api.dialects.responses import Responses
from gauntlet.models.api.ledger import Tokens
from gauntlet.models.base import Detail, Dialogue, Prompt

DIALECTS: dict[str, type[Dialect]] = {
    "chat": Chat,
    "completions": Completions,
    "responses": Responses,
    "messages": Messages,
    "gemini": Gemini,
}
"""By the name that the setting `endpoint` gives."""


Scoring = Generator[Body, Mapping[str, Any], Reported | None]
"""Yields requests and is sent their replies; returns the options' log-probabilities."""
TOKENIZE = "tokenize"
"""The key, in a body, of what goes to a server's tokenizer."""
DECISION_TOKENS = 256
"""Upper bound on the tokens that a decision is billed as written."""


class Scorer(Dialect):
    """A protocol that gives probabilities of options."""

    @abstractmethod
    def scores(self, prompt: Prompt, choices: Sequence[str]) -> Scoring:
        """Raises ValueError for a reply that gives none."""


class Decisions(Scorer, Responses):
    """v1/decisions of OpenAI: probabilities over the options alone."""

    def scores(self, prompt: Prompt, choices: Sequence[str]) -> Scoring:
        if isinstance(prompt, Dialogue):
            prompt = replace(prompt, returned=())  # only texts may be in a decision's input
        question = {"type": "choice", "instructions": "Which option is the answer?"}
        options = [{"value": choice} for choice in choices]
        body: Body = {"model": self.name, "input": self._input(prompt)}
        reply = yield {**body, "questions": [{**question, "choices": options}]}
        answer = reply["answers"][0]
        if answer["type"] != "choice":
            raise ValueError(f"it answers a decision with a {answer['type']}")
        shares = {
            str(entry["value"]): float(entry["probability"]) for entry in answer["probabilities"]
        }
        if not all(0 <= share <= 1.001 for share in shares.values()):
            raise ValueError("it gives probabilities that are none")
        logprobs = {word: math.log(share) for word, share in shares.items() if share}
        return Reported(logprobs, 0.0)

    def texts(self, reply: Mapping[str, Any]) -> list[ReplyText]:
        return [ReplyText(answer["type"], Detail()) for answer in reply["answers"]]

    def path(self, body: Body) -> str:
        return "decisions"

    def streams(self, body: Body) -> bool:
        return False

    def _limit_of(self, body: Body) -> int:
        return DECISION_TOKENS


class Tokenizing(Scorer, Chat):
    """A server that is asked for tokens by number, which its tokenizer tells."""

    def numbers(self, choices: Sequence[str]) -> Generator[Body, Mapping[str, Any], dict[int, str]]:
        """The choices' single tokens, with and without a leading space, and how each is spelt."""
        numbers: dict[int, str] = {}
        for spelt in (form for word in choices for form in (word, f" {word}")):
            request = {"model": self.name, "prompt": spelt, "add_special_tokens": False}
            tokens = (yield {TOKENIZE: request})["tokens"]
            if len(tokens) == 1:
                numbers[int(tokens[0])] = spelt
        return numbers

    def texts(self, reply: Mapping[str, Any]) -> list[ReplyText]:
        return super().texts(reply) if "choices" in reply else [ReplyText("", Detail())]

    def usage(self, reply: Mapping[str, Any]) -> Tokens | None:
        return Tokens(0, 0) if "tokens" in reply else super().usage(reply)

    def path(self, body: Body) -> str:
        return f"/{TOKENIZE}" if TOKENIZE in body else super().path(body)

    def sent(self, body: Body, group: str = "") -> Body:
        return dict(body[TOKENIZE]) if TOKENIZE in body else super().sent(body, group)

    def streams(self, body: Body) -> bool:
        return False

    def _messages(self, body: Body) -> Sequence[Any]:
        return [body[TOKENIZE]["prompt"]] if TOKENIZE in body else super()._messages(body)


class Vllm(Tokenizing):
    """vLLM's chat with `logprob_token_ids`: log-probabilities over the vocabulary of exactly these
    tokens."""

    def scores(self, prompt: Prompt, choices: Sequence[str]) -> Scoring:
        tokens = yield from self.numbers(choices)
        body = self.scoring(prompt, 0) or {}
        body = {key: value for key, value in body.items() if key != "top_logprobs"}
        reply = yield {**body, "logprob_token_ids": sorted(tokens)}
        return self.first_token(reply)


class Sglang(Tokenizing):
    """SGLang's v1/score: log-probabilities over the vocabulary of exactly these tokens after raw
    text."""

    def scores(self, prompt: Prompt, choices: Sequence[str]) -> Scoring:
        tokens = yield from self.numbers(choices)
        body: Body = {"model": self.name, "query": prompt.text, "items": [""]}
        reply = yield {**body, "label_token_ids": [*tokens], "return_token_logprobs": True}
        (logprobs,) = reply["token_logprobs"]
        return reported(list(zip(tokens.values(), logprobs, strict=True)), None)

    def path(self, body: Body) -> str:
        return "score" if "query" in body else super().path(body)

    def _messages(self, body: Body) -> Sequence[Any]:
        return [body["query"]] if "query" in body else super()._messages(body)


SCORERS: dict[str, tuple[type[Scorer], tuple[str, ...]]] = {
    "decisions": (Decisions, ("chat", "responses")),
    "vllm": (Vllm, ("chat",)),
    "sglang": (Sglang, ("completions",)),
}
"""By the name that the setting `scores` gives, and the endpoints of the same servers."""
