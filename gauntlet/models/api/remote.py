"""A model behind an API, loaded: answers from the ledger, or else from the server."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from gauntlet.common.errors import ModelError, Stopped
from gauntlet.common.sanitize import one_line
from gauntlet.models.api.dialects import Scorer
from gauntlet.models.api.dialects.base import Body, Dialect, ReplyText, Reported, ScoredPrompt
from gauntlet.models.api.ledger import Ledger, Spending, Tokens
from gauntlet.models.api.retry import LOG, UNREADABLE, Asker, NoAnswer, Refused
from gauntlet.models.api.settings import Settings
from gauntlet.models.base import (
    Finish,
    Generate,
    Generation,
    Prompt,
    Reply,
    Request,
    Score,
    Scores,
    unless_plain,
)

WITHHELD: tuple[Finish, ...] = ("filtered", "refused")
"""Why a server gives no log-probabilities though it can."""
MOST_SHOWN, LONGEST_SHOWN = 8, 20
"""Tokens that a warning names, and characters of each."""


class Remote:
    """Answers from the ledger, or else by querying the server concurrently.

    Any number of threads may call `answer`; at most `slots` requests are in flight in total.
    """

    def __init__(
        self,
        source: Settings,
        dialect: Dialect,
        asker: Asker,
        ledger: Ledger,
        scoring: tuple[Scorer, Asker] | None = None,
    ) -> None:
        """scoring: a protocol for probabilities of options, if the source names one."""
        self._source, self._dialect, self._asker, self._ledger = source, dialect, asker, ledger
        self._scoring = scoring
        self._askers = [asker, *([scoring[1]] if scoring else [])]
        self._pool = ThreadPoolExecutor(source.in_flight, "api")
        self._stopped: Stopped | None = None
        self._one_at_a_time = "n" in dialect.LACKS
        self._warned = False

    @property
    def slots(self) -> int:
        return self._source.in_flight

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        """Raises Stopped if this run can send no more, after all replies in flight have arrived."""
        parts = dict.fromkeys(part for request in requests for part in self._parts(request))
        try:
            running = {part: self._pool.submit(self._do, part) for part in parts}
        except RuntimeError:
            raise ModelError(f"{self._asker.who}: the run ends") from None
        failed = [error for error in (future.exception() for future in running.values()) if error]
        for error in failed:
            if isinstance(error, Stopped):
                raise Stopped(str(error))
        done = {part: future.result() for part, future in running.items()}
        return [self._reply(request, done) for request in requests]

    def check(self, request: Generate) -> None:
        """Raises ModelError if the server does not answer this request."""
        body = self._dialect.writing(request)
        self._pool.submit(self._samples, body, 1, request.prompt).result()

    def cancel(self) -> None:
        """End all waiting for the server; replies in flight that arrive very soon are stored."""
        for asker in self._askers:
            asker.cancel()

    def spending(self) -> Spending:
        """This model's spending, over all runs that share its cache."""
        return self._ledger.spending()

    def close(self) -> None:
        """Close the model. Callers still waiting in `answer` get a reply in flight, or a
        ModelError."""
        self.cancel()
        # Cancelling futures in the pool would not wake the threads that wait for them.
        self._pool.shutdown()
        for asker in self._askers:
            asker.close()
        self._ledger.close()

    def _parts(self, request: Request) -> Sequence[Prompt | Score | Generate]:
        """What is asked one by one: a Score's prompts, with its options if they are sent too."""
        if isinstance(request, Generate):
            return (request,)
        if self._scoring is None:
            return request.prompts
        return [Score((prompt,), request.choices) for prompt in request.prompts]

    def _do(self, part: Prompt | Score | Generate) -> ScoredPrompt | Generation:
        """Send one prompt of a Score, or one Generate."""
        if self._stopped is not None:
            raise Stopped(str(self._stopped))
        part = part if self._source.system_role else _without_system(part)
        try:
            if isinstance(part, Score):
                return self._decide(part)
            return self._write(part) if isinstance(part, Generate) else self._hear(part)
        except Stopped as stop:
            self._stopped = stop
            raise
        except NoAnswer as refusal:
            detail = refusal.detail
            if isinstance(part, Generate):
                return Generation("", 0, 0, ("",) * (part.n - 1), (detail,) * part.n)
            if detail.finish not in WITHHELD:
                raise
            return ScoredPrompt(Reported({}, 0.0), 0, detail.finish)

    def _write(self, request: Generate) -> Generation:
        body = self._dialect.writing(request)
        samples, tokens = self._samples(body, request.n, request.prompt)
        texts, details = zip(*[_stopped(sample, request.stop) for sample in samples], strict=True)
        counts = tokens.prompt, tokens.written
        parts = tokens.thoughts, tokens.cached
        return Generation(texts[0], *counts, texts[1:], unless_plain(details), *parts)

    def _hear(self, prompt: Prompt) -> ScoredPrompt:
        if self._source.scores == "sampled":
            return self._draw(prompt)
        body = self._dialect.scoring(prompt, self._source.top)
        if body is None:
            raise Stopped(
                f"{self._asker.who}: endpoint {self._source.endpoint} has no log-probabilities; "
                "set model.scores=sampled"
            )
        reply = self._ask(body, prompt)
        try:
            reported, counted = self._dialect.first_token(reply), self._dialect.usage(reply)
        except ValueError as error:
            raise Stopped(
                f"{self._asker.who}: {one_line(str(error))}; set model.scores=sampled"
            ) from None
        tokens = counted.prompt if counted else 0
        finish = self._dialect.texts(reply)[0].detail.finish
        if finish in WITHHELD:
            return ScoredPrompt(Reported({}, 0.0), tokens, finish)
        if reported is None:
            raise Stopped(
                f"{self._asker.who}: it tells no log-probabilities; set model.scores=sampled"
            )
        return ScoredPrompt(reported, tokens)

    def _decide(self, request: Score) -> ScoredPrompt:
        assert self._scoring is not None
        (scorer, asker), (prompt,) = self._scoring, request.prompts
        steps, tokens = scorer.scores(prompt, request.choices), Tokens(0, 0)
        try:
            body = next(steps)
            while True:
                reply = self._ask(body, prompt, asker)
                tokens += scorer.usage(reply) or Tokens(0, 0)
                body = steps.send(reply)
        except StopIteration as end:
            if end.value is None:
                raise Stopped(
                    f"{asker.who}: it tells no log-probabilities; set model.scores=sampled"
                ) from None
            return ScoredPrompt(end.value, tokens.prompt)
        except UNREADABLE as error:
            raise ModelError(f"{asker.who}: {one_line(str(error))}") from None

    def _draw(self, prompt: Prompt) -> ScoredPrompt:
        body = self._dialect.sampling(prompt, self._source.seed)
        samples, tokens = self._samples(body, self._source.samples, prompt)
        room = self._source.thinking_room
        texts = [_first_word(sample.text) if room else sample.text for sample in samples]
        return ScoredPrompt(tuple(texts), tokens.prompt)

    def _samples(self, body: Body, count: int, prompt: Prompt) -> tuple[list[ReplyText], Tokens]:
        """`count` texts, over several requests if need be, and the tokens counted by the
        server, or 0."""
        texts: list[ReplyText] = []
        tokens = Tokens(0, 0)
        if self._one_at_a_time:
            for number in range(1, count):
                self._asker.expect(
                    *self._keyed_body(self._dialect.several(body, 1, number), prompt)
                )
        while len(texts) < count:
            reply = self._ask_several(body, count - len(texts), len(texts), prompt)
            tokens += self._dialect.usage(reply) or Tokens(0, 0)
            texts += self._dialect.final_texts(body, reply)
        return texts[:count], tokens

    def _ask_several(self, body: Body, count: int, first: int, prompt: Prompt) -> Mapping[str, Any]:
        """A reply with at least one text; with `count` if the server supports several."""
        alone = self._dialect.several(body, 1, first)
        if count == 1 or self._one_at_a_time:
            return self._ask(alone, prompt)
        try:
            return self._ask(self._dialect.several(body, count, first), prompt)
        except Refused:
            reply = self._ask(alone, prompt)
        self._one_at_a_time = True  # the number was what the server rejected
        return reply

    def _ask(self, body: Body, prompt: Prompt, scorer: Asker | None = None) -> Mapping[str, Any]:
        key, body, group = self._keyed_body(body, prompt, of_scorer=scorer is not None)
        return (scorer or self._asker).ask(key, body, group)

    def _keyed_body(
        self, body: Body, prompt: Prompt, of_scorer: bool = False
    ) -> tuple[bytes, Body, str]:
        """The request's key in the ledger, its body, and the name of the prompt's static text."""
        source = self._source
        content: list[Any] = [
            source.base_url,
            source.scores if of_scorer else source.endpoint,
            body,
        ]
        if source.headers or source.extra_body:
            content += [source.headers, source.extra_body]
        text = json.dumps(content, sort_keys=True, ensure_ascii=False)
        group = hashlib.sha256((prompt.system + prompt.static).encode()).hexdigest()[:32]
        return hashlib.sha256(text.encode()).digest(), body, group

    def _reply(self, request: Request, done: Mapping[Any, ScoredPrompt | Generation]) -> Reply:
        if isinstance(request, Generate):
            written = done[request]
            assert isinstance(written, Generation)
            return written
        parts = self._parts(request)
        heard = [part for part in map(done.get, parts) if isinstance(part, ScoredPrompt)]
        tokens = tuple(part.tokens for part in heard)
        withheld = [part.finish for part in heard if part.finish != "stop"]
        if withheld:
            nothing = (-math.inf,) * len(request.choices)
            return Scores((nothing,) * len(heard), tokens, (0.0,) * len(heard), withheld[0])
        rows = tuple(part.logprobs(request.choices) for part in heard)
        if all(value == -math.inf for row in rows for value in row):
            self._warn(request.choices, heard[0])
        missing = any(-math.inf in row for row in rows)
        unsure = missing and self._source.scores in ("logprobs", "vllm", "sglang")
        return Scores(rows, tokens, tuple(part.ceiling for part in heard) if unsure else ())

    def _warn(self, choices: Sequence[str], heard: ScoredPrompt) -> None:
        """Say once what the model answers instead of a choice: it may be spelt in another way."""
        if not self._warned:
            self._warned = True
            words = ", ".join(repr(text[:LONGEST_SHOWN]) for text in heard.likeliest[:MOST_SHOWN])
            choice = ", ".join(map(repr, choices))
            LOG.warning(
                "%s: no choice (%s) is among the likeliest answers to a prompt: %s",
                *(self._asker.who, one_line(choice), one_line(words) or "none"),
            )


def _without_system(part: Prompt | Score | Generate) -> Prompt | Score | Generate:
    """The same with the system text at the start of the first message."""
    if isinstance(part, Generate):
        return replace(part, prompt=_in_one(part.prompt))
    if isinstance(part, Score):
        return replace(part, prompts=tuple(map(_in_one, part.prompts)))
    return _in_one(part)


def _in_one(prompt: Prompt) -> Prompt:
    return replace(prompt, system="", static=prompt.system + prompt.static)


def _first_word(text: str) -> str:
    """The answer in a text that the limit on thoughts has left room for: "B" of "**B**) red"."""
    words = text.split()
    return words[0].strip("*_`\"'().,:;") or words[0] if words else ""


def _stopped(reply: ReplyText, stops: Sequence[str]) -> ReplyText:
    """The text up to a stop string, which some servers do not strip."""
    text = reply.text
    for stop in stops:
        text = text.partition(stop)[0]
    if text == reply.text:
        return reply
    return ReplyText(text, replace(reply.detail, finish="stop_string"))
