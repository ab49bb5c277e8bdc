"""What a player's decisions in a match cost: tokens, money or seconds, from its record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

from gauntlet.common.errors import UserError
from gauntlet.models.api.ledger import Tokens
from gauntlet.models.api.settings import listed, prices_for
from gauntlet.models.exchanges import Exchange, TextExchange
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord

Cost = Literal["tokens", "money", "seconds"]
UNITS: Mapping[Cost, str] = {
    "tokens": "tokens, read and written",
    "money": "US dollars at today's list prices",
    "seconds": "seconds in which its model was asked",
}
Spend = Callable[[MatchRecord, Sequence[int]], Sequence[float]]
"""From a record and the player of every seat to the cost of every seat."""


def spending(cost: Cost, description: Mapping[str, Any]) -> Spend:
    """How the matches of a described cell are charged. Players without a model cost nothing.
    Raises UserError for money where a model has no known price."""
    if cost == "seconds":
        return _seconds
    if cost == "tokens":
        return partial(_spent, lambda decision, _: decision.tokens)
    models = [player.get("model") for player in description["identity"]["players"]]
    named = zip(description["players"], models, strict=True)
    prices = [_price(name, model) for name, model in named]
    return partial(
        _spent,
        lambda decision, player: sum(prices[player](_counts(one)) for one in decision.asked),
    )


def _spent(
    charge: Callable[[DecisionRecord, int], float], record: MatchRecord, players: Sequence[int]
) -> list[float]:
    """charge: what a decision of a player cost."""
    spent = [0.0] * len(players)
    for decision in record.decisions:
        spent[decision.seat] += charge(decision, players[decision.seat])
    return spent


def _seconds(record: MatchRecord, players: Sequence[int]) -> list[float]:
    spent = [0.0] * len(players)
    seats = [decision.seat for decision in record.decisions for _ in decision.asked]
    times = record.clock.asked if record.clock else ()
    for seat, (began, ended) in zip(seats, times, strict=False):
        spent[seat] += ended - began
    return spent


def _counts(exchange: Exchange) -> Tokens:
    """A scored prompt counts as one token written."""
    if isinstance(exchange, TextExchange):
        return Tokens(*exchange.tokens, cached=exchange.cached_tokens)
    return Tokens(sum(exchange.tokens), len(exchange.branches))


def _price(player: str, model: Mapping[str, Any] | None) -> Callable[[Tokens], float]:
    if model is None:
        return lambda _: 0.0
    name, server = model.get("model"), model.get("api")
    day = datetime.now(UTC).date().isoformat()
    if not (name and server) or listed(str(name), str(server), day) is None:
        raise UserError(
            f"the price of {player}'s model is not known, so nothing can be counted in money"
        )
    return prices_for(str(name), str(server), (None, None, None), None, stores=False).cost
