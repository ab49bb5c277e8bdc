"""How a decision came about: what every prompt of it gave each answer, and what that adds up to.

A trace is read off a record alone, without the model or the prompting method: which option an
answer word stood for is read from the lines of the prompt as it was sent ("A) green 2").
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gauntlet.models.exchanges import Exchange, TextExchange
from gauntlet.pipeline.log.schema import DecisionRecord

LETTERED = re.compile(r"^(\w+)\) (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Answer:
    """An answer word, the probability that it got, and which option it stood for in its prompt, as
    an index, if it stood for one."""

    word: str
    probability: float
    option: int | None


@dataclass(frozen=True)
class TracedPrompt:
    """One prompt as it was sent, and its answers: words with their chances, or written text.

    taken: what was made of the text, or what is wrong with it; "" where the record does not tell.
    """

    prompt: str
    answers: tuple[Answer, ...]
    text: str | None = None
    taken: str = ""


@dataclass(frozen=True)
class Trace:
    """A decision: its prompts in order, and for each option its score (None without one)."""

    asked: tuple[TracedPrompt, ...]
    options: tuple[str, ...]
    scores: tuple[float | None, ...]
    chosen: int

    def lines(self) -> list[str]:
        """The trace as text: each prompt's answers, the scores, the choice."""
        said = [
            line
            for number, asked in enumerate(self.asked)
            for line in self._describe_prompt(number, asked)
        ]
        scored = [
            f"{'->' if number == self.chosen else '  '} {option}"
            + (f"  {score:+.4f}" if score is not None else "")
            for number, (option, score) in enumerate(zip(self.options, self.scores, strict=True))
        ]
        return said + scored

    def _describe_prompt(self, number: int, prompt: TracedPrompt) -> Iterator[str]:
        if prompt.text is not None:
            taken = f" -> {prompt.taken}" if prompt.taken else ""
            yield f"[{number}] wrote {prompt.text!r}{taken}"
        for answer in prompt.answers:
            meant = "" if answer.option is None else f" -> {self.options[answer.option]}"
            yield f"[{number}] {answer.word} {answer.probability:.4f}{meant}"


def trace(decision: DecisionRecord, statics: Mapping[str, str]) -> Trace:
    """The trace of one decision of a record with these statics."""
    options = decision.options
    scores = decision.scores or (None,) * len(options)
    written = [one for one in decision.asked if isinstance(one, TextExchange)]
    taken = iter(_taken(decision, sum(1 + len(one.others) for one in written)))
    asked = tuple(
        one for exchange in decision.asked for one in _prompts(exchange, statics, options, taken)
    )
    return Trace(asked, options, scores, decision.chosen)


def _prompts(
    exchange: Exchange, statics: Mapping[str, str], options: Sequence[str], taken: Iterator[str]
) -> Iterator[TracedPrompt]:
    if isinstance(exchange, TextExchange):
        for text in (exchange.text, *exchange.others):
            yield TracedPrompt(exchange.prompt(statics).text, (), text, next(taken))
        return
    for number, branch in enumerate(exchange.branches):
        prompt = exchange.prompt(statics, branch)
        lettered = dict(LETTERED.findall(prompt.changing))
        answers = []
        for place, word in enumerate(exchange.choices):
            logprob = exchange.logprobs[number][place]
            chance = 0.0 if logprob is None else math.exp(logprob)
            answers.append(
                Answer(word, chance, _meant(lettered.get(word), number + place, options))
            )
        yield TracedPrompt(prompt.text, tuple(answers))


def _taken(decision: DecisionRecord, replies: int) -> list[str]:
    """What was made of each text that was written: what the method noted of its own replies, then
    what was wrong with words for an open option, and last those that would do."""
    dropped, faults = _noted(decision, "dropped"), _noted(decision, "faults")
    found = [
        _named(answer, decision.options) + ", taken for no answer" * (number in dropped)
        for number, answer in enumerate(_noted(decision, "answers"))
    ]
    words = [*map(str, faults), *([decision.text] if decision.text else [])]
    own = len(found) or replies - len(faults) - bool(decision.text and not decision.fallback)
    found += [""] * (own - len(found))
    return [*found, *words, *[""] * replies][:replies]


def _noted(decision: DecisionRecord, name: str) -> Sequence[Any]:
    noted = decision.notes.get(name, ())
    return noted if isinstance(noted, list | tuple) else ()


def _named(answer: Any, options: Sequence[str]) -> str:
    """The option of this number; what stands in its place is what was wrong."""
    known = isinstance(answer, int) and 0 <= answer < len(options)
    return options[answer] if known else str(answer)


def _meant(named: str | None, guess: int, options: Sequence[str]) -> int | None:
    """Which option a prompt's line names; of equal ones that which a rotated list has there."""
    if named is None or named not in options:
        return None
    guess %= len(options)
    return guess if options[guess] == named else list(options).index(named)
