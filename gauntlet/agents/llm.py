"""The agent that queries a language model through a prompting method; what it does about replies
that are no answer: cut by a limit, refused, filtered, paused.

The latter stands between a method and its model, so it is the same for every method. A cut reply
may still hold an answer, which only the method can tell. So a reply counts as bad if it did not end
by itself and the method could not use it: it has no text, the method asks about it again in the
same conversation, or the decision fails. The method then starts anew: replies that it had are given
to it from memory, and the bad one is asked for again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from gauntlet.agents.base import (
    NO_ANSWERS,
    Answer,
    Decision,
    Goal,
    Question,
    Thinking,
    Turn,
    check,
    check_decision,
    finish_status,
    prepared,
    questions,
)
from gauntlet.agents.prompting.base import Asking, Method, Unusable, includes_text
from gauntlet.agents.prompting.words import add_text
from gauntlet.common.ids import LATER
from gauntlet.games.base import Game, TextAction
from gauntlet.games.capabilities import can_forfeit
from gauntlet.models.base import Dialogue, Finish, Generate, Generation, Reply, Request, Scores

OnBadReply = Literal["ask_again", "fallback", "forfeit"]

Result = TypeVar("Result", Decision, Decision | Unusable)
Part = Callable[[np.random.Generator], Generator[Question, Answer, Result]]
"""A part of a decision, to be started with the decision's random stream."""


