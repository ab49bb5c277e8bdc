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
from gauntlet.models.base import (
    Detail,
    Finish,
    Generate,
    Generation,
    Prompt,
    Reply,
    Request,
    Score,
    Scores,
    merge_samples,
    unless_plain,
)


@dataclass(frozen=True)
class Fake:
    """A model source whose model answers instantly, and identically in every process.

    seed: selects the fake and its preferences.
    texts: the texts it may generate; the prompt decides which. Without any it picks one of the
        moves that the prompt lists, in the format that the prompt asks for.

    A word counts as a token. A choice may be any word. Its text is not constrained to JSON.
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
    """The stateless model of `source`."""

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
        return merge_samples(samples, request.n)

    def _sample(self, request: Generate, number: int) -> Generation:
        luck = [str(request.seed), *([str(number)] if number else [])]
        drawn = self._number(request.prompt.text, *(luck if request.temperature > 0 else ["0"]))
        texts = self.source.texts
        reply = _pick(texts, drawn) if texts else reply_in_form(request.prompt.text, drawn)
        words = reply.split()
        shown = words[: request.max_tokens]
        text = full = " ".join(shown)
        for stop in request.stop:
            text = text.partition(stop)[0]
        finish: Finish = "stop" if shown == words else "length"
        details = unless_plain([Detail("stop_string" if text != full else finish)])
        return Generation(text, _length(request.prompt), len(shown), details=details)

    def _number(self, *texts: str) -> float:
        """A number strictly between 0 and 1, determined by the seed and the texts."""
        data = repr((self.source.seed, texts)).encode()
        return (int.from_bytes(hashlib.sha256(data).digest()[:6], "big") + 0.5) / 2**48


def _length(prompt: Prompt) -> int:
    return len(prompt.text.split())


LEGAL = re.compile(r"^Legal moves:(?: (.+)|((?:\n- .+)+))$", re.MULTILINE)
FIGURE = re.compile(r"^(.+ is) N$", re.MULTILINE)
OBJECT = re.compile(r"one JSON object.*?(\{.*\})")
TAGGED = re.compile(r"between <(\w+)> and </\1>")
"""How a prompt shows its answer format: a move of a list, a line ending in a number, a JSON object,
or something between tags. The last in a prompt counts; if there is none, a letter is expected."""
LISTED = r"^({})\) "
"""Starts a line that lists an option under its number or letter."""
INTENT = re.compile(r"^- (\w+)", re.MULTILINE)
EXAMPLE = re.compile(r'such as "([^"]*)"')
CODE = re.compile(r"(?:by code:|;) (\w+): ")


def reply_in_form(prompt: str, share: float) -> str:
    """A reply in the format that the prompt shows. share: from 0 to 1, selects the move."""
    forms = {LEGAL: _move, FIGURE: _figure, OBJECT: _object, TAGGED: _between}
    forms_shown = [
        (last, form) for at, form in forms.items() for last in [*at.finditer(prompt)][-1:]
    ]
    if not forms_shown:
        return _pick(_listed(prompt, "[A-Z]") or ["A"], share)
    last, form = max(forms_shown, key=lambda pair: pair[0].start())
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
    """Every key that the prompt names, with a fitting value."""
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
    marks = re.findall(LISTED.format(under), prompt, re.MULTILINE)
    first = max((at for at, mark in enumerate(marks) if mark in ("1", "A")), default=0)
    return marks[first:]


def _pick(items: Sequence[str], share: float) -> str:
    return items[int(share * len(items))]
