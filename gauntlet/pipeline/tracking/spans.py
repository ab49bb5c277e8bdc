"""A match as traces: one per decision that used a model, with a span for every call.

Traces are per decision because MLflow lists traces with their input and output: a line such as
"your hand ... -> red 5" can be searched, sorted and opened, whereas a whole match has no single
question and answer. The match is the session, which MLflow shows as a conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import Any

from gauntlet.models.base import Dialogue, Prompt
from gauntlet.models.exchanges import Exchange, ScoreExchange
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord
from gauntlet.pipeline.viewer.match import PromptView, decision_view

Payload = dict[str, Any]
Times = tuple[int, int]
"""Start and end, in nanoseconds since 1970."""

PLACES = 6
"""Decimals of scores and probabilities."""
MEASURED, SPREAD = "measured", "spread"
"""The source of times: the record's clock, or an estimate for older records without one."""


@dataclass(frozen=True, slots=True)
class Call:
    """A scored prompt, or a generated text (with all its samples).

    inputs, outputs: as MLflow shows them.
    usage: tokens, in the format of `mlflow.chat.tokenUsage`.
    """

    name: str
    inputs: Payload
    outputs: Payload
    times: Times
    usage: dict[str, int]


@dataclass(frozen=True, slots=True)
class DecisionTrace:
    """A decision and its calls.

    number: the 128-bit trace id, determined by sweep, match and turn.
    fault: what was wrong with the reply if a random move replaced it, else "".
    notes: further data, including the method's notes.
    """

    number: int
    name: str
    inputs: Payload
    outputs: Payload
    times: Times
    calls: tuple[Call, ...]
    match: str
    fault: str
    notes: Mapping[str, Any]

    @property
    def spans(self) -> int:
        return 1 + len(self.calls)


def traces_of(record: MatchRecord, sweep: str, start_ms: int) -> Iterator[DecisionTrace]:
    """The match's traces, in order.

    sweep: the folder's id.
    start_ms: start of the cell in milliseconds since 1970, used as the start of records without a
        clock.
    """
    times = iter(times_of(record, start_ms))
    source = SPREAD if record.clock is None else MEASURED
    for turn, decision in enumerate(record.decisions):
        if decision.asked:
            asked_at = list(islice(times, len(decision.asked)))
            yield _traced(record, turn, decision, asked_at, sweep, source)


def times_of(record: MatchRecord, start_ms: int) -> list[Times]:
    """The times of each exchange; without a clock, the match's seconds are divided evenly."""
    if record.clock is not None:
        zero, asked = round(1e9 * record.clock.began), record.clock.asked
        return [(zero + round(1e9 * start), zero + round(1e9 * end)) for start, end in asked]
    exchanges = sum(len(decision.asked) for decision in record.decisions)
    zero, each = start_ms * 10**6, round(1e9 * record.seconds / max(exchanges, 1))
    return [(zero + number * each, zero + (number + 1) * each) for number in range(exchanges)]


def _traced(
    record: MatchRecord,
    turn: int,
    decision: DecisionRecord,
    times: Sequence[Times],
    sweep: str,
    source: str,
) -> DecisionTrace:
    view = decision_view(decision, record.statics)
    prompts = iter(view.prompts)
    calls = [
        call
        for exchange, when in zip(decision.asked, times, strict=True)
        for call in _calls(exchange, prompts, record.statics, when, view.options)
    ]
    listed = [f"{number}. {option}" for number, option in enumerate(decision.options, start=1)]
    rounded = [None if score is None else round(score, PLACES) for score in decision.scores]
    scores: Any = dict(zip(listed, rounded, strict=True)) if rounded else listed
    first = _prompts(decision.asked[0], record.statics)[0]
    return DecisionTrace(
        number=int(sha256(f"{sweep} {record.match} {turn}".encode()).hexdigest()[:32], 16),
        name=f"turn {turn}, seat {decision.seat}",
        inputs={"messages": [{"role": "user", "content": first.changing}]},
        outputs={**_answer(view.move), "scores" if decision.scores else "options": scores},
        times=(min(start for start, _ in times), max(end for _, end in times)),
        calls=tuple(calls),
        match=record.match,
        fault=decision.status if decision.fallback else "",
        notes={
            "deal": record.deal,
            "rotation": record.rotation,
            "subject": decision.seat in record.subjects,
            "status": decision.status,
            "attempts": decision.attempts,
            "margin": decision.margin,
            "times": source,
            **decision.notes,
        },
    )


def _calls(
    exchange: Exchange,
    prompts: Iterator[PromptView],
    statics: Mapping[str, str],
    times: Times,
    options: Sequence[str],
) -> Iterator[Call]:
    """The calls of an exchange: one per scored prompt; the samples of a text are one call."""
    sent_prompts = _prompts(exchange, statics)
    if isinstance(exchange, ScoreExchange):
        for number, (prompt, read) in enumerate(
            zip(sent_prompts, exchange.tokens, strict=True), start=1
        ):
            scored = _scored(next(prompts), options)
            yield Call(f"score {number}", _messages(prompt), scored, times, _usage(read, 0))
        return
    most, temperature, stop, seed = exchange.settings
    inputs = _messages(sent_prompts[0])
    inputs |= {"max_tokens": most, "temperature": temperature, "stop": list(stop), "seed": seed}
    written = list(islice(prompts, len(exchange.texts)))
    outputs: Payload = {"choices": [_reply(prompt) for prompt in written]}
    if any(readings := [prompt.reading for prompt in written]):
        outputs["taken"] = readings
    yield Call("write", {**inputs, "n": exchange.n}, outputs, times, _usage(*exchange.tokens))


def _prompts(exchange: Exchange, statics: Mapping[str, str]) -> list[Prompt]:
    branches = exchange.branches if isinstance(exchange, ScoreExchange) else ("",)
    return [exchange.prompt(statics, branch) for branch in branches]


def _messages(prompt: Prompt) -> Payload:
    """The prompt as a conversation; the cue opens the answer."""
    messages = [{"role": "system", "content": prompt.system}] if prompt.system else []
    messages.append({"role": "user", "content": prompt.static + prompt.changing})
    for reply, message in prompt.turns if isinstance(prompt, Dialogue) else ():
        messages += [{"role": "assistant", "content": reply}, {"role": "user", "content": message}]
    if prompt.cue:
        messages.append({"role": "assistant", "content": prompt.cue})
    return {"messages": messages}


def _scored(prompt: PromptView, options: Sequence[str]) -> Payload:
    """The probability of each answer word, with the option it stood for."""
    likeliest = max(prompt.answers, key=lambda answer: answer.probability)
    words = [
        answer.word if answer.option is None else f"{answer.word}) {options[answer.option]}"
        for answer in prompt.answers
    ]
    rounded = [round(answer.probability, PLACES) for answer in prompt.answers]
    return {**_answer(likeliest.word), "probabilities": dict(zip(words, rounded, strict=True))}


def _answer(text: str) -> Payload:
    return {"choices": [_message(text)]}


def _reply(prompt: PromptView) -> Payload:
    """A text with its thoughts, as servers of OpenAI's protocol give them, and why it ended if not
    by itself."""
    message = _message(prompt.reply or "")
    if prompt.thoughts:
        message["message"]["reasoning_content"] = prompt.thoughts
    return {**message, "finish_reason": prompt.finish} if prompt.finish != "stop" else message


def _message(text: str) -> Payload:
    return {"message": {"role": "assistant", "content": text}}


def _usage(read: int, written: int) -> dict[str, int]:
    return {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
