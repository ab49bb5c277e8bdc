"""Cloze prompting: the options are lettered and the model fills in one letter.

A model favours some letters whatever they label, so the question is asked once for every rotation
of the options, and an option's score is the sum of the probabilities of its letters (LLM-UNO, Sec.
IV-A).
"""

from __future__ import annotations

import math
import string
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gauntlet.agents.base import Decision, Goal, Turn
from gauntlet.agents.prompting.base import Asking, Unusable, check_moves, role_and_rules, situation
from gauntlet.agents.prompting.scoring import Scoring
from gauntlet.agents.prompting.wording import PLAIN, Wording
from gauntlet.games.base import Observation
from gauntlet.models.base import Prompt, Score, Scores

LETTERS = tuple(string.ascii_uppercase)


@dataclass(frozen=True)
class Cloze(Scoring):
    """Asks for a letter under every rotation of the options.

    moves: number of recent moves in the prompt.

    Ties go to the first listed option. With more options than letters, each rotation shows the
    first 26 of its order, so every option is shown equally often.
    """

    moves: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_moves(self.moves)

    def labels(self) -> tuple[str, ...]:
        return LETTERS

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        reply = yield rotated(turn, self.moves, self.words)
        assert isinstance(reply, Scores), reply
        return by_letters(self, reply, rng)


def by_letters(method: Scoring, reply: Scores, rng: np.random.Generator) -> Decision | Unusable:
    """The decision by the probability of each option's letters over the rotations of `rotated`."""
    scores = option_scores(reply)
    return method.decided(scores, rng) if max(scores) > 0 else Unusable("malformed", attempts=1)


def rotated(turn: Turn, moves: int, words: Wording = PLAIN) -> Score:
    """The question under every rotation of the options; the first shows them in order."""
    count = len(turn.observation.options)
    asked = prompts(turn.observation, turn.goal, moves, range(count), words)
    return Score(asked, LETTERS[: min(count, len(LETTERS))])


def option_scores(reply: Scores) -> tuple[float, ...]:
    """The probability that each option's letters received in total over the rotations of
    `rotated`."""
    count = len(reply.logprobs)
    parts: list[list[float]] = [[] for _ in reply.logprobs]
    for rotation, row in enumerate(reply.logprobs):
        for place, logprob in enumerate(row):
            parts[(rotation + place) % count].append(math.exp(logprob))
    return tuple(map(math.fsum, parts))  # exact, so that ties do not depend on the order


def prompts(
    observation: Observation,
    goal: Goal,
    moves: int,
    rotations: Iterable[int],
    words: Wording = PLAIN,
) -> tuple[Prompt, ...]:
    """One prompt per rotation; rotation r puts option r first and moves those before it to the
    end."""
    static, told = role_and_rules(observation, goal, words), situation(observation, moves, words)
    orders = (observation.options[r:] + observation.options[:r] for r in rotations)
    return tuple(Prompt(static, told + question(order, words), words.cue) for order in orders)


def question(options: tuple[str, ...], words: Wording = PLAIN) -> str:
    """The lettered options, as many as there are letters, and the question."""
    lines = [f"{letter}) {option}\n" for letter, option in zip(LETTERS, options, strict=False)]
    return f"{words.options}{''.join(lines)}{words.letter}"
