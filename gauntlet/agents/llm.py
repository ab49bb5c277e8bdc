"""The agent that queries a language model through a prompting method."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, get_args

import numpy as np

from gauntlet.agents.bad_replies import Listener, OnBadReply
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
    prepared,
    questions,
)
from gauntlet.agents.prompting.base import Asking, Method, Unusable, includes_text
from gauntlet.agents.prompting.words import add_text
from gauntlet.common.ids import LATER
from gauntlet.games.base import Game, TextAction
from gauntlet.games.capabilities import can_forfeit


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
