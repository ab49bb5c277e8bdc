"""Run agents' request chains against a model in parallel, without the pipeline."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeVar

from gauntlet.agents.base import Answer, Question
from gauntlet.agents.gather import gather_all
from gauntlet.models.base import Model

T = TypeVar("T")


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