@dataclass
class Listener:
    """Passes the questions of one decision on and hears every reply.

    times: how often a bad reply is asked for again.
    more_room: the factor by which each of these requests has a larger token limit, if the limit
        cut the reply. Other bad replies are asked for with another seed.
    again: the numbers of the requests, in the order asked, whose replies were replaced.
    """

    times: int
    more_room: float
    again: list[int] = field(default_factory=list)
    _asked: int = 0
    _instead: dict[Request, Generate] = field(default_factory=dict)
    _tried: Counter[Request] = field(default_factory=Counter)
    _known: dict[Request, tuple[int, Reply]] = field(default_factory=dict)
    _heard: list[tuple[Generate, Generation]] = field(default_factory=list)
    _withheld: Finish | None = None
    """Why the last reply has no probabilities; None if it has, or is a text."""

    def run(
        self, part: Part[Result], rng: np.random.Generator
    ) -> Generator[Question, Answer, Result]:
        """The result of a part of the decision, with what was wrong with its last reply."""
        state, before = rng.bit_generator.state, len(self.again)
        while True:
            result = yield from self._once(part(rng))
            if result is not None:
                return self._explained(result, len(self.again) - before)
            rng.bit_generator.state = state

    def _once(
        self, asking: Generator[Question, Answer, Result]
    ) -> Generator[Question, Answer, Result | None]:
        """The result of one run; None if a reply is to be asked for again."""
        self._heard = []
        try:
            question = next(asking)
            while True:
                requests = question if isinstance(question, tuple) else (question,)
                if self._replace(self._questioned(requests)):
                    return None
                replies = yield from self._answered(requests)
                if self._replace([h for h in self._heard if not "".join(h[1].texts).strip()]):
                    return None
                several = isinstance(question, tuple)
                question = asking.send(tuple(replies) if several else replies[0])
        except StopIteration as stop:
            result: Result = stop.value
        finally:
            asking.close()
        return None if failed(result) and self._replace(self._heard) else result

    def _questioned(self, requests: Sequence[Request]) -> list[tuple[Generate, Generation]]:
        """The replies that a method continues the conversation about."""
        last = {
            request.prompt.turns[-1][0]
            for request in requests
            if isinstance(request, Generate) and isinstance(request.prompt, Dialogue)
        }
        return [heard for heard in self._heard[-1:] if heard[1].text in last]

    def _answered(self, requests: Sequence[Request]) -> Generator[Question, Answer, list[Reply]]:
        """The replies, from memory or from the model."""
        actual = [self._instead.get(request, request) for request in requests]
        new = [request for request in actual if not (self._instead and request in self._known)]
        if new:
            came = yield new[0] if len(new) == 1 else tuple(new)
            arrived = came if isinstance(came, tuple) else (came,)
            for request, reply in zip(new, arrived, strict=True):
                self._known[request] = self._asked, reply
                self._asked += 1
        replies = [self._known[request][1] for request in actual]
        last = replies[-1]
        self._withheld = last.finish if isinstance(last, Scores) and last.finish != "stop" else None
        self._heard += [
            (request, reply)
            for request, reply in zip(requests, replies, strict=True)
            if isinstance(request, Generate) and isinstance(reply, Generation)
        ]
        return replies

    def _replace(self, heard: Sequence[tuple[Generate, Generation]]) -> bool:
        """Whether some of these replies are bad and will be asked for again."""
        replaced = False
        for request, reply in heard:
            finish = bad_finish(reply)
            if finish in (None, "context") or self._tried[request] >= self.times:
                continue
            if finish == "loop" and not request.temperature:  # it would be the same text
                continue
            actual = self._instead.get(request, request)
            self._tried[request] += 1
            self._instead[request] = self._larger(actual, reply)
            self.again.append(self._known[actual][0])
            replaced = True
        return replaced

    def _larger(self, request: Generate, reply: Generation) -> Generate:
        """The request that is sent instead. Thoughts count too: a reply may be longer than
        `max_tokens`."""
        if bad_finish(reply) != "length":
            return replace(request, seed=request.seed + 1)
        used = max(request.max_tokens, reply.tokens // request.n)
        more = math.ceil((self.more_room - 1) * used)
        return replace(request, max_tokens=request.max_tokens + more)

    def _explained(self, result: Result, replaced: int) -> Result:
        """A failed result with the reason of the last reply, if that was bad; the attempts and the
        requests that were asked again."""
        extra: dict[str, Any] = {}
        if replaced:
            extra["attempts"] = result.attempts + replaced
            extra["notes"] = {**result.notes, "again": tuple(self.again)}
        finish = self._withheld or (bad_finish(self._heard[-1][1]) if self._heard else None)
        if failed(result) and finish:
            extra["status"] = finish_status(finish)
        return replace(result, **extra) if extra else result


def failed(result: Decision | Unusable) -> bool:
    """Whether the model's replies decided nothing."""
    return isinstance(result, Unusable) or result.fallback


def bad_finish(reply: Generation) -> Finish | None:
    """Why the first of its texts that did not end by itself ended; None if all did."""
    return next((finish for finish in reply.finishes if finish_status(finish) != "ok"), None)


@dataclass(frozen=True)
class LLM:
    """Plays the option that `method` reads from the model's replies.

    An unusable reply becomes a uniform random legal move, recorded as a fallback with what was
    wrong. If the option needs text that the method did not give, the model is asked for it next;
    one of the game's examples is the fallback.

    on_bad_reply: what follows a reply that was cut, refused or filtered before it held an answer.
        "ask_again": it is asked for again, `times` times, each time with `more_room` times as many
        tokens if it was cut; then a fallback. "fallback": a fallback at once. "forfeit": the seat
        gives the match up, in games of two seats without draws or scores.

    Raises ValueError if a field has a value that is not allowed.
    """

    method: Method
    on_bad_reply: OnBadReply = field(default="ask_again", metadata=LATER)
    times: int = field(default=1, metadata=LATER)
    more_room: float = field(default=2.0, metadata=LATER)

    def __post_init__(self) -> None:
        if self.on_bad_reply not in get_args(OnBadReply):
            allowed = ", ".join(get_args(OnBadReply))
            raise ValueError(f"on_bad_reply {self.on_bad_reply!r}: allowed are {allowed}")
        if self.times < 1:
            raise ValueError(
                f"times is {self.times}; a bad reply is asked for again 1 or more times"
            )
        if not 1 < self.more_room <= 100:
            raise ValueError(f"more_room is {self.more_room:g}; it is above 1, at most 100")

    def check(self, game: Game[Any]) -> None:
        check(self.method, game)
        if self.on_bad_reply == "forfeit" and not can_forfeit(game):
            raise ValueError(
                "on_bad_reply=forfeit needs a game of two seats that is judged by wins; use "
                "ask_again or fallback"
            )

    def prepare(self, game: Game[Any], seat: int, goal: Goal) -> Generator[Question, Answer, LLM]:
        method = yield from prepared(self.method, game, seat, goal)
        return replace(self, method=method)

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        listener = Listener(self.times * (self.on_bad_reply == "ask_again"), self.more_room)
        decision = yield from self._choose(turn, rng, listener)
        if not decision.text:
            decision = yield from listener.run(partial(add_text, turn, decision), rng)
        gives_up = self.on_bad_reply == "forfeit" and decision.status in NO_ANSWERS
        return replace(decision, forfeit=True) if gives_up else decision

    def _choose(self, turn: Turn, rng: np.random.Generator, listener: Listener) -> Thinking:
        only_words = len(turn.options) == 1 and isinstance(turn.options[0], TextAction)
        if only_words and not includes_text(self.method):
            return Decision(0)
        answer = yield from listener.run(partial(self._ask, turn), rng)
        if isinstance(answer, Decision):
            return answer
        option = int(rng.integers(len(turn.options)))
        return Decision(
            option, answer.status, fallback=True, attempts=answer.attempts, notes=answer.notes
        )

    def _ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        answer = yield from questions(self.method, "ask", self.method.ask(turn, rng))
        if not isinstance(answer, Unusable):
            check_decision(self.method, "ask", turn, answer)
        return answer
