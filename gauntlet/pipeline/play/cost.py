"""The device-seconds of a model's answers, and how a batch shares them out.

A device-second is one device (a GPU, or a worker's share of the cores) working on answers for one
second; a model in four shards uses four per second. Play itself is not counted.
"""

from __future__ import annotations

from collections.abc import Sequence

from gauntlet.models.base import Generation, ModelSource, Scores


def shards_of(source: ModelSource) -> int:
    """Ranks per replica of the model, one device each."""
    return int(getattr(source, "shards", 1))


def split_cost(seconds: float, replies: Sequence[object]) -> list[float]:
    """Split the seconds of a batch over its replies, in proportion to tokens read and written.

    A failed request counts as one token. Work that a batch does once for many is split too.
    """
    weights = [_tokens(reply) for reply in replies]
    return [seconds * weight / sum(weights) for weight in weights]


def _tokens(reply: object) -> int:
    if isinstance(reply, Scores):
        return max(1, sum(reply.tokens))
    if isinstance(reply, Generation):
        return max(1, reply.prompt_tokens + reply.tokens)
    return 1
