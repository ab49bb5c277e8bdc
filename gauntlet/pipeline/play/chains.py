"""Chains: generators that yield requests to models and continue when the replies arrive.

A chain yields its new asks, or () while it only waits for others, and is sent one answer at a time,
in any order. So a slow reply delays only the chain that needs it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from gauntlet.agents.base import Answer, Question
from gauntlet.common.errors import Stopped
from gauntlet.models.base import ModelSource, Reply, Request
from gauntlet.models.exchanges import Exchange
from gauntlet.pipeline.log.exchanges import exchange
from gauntlet.pipeline.plan.cells import Player


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """A request and the model that answers it. Compared by identity: equal requests stay
    distinct."""

    source: ModelSource
    request: Request


@dataclass(frozen=True, slots=True)
class Answered:
    """An ask and its reply."""

    ask: Ask
    reply: Reply


Result = TypeVar("Result")
Chain = Generator[tuple[Ask, ...], Answered, Result]


def answer_questions(
    thinking: Generator[Question, Answer, Result],
    player: Player,
    exchanges: list[Exchange],
    statics: dict[str, str],
    thoughts: bool = True,
) -> Chain[Result]:
    """Forward the questions of a player's agent to its model, and append each request and its reply
    to `exchanges` in the order asked. thoughts: whether to keep the model's thoughts. Raises
    Stopped for a question without a model."""
    try:
        question = next(thinking)
        while True:
            if (source := player.model) is None:
                raise Stopped(
                    f"{type(player.agent).__name__} asks a model, but the player has none: its "
                    "seat or its file in conf/player must name one (model: NAME)"
                )
            requests = question if isinstance(question, tuple) else (question,)
            replies = yield from gathered([Ask(source, request) for request in requests])
            pairs = zip(requests, replies, strict=True)
            exchanges.extend(exchange(*pair, statics, thoughts) for pair in pairs)
            question = thinking.send(replies if isinstance(question, tuple) else replies[0])
    except StopIteration as stop:
        result: Result = stop.value
        return result


def gathered(asks: Sequence[Ask]) -> Chain[tuple[Reply, ...]]:
    """The replies to all asks, in the order of the asks."""
    replies: dict[Ask, Reply] = {}
    new = tuple(asks)
    while len(replies) < len(asks):
        come = yield new
        replies[come.ask], new = come.reply, ()
    return tuple(replies[ask] for ask in asks)


def run_concurrently(chains: Sequence[Chain[Result]]) -> Chain[list[Result]]:
    """Run chains concurrently, each on its own replies; return their results in order."""
    if len(chains) == 1:
        return [(yield from chains[0])]
    results: dict[int, Result] = {}
    owners: dict[Ask, int] = {}
    new: list[Ask] = []

    def step(number: int, come: Answered | None) -> None:
        try:
            asks = next(chains[number]) if come is None else chains[number].send(come)
        except StopIteration as stop:
            results[number] = stop.value
            return
        owners.update(dict.fromkeys(asks, number))
        new.extend(asks)

    for number in range(len(chains)):
        step(number, None)
    while len(results) < len(chains):
        come = yield tuple(new)
        new.clear()
        step(owners.pop(come.ask), come)
    return [results[number] for number in range(len(chains))]


def run(chain: Chain[Result], answer: Callable[[Ask], Reply]) -> Result:
    """Run a chain to its end, answering its asks one by one."""
    waiting: deque[Ask] = deque()
    come: Answered | None = None
    while True:
        try:
            waiting.extend(next(chain) if come is None else chain.send(come))
        except StopIteration as stop:
            result: Result = stop.value
            return result
        ask = waiting.popleft()
        come = Answered(ask, answer(ask))
