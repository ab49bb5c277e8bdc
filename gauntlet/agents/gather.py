"""Runs agents' generators concurrently and merges their requests into batches."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeVar

from gauntlet.agents.base import Answer, Question
from gauntlet.models.base import Reply, Request

Thought = TypeVar("Thought")
Thinking = Generator[Question, Answer, Thought]


def gather_all(thoughts: Sequence[Thinking[Thought]]) -> Thinking[list[Thought]]:
    """Run the generators in lockstep and return their results in order. Each round yields the
    requests of all unfinished ones as a single tuple."""
    results: dict[int, Thought] = {}
    asking: dict[int, Question] = {}

    def step(number: int, answer: Answer | None) -> None:
        try:
            thought = thoughts[number]
            asking[number] = next(thought) if answer is None else thought.send(answer)
        except StopIteration as stop:
            results[number] = stop.value

    for number in range(len(thoughts)):
        step(number, None)
    while asking:
        questions, sizes = dict(asking), {n: len(_listed(q)) for n, q in asking.items()}
        asking.clear()
        replies = yield tuple(one for question in questions.values() for one in _listed(question))
        assert isinstance(replies, tuple)
        left: list[Reply] = list(replies)
        for number, question in questions.items():
            own, left = tuple(left[: sizes[number]]), left[sizes[number] :]
            step(number, own if isinstance(question, tuple) else own[0])
    return [results[number] for number in range(len(thoughts))]


def _listed(question: Question) -> tuple[Request, ...]:
    return question if isinstance(question, tuple) else (question,)
