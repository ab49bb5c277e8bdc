"""The same player with prompts changed in ways that should not matter.

A difference between two prompts means little unless it exceeds that of a meaningless change. Any
player that uses a model can therefore be rerun with one more blank line between the shared part of
a seat's prompts and the situation, and with the facts in another order. The wording of facts and
questions and the parsing of replies stay the same.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from gauntlet.agents.base import (
    Agent,
    Answer,
    Goal,
    Notified,
    Question,
    Thinking,
    Turn,
    check,
    decide,
    prepared,
    questions,
)
from gauntlet.games.base import Game, Observation
from gauntlet.models.base import Prompt, Request, Score

Result = TypeVar("Result")


@dataclass(frozen=True)
class Noisy:
    """Plays like `agent`, with observations passed through `vary` and prompts through `spaced`.

    In positions that the agent imagines itself the facts keep their order; the prompts are spaced.
    """

    agent: Agent

    def check(self, game: Game[Any]) -> None:
        check(self.agent, game)

    def prepare(self, game: Game[Any], seat: int, goal: Goal) -> Generator[Question, Answer, Noisy]:
        return Noisy((yield from _spacing(prepared(self.agent, game, seat, goal))))

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        told = replace(turn, observe=lambda: vary(turn.observation))
        return (yield from _spacing(decide(self.agent, told, rng)))

    def on_end(
        self, seat: int, moves: Sequence[str], ending: str, returns: Sequence[float]
    ) -> Generator[Question, Answer, None]:
        if isinstance(self.agent, Notified):
            telling = self.agent.on_end(seat, moves, ending, returns)
            yield from _spacing(questions(self.agent, "on_end", telling))


def vary(observation: Observation) -> Observation:
    """Reverse the order of the facts, public and private ones separately. A fact is a line under
    its own name, so the order carries no information."""
    facts = observation.facts
    kinds = {own: [fact for fact in facts if fact.own is own] for own in (False, True)}
    return replace(observation, facts=tuple(kinds[fact.own].pop() for fact in facts))


def spaced(prompt: Prompt) -> Prompt:
    """Insert a blank line before the prompt's changing text; its end is unchanged."""
    return replace(prompt, changing=f"\n{prompt.changing}")


def _spacing(
    thinking: Generator[Question, Answer, Result],
) -> Generator[Question, Answer, Result]:
    """Pass questions on with spaced prompts, and the answers back."""
    try:
        question = next(thinking)
        while True:
            spread = (
                tuple(map(_spaced, question)) if isinstance(question, tuple) else _spaced(question)
            )
            question = thinking.send((yield spread))
    except StopIteration as stop:
        result: Result = stop.value
        return result


def _spaced(request: Request) -> Request:
    if isinstance(request, Score):
        return replace(request, prompts=tuple(map(spaced, request.prompts)))
    return replace(request, prompt=spaced(request.prompt))
