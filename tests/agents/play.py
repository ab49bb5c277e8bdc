"""Run agents without a model: each request is answered by a function."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeVar

import numpy as np

from gauntlet.agents import base
from gauntlet.agents.base import Agent, Decision, Goal, Question, Thinking, Turn
from gauntlet.games.base import (
    Action,
    Fact,
    Game,
    Observation,
    TextAction,
    TextMove,
    default_text_move,
)
from gauntlet.models.base import Generation, Reply, Request, Score, Scores

Answer = Callable[[Request], Reply]
Thought = TypeVar("Thought")


def drive(agent: Any, turn: Turn, answer: Answer, seed: int = 0) -> tuple[Decision, list[Request]]:
    """Return the agent's decision, and all its requests."""
    thinking: Thinking = agent.decide(turn, np.random.default_rng(seed))
    return talk(thinking, answer)


def talk(
    thinking: Generator[Question, base.Answer, Thought], answer: Answer
) -> tuple[Thought, list[Request]]:
    """Answer all requests; return the result and the requests. Parallel requests are answered in
    order."""
    asked: list[Request] = []
    try:
        question = next(thinking)
        while True:
            requests = question if isinstance(question, tuple) else (question,)
            asked += requests
            replies = tuple(map(answer, requests))
            question = thinking.send(replies if isinstance(question, tuple) else replies[0])
    except StopIteration as stop:
        thought: Thought = stop.value
        return thought, asked


def unasked(request: Request) -> Reply:
    raise AssertionError(f"an agent without a model asks {request}")


def table(rows: list[list[float]]) -> Answer:
    """Answers a Score with these probabilities, one row per prompt."""

    def answer(request: Request) -> Reply:
        assert isinstance(request, Score)
        assert (len(rows), len(rows[0])) == (len(request.prompts), len(request.choices))
        logprobs = tuple(tuple(map(_log, row)) for row in rows)
        return Scores(logprobs, (0,) * len(rows))

    return answer


def uniform(request: Request) -> Reply:
    """Every choice equally likely; nothing to say."""
    if not isinstance(request, Score):
        return Generation("", 0, 0)
    row = [1 / len(request.choices)] * len(request.choices)
    return table([row for _ in request.prompts])(request)


def silent(request: Request) -> Reply:
    """None of the choices is possible; nothing to say."""
    if not isinstance(request, Score):
        return Generation("", 0, 0)
    return table([[0.0] * len(request.choices) for _ in request.prompts])(request)


def opinionated(request: Request) -> Reply:
    """Return likelihoods that are a fixed function of the prompt's text."""
    if not isinstance(request, Score):
        return Generation("", 0, 0)
    rows = []
    for prompt in request.prompts:
        rng = np.random.default_rng(zlib.crc32(prompt.text.encode()))
        rows.append(rng.dirichlet(np.ones(len(request.choices))).tolist())
    return table(rows)(request)


def turn_with(*options: str, seat: int = 1, goal: Goal | None = None, moves: int = 7) -> Turn:
    """Return a turn of an invented game with these options, after `moves` moves."""
    seen = Observation(
        game="Snap",
        seat=seat,
        rules="Be quick.",
        facts=(Fact("Pile", "a red queen"), Fact("Hand", "two kings", own=True)),
        history=tuple(f"move {number}" for number in range(1, moves + 1)),
        options=options,
    )
    game: Any = None
    return Turn(game, tuple(range(len(options))), goal or Goal(), lambda: seen)


def turn_at(game: Game[Any], state: Any, seat: int, goal: Goal | None = None) -> Turn:
    actions = game.legal(state, seat)
    return Turn(game, actions, goal or Goal(), lambda: game.observe(state, seat))


Told = tuple[Turn, Decision, list[Request]]


def match(agent: Agent, game: Game[Any], seed: int, answer: Answer) -> Iterator[Told]:
    """Yield the turns with a choice, as decided, of a game between copies of the agent. The last
    seat plays for seat 0."""
    state = game.deal(np.random.default_rng(seed))
    number = 0
    while seats := game.to_move(state):
        moves = []
        for seat in seats:
            goal = Goal(helps=0) if seat == game.num_seats - 1 else Goal()
            turn = turn_at(game, state, seat, goal)
            decision = Decision(0)
            if len(turn.options) > 1 or isinstance(turn.options[0], TextAction):
                decision, asked = drive(agent, turn, answer, seed=number)
                yield turn, decision, asked
                number += 1
            moves.append(moved(turn, decision, number))
        state = game.play(state, moves)


def moved(turn: Turn, decision: Decision, seed: int) -> Action:
    """Return the move that the match makes from a decision."""
    option = turn.options[decision.option]
    return (
        TextMove(option, decision.text)
        if decision.text
        else default_text_move(option, np.random.default_rng(seed))
    )


def _log(probability: float) -> float:
    return math.log(probability) if probability else -math.inf
