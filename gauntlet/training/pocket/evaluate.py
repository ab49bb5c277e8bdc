"""Measure how the pocket model plays: parallel matches against a random player.

A plain loop, so that training can check play without the pipeline; the figures to quote are the
pipeline's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import LlamaForCausalLM

from gauntlet.agents.base import Decision
from gauntlet.agents.prompting.base import Asking, Method
from gauntlet.games.base import Game
from gauntlet.models.base import Score, Scores
from gauntlet.training.pocket.data import turn_of
from gauntlet.training.pocket.network import hidden_states, logprobs
from gauntlet.training.pocket.trees import LessonTree, collate
from gauntlet.training.pocket.writing import LABELS, Writer

BATCH = 64
OPPONENT = 1
"""Marks the random opponent's stream of random numbers."""


@dataclass
class MatchInPlay:
    """A match in play; `asking` waits for the model's reply on the model's turn."""

    state: Any
    rng: np.random.Generator
    asking: Asking | None = None
    request: Score | None = None


def play(
    model: LlamaForCausalLM,
    writer: Writer,
    game: Game[Any],
    method: Method,
    seat: int,
    deals: int,
    seed: int,
) -> tuple[int, int, int]:
    """Wins, losses and games without a winner of the model in `seat` against random players."""
    matches = [begin(game, number, seed) for number in range(deals)]
    running = matches
    while running := [match for match in running if proceed(match, game, method, seat)]:
        trees = [writer.tree(match.request.prompts) for match in running if match.request]
        for match, rows in zip(running, answers(model, writer, trees), strict=True):
            reply(match, game, seat, rows)
    results = [game.returns(match.state)[seat] for match in matches]
    return sum(r > 0 for r in results), sum(r < 0 for r in results), results.count(0)


def begin(game: Game[Any], number: int, seed: int) -> MatchInPlay:
    deal = game.deal(np.random.default_rng((seed, number)))
    return MatchInPlay(deal, np.random.default_rng((seed, number, OPPONENT)))


def proceed(match: MatchInPlay, game: Game[Any], method: Method, seat: int) -> bool:
    """Play to the model's next choice; False if the match ends first."""
    while movers := game.to_move(match.state):
        options = game.legal(match.state, movers[0])
        if movers[0] == seat and len(options) > 1:
            match.asking = method.ask(turn_of(game, match.state, seat), match.rng)
            request = next(match.asking)
            if not isinstance(request, Score):
                raise TypeError(f"{method} asks for {type(request).__name__}, not for scores")
            match.request = request
            return True
        choice = options[match.rng.integers(len(options))]
        match.state = game.play(match.state, (choice,))
    return False


def answers(
    model: LlamaForCausalLM, writer: Writer, trees: Sequence[LessonTree]
) -> list[np.ndarray]:
    """Return the log-probabilities (branches, LABELS) of each tree."""
    answers: dict[int, np.ndarray] = {}
    order = sorted(range(len(trees)), key=lambda index: len(trees[index]))
    for start in range(0, len(order), BATCH):
        indices = order[start : start + BATCH]
        batch = collate([trees[index] for index in indices])
        with torch.no_grad():
            states = hidden_states(model, batch.ids, batch.positions, batch.seen, batch.asked)
            found_here = logprobs(model, states)[..., writer.labels].numpy()
        for index, rows in zip(indices, found_here, strict=True):
            answers[index] = rows[: len(trees[index].branches)]
    return [answers[index] for index in range(len(trees))]


def reply(match: MatchInPlay, game: Game[Any], seat: int, answered: np.ndarray) -> None:
    """Send the model's answer to the match and play the resulting move."""
    if match.asking is None or match.request is None:
        raise ValueError("a match that asked nothing was sent a reply")
    columns = [LABELS.index(choice) for choice in match.request.choices]
    rows = tuple(map(tuple, answered[:, columns].tolist()))
    try:
        match.asking.send(Scores(rows, (0,) * len(rows)))
    except StopIteration as stop:
        if not isinstance(stop.value, Decision):
            raise ValueError(f"the model gave no usable answer: {stop.value}") from None
        action = game.legal(match.state, seat)[stop.value.option]
        match.state = game.play(match.state, (action,))
