"""Answers batches such that one request cannot fail the others."""

from __future__ import annotations

from collections.abc import Sequence

from gauntlet.common.errors import Stopped
from gauntlet.models.base import Generation, Model, Reply, Request, Scores


def answer_each(model: Model, requests: Sequence[Request]) -> Sequence[Reply | Exception]:
    """The model's replies, with an exception for each reply it cannot give. If the batch fails,
    each request is sent alone. After Stopped the model is not called again."""
    try:
        return _all_checked(model.answer(requests), len(requests))
    except Stopped as error:
        return [error] * len(requests)
    except BaseException as error:  # any exception goes to the caller
        if len(requests) > 1:
            return [answer_each(model, [request])[0] for request in requests]
        return [error if isinstance(error, Exception) else RuntimeError(f"it raised {error!r}")]


def checked(reply: Reply) -> Reply:
    """The reply. Raises TypeError if it is something else."""
    if not isinstance(reply, (Scores, Generation)):
        raise TypeError(f"{type(reply).__name__} is no reply of a model")
    return reply


def _all_checked(replies: Sequence[Reply], wanted: int) -> Sequence[Reply]:
    """Check count and types: a waiter whose reply is missing would wait forever."""
    if len(replies) != wanted:
        raise TypeError(f"the model gave {len(replies)} replies to {wanted} requests")
    return [checked(reply) for reply in replies]
