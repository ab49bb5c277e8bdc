"""Thoughts side by side: what they ask at a time is asked at once."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeVar

from gauntlet.agents.base import Answer, Question
from gauntlet.models.base import Reply, Request

Thought = TypeVar("Thought")
Thinking = Generator[Question, Answer, Thought]


def together(thoughts: Sequence[Thinking[Thought]]) -> Thinking[list[Thought]]:
    """What comes of the thoughts, in their order. In every round each that still thinks asks, and
    all that is asked is one question; a thought that asks nothing is through at once."""
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
