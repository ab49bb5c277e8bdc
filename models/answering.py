"""A batch answered so that one request cannot fail others."""

from __future__ import annotations

from collections.abc import Sequence

from gauntlet.common.errors import Stopped
from gauntlet.models.base import Generation, Model, Reply, Request, Scores


def answer_each(model: Model, requests: Sequence[Request]) -> Sequence[Reply | Exception]:
    """The model's replies, an error in place of one it cannot give; where the batch fails, each
    request is asked alone. A model that is Stopped is not asked again."""
    try:
        return _checked(model.answer(requests), len(requests))
    except Stopped as error:
        return [error] * len(requests)
    except BaseException as error:  # whatever a model raises belongs to whoever asked
        if len(requests) > 1:
            return [answer_each(model, [request])[0] for request in requests]
        return [error if isinstance(error, Exception) else RuntimeError(f"it raised {error!r}")]


def _checked(replies: Sequence[Reply], wanted: int) -> Sequence[Reply]:
    """The replies, if that is what they are: whoever waits for one that never comes waits on."""
    if len(replies) != wanted:
        raise TypeError(f"the model gave {len(replies)} replies to {wanted} requests")
    for reply in replies:
        if not isinstance(reply, (Scores, Generation)):
            raise TypeError(f"{type(reply).__name__} is no reply of a model")
    return replies
