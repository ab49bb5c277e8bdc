"""Run agents' request chains, and matches, against a model in parallel, without the pipeline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gauntlet.agents.base import Agent, Answer, Question, gather_all
from gauntlet.games.base import Game
from gauntlet.models.base import Model

T = TypeVar("T")

NOTED = ("malformed", "illegal")
"""Replies that could not be used, as a method notes them."""


class MatchResult(NamedTuple):
    """The result of the measured seat, and how its replies were read."""

    result: float
    answers: Counter[str]


PlayMatch = Callable[[Game[Any], Agent, Agent, int, int], Generator[Question, Answer, MatchResult]]
"""A match of an agent against another in all other seats: its seat, and the deal."""


def run_parallel(
    chains: Sequence[Generator[Question, Answer, T]], model: Model | None
) -> Sequence[T]:
    """Return the result of each chain, in order. Without a model, chains must not make requests."""
    thinking = gather_all(chains)
    try:
        question = next(thinking)
        while True:
            assert isinstance(question, tuple), question
            assert model is not None, "a chain that asks needs a model"
            question = thinking.send(tuple(model.answer(question)))
    except StopIteration as stop:
        found: Sequence[T] = stop.value
        return found


def play_all_seats(
    model: Model, match: PlayMatch, game: Game[Any], agent: Agent, other: Agent, deals: int
) -> tuple[np.ndarray, Counter[str]]:
    """Return the agent's results, (deals, seats), and counts of how its replies were read."""
    matches = [
        match(game, agent, other, seat, deal)
        for deal in range(deals)
        for seat in range(game.num_seats)
    ]
    played = run_parallel(matches, model)
    answers: Counter[str] = sum((one.answers for one in played), Counter())
    return np.array([one.result for one in played]).reshape(deals, -1), answers


def reply_kinds(answers: Sequence[Any]) -> list[str]:
    """Classify each reply: malformed, illegal, or read."""
    return [one if one in NOTED else "read" for one in answers]
