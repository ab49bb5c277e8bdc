"""A model behind an API: any server with OpenAI's protocol.

Importing this module is cheap: `load` imports the client. The key comes from the environment
variable OPENAI_API_KEY and appears in no setting, record or message.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args
from urllib.parse import urlsplit

from gauntlet.common.errors import ModelError, Stopped
from gauntlet.common.sanitize import one_line
from gauntlet.models.api.ledger import Ledger, Prices, Spending, Tokens
from gauntlet.models.api.wire import (
    SCORE_TEMPERATURE,
    Body,
    Endpoint,
    Limit,
    ScoredPrompt,
    Wire,
    usage,
)
from gauntlet.models.base import Generate, Generation, Prompt, Reply, Request, Scores

if TYPE_CHECKING:
    from gauntlet.models.api.retry import Asker

PROBE = Generate(Prompt("", "Reply with one word: ready"), max_tokens=16)
"""Sent before the first match, once per cache, to catch a wrong key, name or address, or a
setting that the server rejects."""


@dataclass(frozen=True)
class OpenAI:
    """One model of one server.

    name, base_url: the names of the model and the server.
    endpoint: "chat" sends a prompt as one user message; "completions" sends it as it is.
    scores: how Score is answered. "logprobs": from the `top` reported logprobs of one token; a
        choice that is not reported gets minus infinity, and `Scores.ceilings` bounds its true
        value. "sampled": from the frequencies in `samples` sampled tokens, with seeds from `seed`
        on. Models that reason before they answer do not fit, since a score concerns the first
        token.
    limit: the server's name for the token limit of a chat reply.
    in_flight: number of concurrent requests.
    timeout: seconds per request, to the last byte of its reply.
    patience: seconds per reply, over all attempts.
    price_in, price_out: per million tokens.
    cap: limit on the total cost of this model's replies in `cache`, including requests that may
        have been billed without a reply.
    cache: the file that stores every reply; on a local disk. Processes may share it.

    Raises ValueError if a field has a value that is not allowed.
    """

    name: str
    base_url: str = "https://api.openai.com/v1"
    endpoint: Endpoint = "chat"
    scores: Literal["logprobs", "sampled"] = "logprobs"
    top: int = 20
    samples: int = 10
    seed: int = 0
    limit: Limit = "max_tokens"
    in_flight: int = 16
    timeout: float = 60.0
    patience: float = 600.0
    price_in: float = 0.0
    price_out: float = 0.0
    cap: float | None = None
    cache: str = "outputs/replies.sqlite"

    def __post_init__(self) -> None:
        for field, allowed in (
            ("endpoint", get_args(Endpoint)),
            ("scores", ("logprobs", "sampled")),
            ("limit", get_args(Limit)),
        ):
            if getattr(self, field) not in allowed:
                raise ValueError(
                    f"{field} {getattr(self, field)!r} of model {self.name!r}: allowed are "
                    f"{', '.join(allowed)}"
                )
        for field, least in (("top", 2), ("samples", 1), ("in_flight", 1), ("price_in", 0)):
            self._check_least(field, least)
        for field in ("price_out", "cap", "seed", "patience"):
            self._check_least(field, 0)
        if not self.timeout > 0:
            raise ValueError(f"timeout {self.timeout:g} of model {self.name!r}: more than 0")
        if self.cap is not None and not self.price_in + self.price_out:
            raise ValueError(
                f"cap {self.cap:g} of model {self.name!r} needs prices: give price_in, price_out"
            )
        if not _is_address(self.base_url):
            raise ValueError(
                f"base_url of model {self.name!r} must be http(s)://host[:port]/path and no more: "
                "without a key, password, ? or #"
            )
        # A worker may start in another folder.
        object.__setattr__(self, "cache", str(Path(self.cache).expanduser().absolute()))

    def identity(self) -> Mapping[str, Any]:
        """The model and its settings. Needs no server, so a finished run can be read offline."""
        how = {"top": self.top} if self.scores == "logprobs" else self._draws()
        asked = {"api": self.base_url, "model": self.name, "endpoint": self.endpoint}
        return {**asked, "scores": self.scores, "temperature": SCORE_TEMPERATURE, **how}

    def check_choices(self, choices: Sequence[str]) -> None:
        """Accepts any word, because a server does not expose its tokenizer. A word that is not a
        single token is never reported, and the records show it."""

    def load(self) -> Remote:
        """Load the model and check that it answers. Raises ModelError with one line if it does
        not."""
        from gauntlet.models.api.retry import Asker, key_in

        key = key_in(os.environ)
        ledger = self._ledger()
        wire = Wire(self.name, self.endpoint, self.limit)
        waits = self.timeout, self.patience
        asker = Asker(wire, self.base_url, key, ledger, *waits, threads=self.in_flight)
        model = Remote(self, wire, asker, ledger)
        try:
            model.answer([PROBE])
        except BaseException:  # Ctrl-C too: requests in flight must not outlive it
            model.close()
            raise
        return model

    def price(self, read: int, written: int) -> float:
        return self._prices.cost(Tokens(read, written))

    def account(self) -> str:
        """The cost of the replies in the cache, over all runs that share it, as a line of text."""
        ledger = self._ledger()
        spending = ledger.spending()
        ledger.close()
        return (
            f"{self.name} at {self.base_url}: {spending.replies:,} replies kept, "
            f"{spending.paid.prompt:,} tokens read, {spending.paid.written:,} written; "
            f"{self._prices.cost(spending.paid):.4g} paid, at most "
            f"{self._prices.cost(spending.unsure):.4g} more for requests without a reply"
        )

    @property
    def _prices(self) -> Prices:
        return Prices(self.price_in, self.price_out, self.cap)

    def _ledger(self) -> Ledger:
        account = f"{self.name} at {self.base_url}"
        return Ledger(Path(self.cache), account, self._prices, self.timeout)

    def _draws(self) -> Mapping[str, Any]:
        return {"samples": self.samples, "seed": self.seed}

    def _check_least(self, field: str, least: int) -> None:
        value = getattr(self, field)
        if value is not None and not value >= least:
            raise ValueError(f"{field} {value:g} of model {self.name!r}: at least {least}")


class Remote:
    """Answers from the ledger, or else by querying the server concurrently.

    Any number of threads may call `answer`; at most `slots` requests are in flight in total.
    """

    def __init__(self, source: OpenAI, wire: Wire, asker: Asker, ledger: Ledger) -> None:
        self._source, self._wire, self._asker, self._ledger = source, wire, asker, ledger
        self._pool = ThreadPoolExecutor(source.in_flight, "api")
        self._stopped: Stopped | None = None
        self._one_at_a_time = False

    @property
    def slots(self) -> int:
        return self._source.in_flight

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        """Raises Stopped if this run can send no more, after all replies in flight have arrived."""
        parts = dict.fromkeys(part for request in requests for part in _parts(request))
        try:
            running = {part: self._pool.submit(self._do, part) for part in parts}
        except RuntimeError:
            raise ModelError(f"{self._asker.who}: the run ends") from None
        failed = [error for error in (one.exception() for one in running.values()) if error]
        for error in failed:
            if isinstance(error, Stopped):
                raise Stopped(str(error))
        done = {part: future.result() for part, future in running.items()}
        return [self._reply(request, done) for request in requests]

    def cancel(self) -> None:
        """End all waiting for the server; replies in flight that arrive very soon are stored."""
        self._asker.cancel()

    def spending(self) -> Spending:
        """This model's spending, over all runs that share its cache."""
        return self._ledger.spending()

    def close(self) -> None:
        """Close the model. Callers still waiting in `answer` get a reply in flight, or a
        ModelError."""
        self.cancel()
        # Cancelling futures in the pool would not wake the threads that wait for them.
        self._pool.shutdown()
        self._asker.close()
        self._ledger.close()

    def _do(self, part: Prompt | Generate) -> ScoredPrompt | Generation:
        """Send one prompt of a Score, or one Generate."""
        if self._stopped is not None:
            raise Stopped(str(self._stopped))
        try:
            return self._write(part) if isinstance(part, Generate) else self._hear(part)
        except Stopped as stop:
            self._stopped = stop
            raise

    def _write(self, request: Generate) -> Generation:
        texts, tokens = self._samples(self._wire.writing(request), request.n)
        for stop in request.stop:  # some servers do not strip it
            texts = [text.partition(stop)[0] for text in texts]
        return Generation(texts[0], tokens.prompt, tokens.written, tuple(texts[1:]))

    def _hear(self, prompt: Prompt) -> ScoredPrompt:
        if self._source.scores == "sampled":
            return self._draw(prompt)
        reply = self._ask(self._wire.scoring(prompt, self._source.top))
        try:
            reported, counted = self._wire.first_token(reply), usage(reply)
        except ValueError as error:
            raise Stopped(
                f"{self._asker.who}: {one_line(str(error))}; set model.scores=sampled"
            ) from None
        if reported is None:
            raise Stopped(
                f"{self._asker.who}: it tells no log-probabilities; set model.scores=sampled"
            )
        return ScoredPrompt(reported, counted.prompt if counted else 0)

    def _draw(self, prompt: Prompt) -> ScoredPrompt:
        body = self._wire.sampling(prompt, self._source.seed)
        texts, tokens = self._samples(body, self._source.samples)
        return ScoredPrompt(tuple(texts), tokens.prompt)

    def _samples(self, body: Body, count: int) -> tuple[list[str], Tokens]:
        """`count` texts, over several requests if need be, and the tokens counted by the
        server, or 0."""
        texts: list[str] = []
        read = written = 0
        while len(texts) < count:
            reply = self._ask_several(body, count - len(texts), len(texts))
            counted = usage(reply) or Tokens(0, 0)
            read, written = read + counted.prompt, written + counted.written
            texts += self._wire.texts(reply)
        return texts[:count], Tokens(read, written)

    def _ask_several(self, body: Body, count: int, first: int) -> Mapping[str, Any]:
        """A reply with at least one text; with `count` if the server supports several."""
        from gauntlet.models.api.retry import Refused

        alone = self._wire.several(body, 1, first)
        if count == 1 or self._one_at_a_time:
            return self._ask(alone)
        try:
            return self._ask(self._wire.several(body, count, first))
        except Refused:
            reply = self._ask(alone)
        self._one_at_a_time = True  # the number was what the server rejected
        return reply

    def _ask(self, body: Body) -> Mapping[str, Any]:
        asked = [self._source.base_url, self._source.endpoint, body]
        text = json.dumps(asked, sort_keys=True, ensure_ascii=False)
        return self._asker.ask(hashlib.sha256(text.encode()).digest(), body)

    def _reply(self, request: Request, done: Mapping[Any, ScoredPrompt | Generation]) -> Reply:
        if isinstance(request, Generate):
            written = done[request]
            assert isinstance(written, Generation)
            return written
        heard = [part for part in map(done.get, request.prompts) if isinstance(part, ScoredPrompt)]
        rows = tuple(part.logprobs(request.choices) for part in heard)
        missing = any(-math.inf in row for row in rows)
        unsure = missing and self._source.scores == "logprobs"
        ceilings = tuple(part.ceiling for part in heard) if unsure else ()
        return Scores(rows, tuple(part.tokens for part in heard), ceilings)


def _parts(request: Request) -> tuple[Prompt | Generate, ...]:
    return (request,) if isinstance(request, Generate) else request.prompts


def _is_address(url: str) -> bool:
    """Whether the URL is only a server's address: it gets printed and logged."""
    try:
        address = urlsplit(url)
        _ = address.port
    except ValueError:
        return False
    plain = url.isprintable() and not set(url) & set(" ?#@\\")
    return plain and address.scheme in ("http", "https") and bool(address.hostname)
