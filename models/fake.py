"""A model without a network, for tests and dry runs: its answers are a function of the prompt."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from common.errors import ModelError
from models.base import Generate, Generation, Prompt, Reply, Request, Score, Scores


@dataclass(frozen=True)
class Fake:
    """A model source whose model answers at once, and the same in every process.

    seed: another seed gives another fake, with other opinions.
    texts: what it may say when it is asked to write; the prompt decides which.

    A word counts as a token. A choice may be any word. What it writes is not held to JSON.
    """

    seed: int = 0
    texts: tuple[str, ...] = ("A", "B", "C")

    def identity(self) -> Mapping[str, Any]:
        return {"fake": self.seed, "texts": list(self.texts)}

    def check_choices(self, choices: Sequence[str]) -> None:
        for choice in choices:
            if len(choice.split()) != 1:
                raise ModelError(f"choice {choice!r} is not a single token of the fake model")

    def load(self) -> FakeModel:
        return FakeModel(self)


@dataclass(frozen=True)
class FakeModel:
    """Answers as `source` says; holds nothing."""

    source: Fake

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        return [self._write(r) if isinstance(r, Generate) else self._score(r) for r in requests]

    def close(self) -> None:
        pass

    def _score(self, request: Score) -> Scores:
        rows = (self._logprobs(prompt, request.choices) for prompt in request.prompts)
        return Scores(tuple(rows), tuple(map(_length, request.prompts)))

    def _logprobs(self, prompt: Prompt, choices: tuple[str, ...]) -> tuple[float, ...]:
        """A share of the probability for each choice, and one for all other words."""
        weights = [self._number(prompt.text, choice) for choice in choices]
        everything = sum(weights) + 1.0
        return tuple(math.log(weight / everything) for weight in weights)

    def _write(self, request: Generate) -> Generation:
        samples = [self._sample(request, number) for number in range(request.n)]
        (text, *others), lengths = zip(*samples, strict=True)
        return Generation(text, _length(request.prompt), sum(lengths), tuple(others))

    def _sample(self, request: Generate, number: int) -> tuple[str, int]:
        """The text of one sample, and how many words it took."""
        luck = [str(request.seed), *([str(number)] if number else [])]
        drawn = self._number(request.prompt.text, *(luck if request.temperature > 0 else ["0"]))
        words = self.source.texts[int(drawn * len(self.source.texts))].split()
        text = " ".join(words[: request.max_tokens])
        for stop in request.stop:
            text = text.partition(stop)[0]
        return text, len(words[: request.max_tokens])

    def _number(self, *texts: str) -> float:
        """A number above 0 and below 1 that the seed and the texts settle."""
        data = repr((self.source.seed, texts)).encode()
        return (int.from_bytes(hashlib.sha256(data).digest()[:6], "big") + 0.5) / 2**48


def _length(prompt: Prompt) -> int:
    return len(prompt.text.split())
