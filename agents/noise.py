"""The same player, asked in prompts that differ in nothing that matters.

What two prompts make of the same deals may differ by no more than what a meaningless change does.
So any player that asks can be asked again so: one blank line more between what a seat's prompts
share and the situation, and the facts in another order. What is said, asked and read stays as it
is.
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
    Prepared,
    Question,
    Thinking,
    Turn,
    check,
)
from gauntlet.games.base import Fact, Game, Observation
from gauntlet.models.base import Prompt, Request, Score

Result = TypeVar("Result")


@dataclass(frozen=True)
class Noisy:
    """Plays as `agent` does, which is told `varied` observations and whose prompts are `spaced`.

    Of positions that the agent thinks up for itself the facts keep their order; their prompts are
    spaced as all are.
    """

    agent: Agent

    def check(self, game: Game[Any]) -> None:
        """Raises ValueError where the agent cannot play the game."""
        check(self.agent, game)

    def prepare(self, game: Game[Any], seat: int, goal: Goal) -> Generator[Question, Answer, Noisy]:
        if not isinstance(self.agent, Prepared):
            return self
        return Noisy((yield from _spacing(self.agent.prepare(game, seat, goal))))

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        told = replace(turn, observe=lambda: vary(turn.observation))
        return (yield from _spacing(self.agent.decide(told, rng)))

    def on_end(
        self, seat: int, moves: Sequence[str], ending: str, returns: Sequence[float]
    ) -> Generator[Question, Answer, None]:
        if isinstance(self.agent, Notified):
            yield from _spacing(self.agent.on_end(seat, moves, ending, returns))


def vary(observation: Observation) -> Observation:
    """The observation with its facts the other way round: those of all among themselves, and those
    of this seat alone. A fact is a line under its own name, so their order tells nothing."""
    return replace(observation, facts=_reversed(observation.facts))


def _reversed(facts: Sequence[Fact]) -> tuple[Fact, ...]:
    kinds = {own: [fact for fact in facts if fact.own is own] for own in (False, True)}
    return tuple(kinds[fact.own].pop() for fact in facts)


def spaced(prompt: Prompt) -> Prompt:
    """The prompt with a blank line more before its changing text; its end stays as it is."""
    return replace(prompt, changing=f"\n{prompt.changing}")


def _spacing(
    thinking: Generator[Question, Answer, Result],
) -> Generator[Question, Answer, Result]:
    """Passes questions on with their prompts spaced, and the answers back."""
    try:
        question = next(thinking)
        while True:
            question = thinking.send((yield _vary_question(question)))
    except StopIteration as stop:
        result: Result = stop.value
        return result


def _vary_question(question: Question) -> Question:
    if isinstance(question, tuple):
        return tuple(map(_spaced, question))
    return _spaced(question)


def _spaced(request: Request) -> Request:
    if isinstance(request, Score):
        return replace(request, prompts=tuple(map(spaced, request.prompts)))
    return replace(request, prompt=spaced(request.prompt))
