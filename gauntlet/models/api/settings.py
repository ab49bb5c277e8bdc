"""The settings of a model behind an API, checked, and what follows from them: prices, and the key.

Prices are those of `genai-prices`, whose table is installed; nothing is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args
from urllib.parse import urlsplit

from gauntlet.common.errors import ModelError
from gauntlet.models.api.dialects import DIALECTS, SCORERS
from gauntlet.models.api.dialects.base import Dialect, Limit, Sending
from gauntlet.models.api.ledger import Prices
from gauntlet.models.base import check_fields, read_key
from gauntlet.models.chat import Tags, thoughts_of

if TYPE_CHECKING:
    pass


FIELDS = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")
STEP = timedelta(minutes=30)
STORED = 1.25
"""The price of text taken into a cache, by that of text read, where a vendor charges for it."""
BATCH_SLOTS = 1024
"""Requests that a batch job can hold per worker: each has a waiting thread."""
Spoken = TypeVar("Spoken", bound=Dialect)

NOT_NEGATIVE = (
    *("price_in", "price_out", "price_cached", "cap", "seed", "patience"),
    *("thinking_budget", "thinking_room"),
)
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
        check_fields(
            self,
            self.name,
            {
                "endpoint": tuple(DIALECTS),
                "scores": ("logprobs", "sampled", *SCORERS),
                "limit": get_args(Limit),
                "temperature": get_args(Sending),
            },
            {
                "top": 2,
                **dict.fromkeys(("samples", "in_flight"), 1),
                **dict.fromkeys(NOT_NEGATIVE, 0),
            },
        )
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
        own_prices = self.price_in, self.price_out, self.price_cached
        stores = self.dialect.CACHE_WRITES
        return prices_for(self.name, self.address, own_prices, self.cap, stores)

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


def prices_for(
    name: str,
    base_url: str,
    own_prices: tuple[float | None, float | None, float | None],
    cap: float | None,
    stores: bool,
) -> Prices:
    """The prices read, written and cached as given; None is taken from the table, or 0 if the model
    is not in it.

    stores: whether the vendor charges for text that it takes into its cache.
    """
    read, written, cached = own_prices
    table = None
    if read is None or written is None or cached is None:
        table = listed(name, base_url, datetime.now(UTC).date().isoformat())
    known = table or (0.0, 0.0, None, None)
    # A cached price of the table goes with its price of text read only.
    cached = cached if cached is not None or read is not None else known[2]
    stored = known[3] if read is None else STORED * read if stores else None
    read = known[0] if read is None else read
    return Prices(read, known[1] if written is None else written, cap, cached, stored)


@lru_cache(maxsize=64)
def listed(
    name: str, base_url: str, day: str
) -> tuple[float, float, float | None, float | None] | None:
    """The table's prices per million tokens read, written, cached and stored on a day; None if it
    does not know server and model. A vendor may have several, by date and by hour: the highest of
    the day counts, so that a cap holds. Surcharges for long prompts are not counted."""
    try:
        from genai_prices import Usage, calc_price
    except ModuleNotFoundError:
        return None
    start = datetime.fromisoformat(day).replace(tzinfo=UTC)
    usage = Usage(input_tokens=1, output_tokens=1)
    prices: dict[str, list[float]] = {key: [] for key in FIELDS}
    try:
        for step in range(timedelta(days=1) // STEP):
            at = start + step * STEP
            price = calc_price(usage, name, provider_api_url=base_url, genai_request_timestamp=at)
            for key in FIELDS:
                rate: Any = getattr(price.model_price, key, None)
                prices[key] += [] if rate is None else [float(getattr(rate, "base", rate))]
    except LookupError:
        return None
    read, written, cached, stored = (max(prices[key], default=None) for key in FIELDS)
    return read or 0.0, written or 0.0, cached, stored
