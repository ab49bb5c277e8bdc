"""What the pocket model learns from: decisions, put in words by the project's own prompts.

Games are dealt without end, so no decision is met twice but by chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from transformers import PreTrainedTokenizerFast

from agents.base import Goal, Turn
from agents.minimax import outcome
from agents.prompting.base import Method
from agents.prompting.cloze import LETTERS, Cloze
from agents.prompting.counterfactual import VERDICTS, Counterfactual
from games.base import Game
from games.tic_tac_toe import TicTacToe
from games.uno.game import Uno
from models.base import Prompt, Score
from models.pocket.teacher import Network, ratings
from models.pocket.trees import Tree

LABELS = LETTERS + VERDICTS
CLOZE, COUNTERFACTUAL = Cloze(), Counterfactual()
BRANCHING = "\nOptions:"
"""Where the prompts of one decision part; the tokenizer never merges across its beginning."""

UNO_SCALE = 0.015
"""A difference in the chance to win that makes an option e times as likely to be the answer."""
STAKE = 0.02
"""A decision of which less depends (the best option's lead over the mean) is taught less often."""
TIC_TAC_TOE_SCALE = 0.2
SHARES = {"uno 2": 0.76, "uno 3": 0.04, "uno 4": 0.04, "tic-tac-toe": 0.16}
STRAY = 0.25
"""How often the learner's seat leaves the teacher's move for a random one."""


class Lesson(NamedTuple):
    """A turn and float64 logits (options,) of how good each option is."""

    turn: Turn
    logits: np.ndarray


def lessons(network: Network, rng: np.random.Generator) -> Iterator[Lesson]:
    """Decisions of all kinds, mixed in proportion to SHARES, without end."""
    kinds = [uno_lessons(network, seats, rng) for seats in (2, 3, 4)]
    kinds.append(tic_tac_toe_lessons(rng))
    shares = list(SHARES.values())
    while True:
        for kind in rng.choice(len(kinds), 1000, p=shares):
            yield next(kinds[kind])


def uno_lessons(network: Network, seats: int, rng: np.random.Generator) -> Iterator[Lesson]:
    """The turns of one seat that plays mostly as the teacher would, against random others."""
    game = Uno(seats)
    while True:
        state, learner = game.deal(rng), int(rng.integers(seats))
        while movers := game.to_move(state):
            options = game.legal(state, movers[0])
            choice = int(rng.integers(len(options)))
            if len(options) > 1 and movers[0] == learner:
                worth = ratings(network, state.array, np.array(options))
                if rng.random() < (worth.max() - worth.mean()) / STAKE:
                    yield Lesson(turn_of(game, state, learner), worth / UNO_SCALE)
                choice = choice if rng.random() < STRAY else int(worth.argmax())
            state = game.play(state, (options[choice],))


def tic_tac_toe_lessons(rng: np.random.Generator) -> Iterator[Lesson]:
    """The turns at which the move matters, of games whose seats move perfectly or at random."""
    game = TicTacToe()
    while True:
        state = game.deal(rng)
        while movers := game.to_move(state):
            options, sign = game.legal(state, movers[0]), 1 - 2 * movers[0]
            after = [game.play(state, (action,)) for action in options]
            worth = np.array([sign * outcome(game, position) for position in after])
            if worth.min() < worth.max():
                yield Lesson(turn_of(game, state, movers[0]), worth / TIC_TAC_TOE_SCALE)
            likely = worth == worth.max() if rng.random() < 0.5 else worth > -2
            state = after[rng.choice(np.flatnonzero(likely))]


def turn_of(game: Game[Any], state: Any, seat: int) -> Turn:
    return Turn(game, game.legal(state, seat), Goal(), lambda: game.observe(state, seat))


def prompts_of(method: Method, turn: Turn, rng: np.random.Generator) -> tuple[Prompt, ...]:
    """The prompts with which `method` asks about a turn."""
    request = next(method.ask(turn, rng))
    if not isinstance(request, Score):
        raise TypeError(f"{method} asks for {type(request).__name__}, not for scores")
    return request.prompts


class Writer:
    """Turns lessons into trees of tokens."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self.backend = tokenizer.backend_tokenizer
        self.labels = [self.encode(f"Answer: {label}")[-1] for label in LABELS]
        self.statics: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        return list(self.backend.encode(text, add_special_tokens=False).ids)

    def tree(self, prompts: tuple[Prompt, ...], targets: np.ndarray | None = None) -> Tree:
        """One tree of the prompts of one decision."""
        static = prompts[0].static
        if static not in self.statics:
            self.statics[static] = self.encode(static)
        told, _, _ = prompts[0].changing.partition(BRANCHING)
        branches = [self.encode(p.changing[len(told) :] + p.cue) for p in prompts]
        return Tree(self.statics[static] + self.encode(told), branches, targets)

    def lesson(
        self, lesson: Lesson, rng: np.random.Generator, rotations: int, verdicts: int
    ) -> Tree:
        """A lesson as a tree that asks for a letter under some of the rotations and for a verdict
        on some of the options."""
        count = len(lesson.logits)
        turned, judged = rng.permutation(count)[:rotations], rng.permutation(count)[:verdicts]
        cloze = prompts_of(CLOZE, lesson.turn, rng)
        counterfactual = prompts_of(COUNTERFACTUAL, lesson.turn, rng)
        targets = [letters(lesson.logits, rotation) for rotation in turned]
        targets += [verdict(lesson.logits, option) for option in judged]
        prompts = [cloze[r] for r in turned] + [counterfactual[option] for option in judged]
        return self.tree(tuple(prompts), np.stack(targets))


def letters(logits: np.ndarray, rotation: int) -> np.ndarray:
    """What the answer to a cloze prompt should be: float64 (LABELS,)."""
    shown = np.roll(logits, -rotation)[: len(LETTERS)]
    chances = np.exp(shown - shown.max())
    target = np.zeros(len(LABELS))
    target[: len(shown)] = chances / chances.sum()
    return target


def verdict(logits: np.ndarray, option: int) -> np.ndarray:
    """What the verdict on an option should be: float64 (LABELS,). It is good as far as the option
    is better than the best of the others."""
    margin = logits[option] - np.delete(logits, option).max()
    target = np.zeros(len(LABELS))
    target[len(LETTERS)] = 1 / (1 + np.exp(-margin))
    target[len(LETTERS) + 1] = 1 - target[len(LETTERS)]
    return target
