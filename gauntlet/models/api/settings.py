"""The settings of a model behind an API, checked, and what follows from them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args
from urllib.parse import urlsplit

from gauntlet.common.errors import ModelError
from gauntlet.models.api.dialects import DIALECTS
from gauntlet.models.api.dialects.base import Dialect, Limit, Sending
from gauntlet.models.api.ledger import Prices
from gauntlet.models.api.prices import prices_for
from gauntlet.models.api.scorers import SCORERS
from gauntlet.models.keys import read_key
from gauntlet.models.thoughts import Tags, thoughts_of

BATCH_SLOTS = 1024
"""Requests that a batch job can hold per worker: each has a waiting thread."""
Spoken = TypeVar("Spoken", bound=Dialect)

SECRET_HEADER = re.compile(r"auth|key|token|cookie|secret", re.IGNORECASE)
"""Names of headers that carry secrets."""


@dataclass(frozen=True)
class Settings:
    """One model of one server.

    name, base_url: the names of the model and the server; None for the protocol's inventor.
    endpoint: the protocol, one of DIALECTS. "completions" sends a prompt as it is, all others send
        it as a user message.
    key_env: the environment variable that holds the key; None for that of the protocol's inventor.
        Only other servers without a variable of their own may need no key.
    headers, extra_body: sent with every request; in the body, null removes a field. No secrets.
    scores: how Score is answered. "logprobs": from the `top` reported logprobs of one token; a
        choice that is not reported gets minus infinity, and `Scores.ceilings` bounds its true
        value. "sampled": from the frequencies in `samples` sampled tokens, with seeds from `seed`
        on. "decisions", "vllm", "sglang": by endpoints of OpenAI, vLLM and SGLang for given
        options. Models that think give no log-probabilities.
    limit: the server's name for the token limit of a chat reply.
    effort: how much the model thinks, in the vendor's words; None for the vendor's default.
    thinking_room: tokens added to every request's limit, which thoughts count towards.
    thinking_budget: limit on the thoughts, where the protocol has one.
    thought_tags: the model's own tags around thoughts within its texts; usual ones are known.
    temperature: "auto" sends it unless the protocol or the vendor's model is known to refuse it.
    stream: whether replies come in parts, as they are written.
    batch: whether requests go by batch jobs of the vendor, at half price and within a day.
    in_flight: number of concurrent requests; in batches at least BATCH_SLOTS.
    system_role: whether a system text is a message of its own; else it opens the first message.
    timeout: seconds per request, to the last byte of its reply; of a stream, seconds without a
        byte.
    patience: seconds per reply, over all attempts; also for a stream to its last byte.
    price_in, price_out, price_cached: per million tokens read, written, and read from the server's
        cache; None for what a table of vendors' prices says, or 0.
    cap: limit on the total cost of this model's replies in `cache`, including requests that may
        have been billed without a reply.
    cache: the file that stores every reply; on a local disk. Processes may share it.

    Raises ValueError if a field has a value that is not allowed.
    """

    name: str
    base_url: str | None = None
    endpoint: str = "chat"
    key_env: str | None = None
    headers: Mapping[str, Any] = field(default_factory=dict, hash=False)
    extra_body: Mapping[str, Any] = field(default_factory=dict, hash=False)
    scores: Literal["logprobs", "sampled", "decisions", "vllm", "sglang"] = "logprobs"
    top: int = 20
    samples: int = 10
    seed: int = 0
    limit: Limit = "max_tokens"
    effort: str | None = None
    thinking_room: int = 0
    thinking_budget: int | None = None
    thought_tags: Tags | None = None
    temperature: Sending = "auto"
    system_role: bool = True
    stream: bool = False
    batch: bool = False
    in_flight: int = 16
    timeout: float = 60.0
    patience: float = 600.0
    price_in: float | None = None
    price_out: float | None = None
    price_cached: float | None = None
    cap: float | None = None
    cache: str = "outputs/replies.sqlite"

    def __post_init__(self) -> None:
        for name, allowed in (
            ("endpoint", tuple(DIALECTS)),
            ("scores", ("logprobs", "sampled", *SCORERS)),
            ("limit", get_args(Limit)),
            ("temperature", get_args(Sending)),
        ):
            if getattr(self, name) not in allowed:
                raise self._wrong(name, f"allowed are {', '.join(allowed)}")
        for name, least in (("top", 2), ("samples", 1), ("in_flight", 1), ("thinking_budget", 0)):
            self._check_least(name, least)
        for name in ("price_in", "price_out", "price_cached", "cap", "seed", "patience"):
            self._check_least(name, 0)
        self._check_least("thinking_room", 0)
        thoughts_of(self.thought_tags)
        if not self.timeout > 0:
            raise ValueError(f"timeout {self.timeout:g} of model {self.name!r}: more than 0")
        self._fill()
        if self.scores in SCORERS and self.endpoint not in (known := SCORERS[self.scores][1]):
            raise self._wrong("scores", f"it needs endpoint {' or '.join(known)}")
        self._check_batch()
        self._check_thinking()
        self._check_headers()
        if not _is_address(self.address):
            raise ValueError(
                f"base_url of model {self.name!r} must be http(s)://host[:port]/path and no more: "
                "without a key, password, ? or #"
            )
        if self.cap is not None and not self.prices.prompt + self.prices.written:
            raise ValueError(
                f"cap {self.cap:g} of model {self.name!r} needs prices: give price_in, price_out"
            )

    def _fill(self) -> None:
        """Replace None by the protocol's own values; copy what a caller could change."""
        dialect = DIALECTS[self.endpoint]
        object.__setattr__(self, "base_url", self.base_url or dialect.ADDRESS)
        object.__setattr__(self, "key_env", self.key_env or dialect.KEY_ENV)
        object.__setattr__(self, "headers", dict(self.headers or {}))
        object.__setattr__(self, "extra_body", dict(self.extra_body or {}))
        # A worker may start in another folder.
        object.__setattr__(self, "cache", str(Path(self.cache).expanduser().absolute()))

    def _check_batch(self) -> None:
        if not self.batch:
            return
        if not DIALECTS[self.endpoint].BATCHES:
            raise self._wrong("batch", f"endpoint {self.endpoint} has none; give false")
        if self.stream:
            raise self._wrong("batch", "its replies are no streams; give stream=false")
        if self.scores in SCORERS:
            raise self._wrong("batch", "it has scores logprobs or sampled only")
        object.__setattr__(self, "in_flight", max(self.in_flight, BATCH_SLOTS))

    def _check_thinking(self) -> None:
        known = DIALECTS[self.endpoint].THINKS
        for name in ("effort", "thinking_budget"):
            if getattr(self, name) is not None and name not in known:
                raise self._wrong(name, f"endpoint {self.endpoint} has no such setting; give null")

    def _check_headers(self) -> None:
        for name, value in self.headers.items():
            text = f"{name}{value}"
            if not (isinstance(value, str) and text.isascii() and text.isprintable()):
                raise ValueError(f"headers of model {self.name!r}: {name!r} must be plain text")
            if SECRET_HEADER.search(name):
                raise ValueError(
                    f"headers of model {self.name!r}: {name!r} would hold a secret; name the "
                    "variable that holds the key as key_env"
                )

    @property
    def address(self) -> str:
        """The server's address."""
        return self.base_url or ""

    @property
    def prices(self) -> Prices:
        given = self.price_in, self.price_out, self.price_cached
        stores = self.dialect.CACHE_WRITES
        return prices_for(self.name, self.address, given, self.cap, stores)

    @property
    def dialect(self) -> Dialect:
        return self.spoken(DIALECTS[self.endpoint])

    @property
    def key(self) -> str:
        """The key; "" if the server may need none. Raises ModelError if it is missing, or one that
        no header can carry."""
        variable, dialect = self.key_env or "", self.dialect
        key = read_key(variable)
        if not key and (dialect.official or variable != dialect.KEY_ENV):
            who = f"{self.name!r} at {self.address}"
            raise ModelError(f"the variable {variable} is not set; it must hold the key of {who}")
        return key

    def check_key(self) -> None:
        """Raises ModelError, naming the variable, if there is no key that can be sent."""
        _ = self.key

    def spoken(self, kind: type[Spoken]) -> Spoken:
        """A protocol with this model's settings."""
        return kind(
            name=self.name,
            official=urlsplit(self.address).hostname == urlsplit(kind.ADDRESS).hostname,
            limit=self.limit,
            effort=self.effort,
            thinking_room=self.thinking_room,
            thinking_budget=self.thinking_budget,
            thought_tags=self.thought_tags,
            temperature=self.temperature,
            stream=self.stream,
            extra_body=self.extra_body,
        )

    def _check_least(self, name: str, least: int) -> None:
        value = getattr(self, name)
        if value is not None and not value >= least:
            raise ValueError(f"{name} {value:g} of model {self.name!r}: at least {least}")

    def _wrong(self, name: str, right: str) -> ValueError:
        return ValueError(f"{name} {getattr(self, name)!r} of model {self.name!r}: {right}")


def _is_address(url: str) -> bool:
    """Whether the URL is only a server's address: it gets printed and logged."""
    try:
        address = urlsplit(url)
        _ = address.port
    except ValueError:
        return False
    plain = url.isprintable() and not set(url) & set(" ?#@\\")
    return plain and address.scheme in ("http", "https") and bool(address.hostname)
