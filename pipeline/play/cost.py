"""What an answer costs, in device-seconds, and whose cost it is.

A device-second is one device (a GPU, or a worker's share of the cores) that works on answers for
a second; a model in four shards spends four a second. Play itself is not in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from gauntlet.models.base import Generation, ModelSource, Scores


def shards_of(source: ModelSource) -> int:
    """How many ranks run a replica of the model, each on a device."""
    return int(getattr(source, "shards", 1))


def shared_out(seconds: float, replies: Sequence[object]) -> list[float]:
    """The seconds of a batch, each reply's part in proportion to its tokens as sent and written.

    A request that failed counts as one token. What a batch computes once for many is spread too.
    """
    weights = [_tokens(reply) for reply in replies]
    return [seconds * weight / sum(weights) for weight in weights]


def _tokens(reply: object) -> int:
    if isinstance(reply, Scores):
        return max(1, sum(reply.tokens))
    if isinstance(reply, Generation):
        return max(1, reply.prompt_tokens + reply.tokens)
    return 1
