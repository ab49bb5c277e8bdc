"""Prices of known models, from the table of `genai-prices`; nothing is fetched.

A vendor may have several prices for a model, by date and by hour: the dearest of today counts, so
that a cap holds whatever the hour. Surcharges for long prompts are not counted.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from gauntlet.models.api.ledger import Prices

FIELDS = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")
STEP = timedelta(minutes=30)
STORED = 1.25
"""The price of text taken into a cache, by that of text read, where a vendor charges for it."""


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
    does not know server and model."""
    try:
        from genai_prices import Usage, calc_price
    except ModuleNotFoundError:
        return None
    start = datetime.fromisoformat(day).replace(tzinfo=UTC)
    usage = Usage(input_tokens=1, output_tokens=1)
    found: dict[str, list[float]] = {key: [] for key in FIELDS}
    try:
        for step in range(timedelta(days=1) // STEP):
            at = start + step * STEP
            price = calc_price(usage, name, provider_api_url=base_url, genai_request_timestamp=at)
            for key in FIELDS:
                one: Any = getattr(price.model_price, key, None)
                found[key] += [] if one is None else [float(getattr(one, "base", one))]
    except LookupError:
        return None
    read, written, cached, stored = (max(found[key], default=None) for key in FIELDS)
    return read or 0.0, written or 0.0, cached, stored
