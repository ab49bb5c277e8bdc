"""A model that thinks, and often gives no answer: its reply depends only on the request."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gauntlet.models.base import Detail, Finish, Generate, Generation, Reply, Request
from gauntlet.models.fake import Fake, FakeModel

FINISHES: tuple[Finish, ...] = ("stop", "stop", "length", "refused", "filtered", "context")
LONG = "I think. " * 10_000


@dataclass(frozen=True)
class Moody(Fake):
    """Answers like Fake after long thoughts, or not at all."""

    def identity(self) -> Mapping[str, Any]:
        return {"moody": self.seed}

    def load(self) -> FakeModel:
        return MoodyModel(self)


class MoodyModel(FakeModel):
    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        return [mood(*pair) for pair in zip(requests, super().answer(requests), strict=True)]


def mood(request: Request, reply: Reply) -> Reply:
    if not isinstance(request, Generate) or not isinstance(reply, Generation):
        return reply
    asked = repr((request.prompt.text, request.max_tokens, request.seed))
    finish = FINISHES[hashlib.sha256(asked.encode()).digest()[0] % len(FINISHES)]
    text = reply.text if finish == "stop" else ""
    detail = Detail(finish, LONG, "I would rather not." * (finish == "refused"))
    return replace(reply, text=text, details=(detail,), tokens=reply.tokens + 20, thought_tokens=20)
