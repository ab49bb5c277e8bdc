"""A model without a network, for tests and dry runs: its answers are a function of the prompt."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gauntlet.common.errors import ModelError
from gauntlet.models.base import Generate, Generation, Prompt, Reply, Request, Score, Scores


@dataclass(frozen=True)
class Fake:
    """A model source whose model answers at once, and the same in every process.

    seed: another seed gives another fake, with other opinions.
    texts: what it may say when it is asked to write; the prompt decides which. Without any it
        takes one of the moves that the prompt lists, in the form that the prompt asks for.

    A word counts as a token. A choice may be any word. What it writes is not held to JSON.
    """

    seed: int = 0
    texts: tuple[str, ...] = ()

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
        texts = self.source.texts
        said = _pick(texts, drawn) if texts else reply_in_form(request.prompt.text, drawn)
        words = said.split()
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


LEGAL = re.compile(r"^Legal moves:(?: (.+)|((?:\n- .+)+))$", re.MULTILINE)
FIGURE = re.compile(r"^(.+ is) N$", re.MULTILINE)
OBJECT = re.compile(r"one JSON object.*?(\{.*\})")
TAGGED = re.compile(r"between <(\w+)> and </\1>")
"""How a prompt shows what it wants: a move of a list, a line that ends in a number, a JSON object,
something between tags. The last in a prompt counts; one that shows none wants a letter."""
LISTED = r"^({})\) "
"""How a line begins that lists an option under its number or letter."""
INTENT = re.compile(r"^- (\w+)", re.MULTILINE)
EXAMPLE = re.compile(r'such as "([^"]*)"')
CODE = re.compile(r"(?:by code:|;) (\w+): ")


def reply_in_form(prompt: str, share: float) -> str:
    """A reply in the form that the prompt shows. share: from 0 to 1, which of the moves."""
    forms = {LEGAL: _move, FIGURE: _figure, OBJECT: _object, TAGGED: _between}
    found = [(last, form) for at, form in forms.items() for last in [*at.finditer(prompt)][-1:]]
    if not found:
        return _pick(_listed(prompt, "[A-Z]") or ["A"], share)
    last, form = max(found, key=lambda one: one[0].start())
    return form(last, prompt, share)


def _move(form: re.Match[str], prompt: str, share: float) -> str:
    intents = INTENT.findall(prompt[form.end() :])
    action = f"Action: {_pick(intents, share)}\n" if intents else ""
    moves = form[1].split(", ") if form[1] else form[2].split("\n- ")[1:]
    return f"Thought: it is legal.\n{action}Move: <{_pick(moves, share)}>"


def _figure(form: re.Match[str], prompt: str, share: float) -> str:
    figures = _listed(prompt, r"\d+") or [str(figure) for figure in range(101)]
    return f"{form[1]} {_pick(figures, share)}"


def _object(form: re.Match[str], prompt: str, share: float) -> str:
    """Every key that the prompt names, with a value that fits."""
    words = EXAMPLE.findall(prompt) or ["well"]
    values = {
        "action": _pick(_listed(prompt, r"\d+") or ["1"], share),
        "openended_response": words[-1],
        "text": words[-1],
        "confidence": round(share, 2),
    }
    other = _pick(CODE.findall(prompt) or ["It is legal."], share)
    keys = dict.fromkeys(re.findall(r'"(\w+)": ', form[1]))
    return json.dumps({key: values.get(key, other) for key in keys})


def _between(form: re.Match[str], prompt: str, share: float) -> str:
    return f"<{form[1]}>as before</{form[1]}>"


def _listed(prompt: str, under: str) -> list[str]:
    """The numbers or letters of the last list."""
    found = re.findall(LISTED.format(under), prompt, re.MULTILINE)
    first = max((at for at, one in enumerate(found) if one in ("1", "A")), default=0)
    return found[first:]


def _pick(items: Sequence[str], share: float) -> str:
    return items[int(share * len(items))]
