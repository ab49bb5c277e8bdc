"""Probabilities of given options, on servers with an endpoint of their own for them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gauntlet.models.api.dialects.base import Body, Dialect, Said
from gauntlet.models.api.dialects.chat import Chat
from gauntlet.models.api.dialects.responses import Responses
from gauntlet.models.api.ledger import Tokens
from gauntlet.models.api.scoring import Reported
from gauntlet.models.base import Detail, Dialogue, Prompt

Scoring = Generator[Body, Mapping[str, Any], Reported | None]
"""Yields requests and is sent their replies; returns the options' log-probabilities."""
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
        shares = {str(one["value"]): float(one["probability"]) for one in answer["probabilities"]}
        if not all(0 <= share <= 1.001 for share in shares.values()):
            raise ValueError("it gives probabilities that are none")
        logprobs = {word: math.log(share) for word, share in shares.items() if share}
        return Reported(logprobs, 0.0)

    def texts(self, reply: Mapping[str, Any]) -> list[Said]:
        return [Said(one["type"], Detail()) for one in reply["answers"]]

    def path(self, body: Body) -> str:
        return "decisions"

    def streams(self, body: Body) -> bool:
        return False

    def _limit_of(self, body: Body) -> int:
        return DECISION_TOKENS


class Vllm(Scorer, Chat):
    """vLLM's chat with `logprob_token_ids`: log-probabilities over the vocabulary of exactly these
    tokens, which its tokenizer names."""

    def scores(self, prompt: Prompt, choices: Sequence[str]) -> Scoring:
        tokens: set[int] = set()
        for word in choices:
            for spelt in (word, f" {word}"):
                asked = {"model": self.name, "prompt": spelt, "add_special_tokens": False}
                found = (yield asked)["tokens"]
                tokens |= {int(found[0])} if len(found) == 1 else set()
        body = self.scoring(prompt, 0) or {}
        body = {key: value for key, value in body.items() if key != "top_logprobs"}
        reply = yield {**body, "logprob_token_ids": sorted(tokens)}
        return self.first_token(reply)

    def texts(self, reply: Mapping[str, Any]) -> list[Said]:
        return [Said("", Detail())] if "tokens" in reply else super().texts(reply)

    def usage(self, reply: Mapping[str, Any]) -> Tokens | None:
        return Tokens(0, 0) if "tokens" in reply else super().usage(reply)

    def path(self, body: Body) -> str:
        return "/tokenize" if "prompt" in body else super().path(body)

    def sent(self, body: Body, group: str = "") -> Body:
        return body if "prompt" in body else super().sent(body, group)

    def _messages(self, body: Body) -> Sequence[Any]:
        return [body["prompt"]] if "prompt" in body else super()._messages(body)


SCORERS: dict[str, tuple[type[Scorer], tuple[str, ...]]] = {
    "decisions": (Decisions, ("chat", "responses")),
    "vllm": (Vllm, ("chat",)),
}
"""By the name that the setting `scores` gives, and the endpoints of the same servers."""
