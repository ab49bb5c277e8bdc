"""Counterfactual prompting: the model judges each option separately as good or bad.

One prompt per option, without letters; the score is P(good) - P(bad) for the first word of the
answer (LLM-UNO, Sec. IV-A). Each option is judged once, so nothing is averaged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gauntlet.agents.base import Turn
from gauntlet.agents.prompting.base import (
    Asking,
    Unusable,
    check_moves,
    role_and_rules,
    situation,
)
from gauntlet.agents.prompting.scoring import Scoring
from gauntlet.agents.prompting.wording import PLAIN, Wording, on_a_line
from gauntlet.models.base import Prompt, Score, Scores

VERDICTS = ("good", "bad")


@dataclass(frozen=True)
class Counterfactual(Scoring):
    """Asks for every option whether it is good or bad.

    moves: number of recent moves in the prompt.

    Ties go to the first listed option.
    """

    moves: int = 5
    weights: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_moves(self.moves)

    def labels(self) -> tuple[str, ...]:
        return VERDICTS

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        options = turn.observation.options
        static = role_and_rules(turn.observation, turn.goal, self.words)
        told = situation(turn.observation, self.moves, self.words)
        prompts = tuple(
            Prompt(static, told + question(options, index, self.words), self.words.cue)
            for index in range(len(options))
        )
        reply = yield Score(prompts, VERDICTS)
        assert isinstance(reply, Scores), reply
        if not any(math.isfinite(logprob) for row in reply.logprobs for logprob in row):
            return Unusable("malformed", attempts=1)
        scores = tuple(math.exp(good) - math.exp(bad) for good, bad in reply.logprobs)
        return self.decided(scores, rng)


def question(options: tuple[str, ...], candidate: int, words: Wording = PLAIN) -> str:
    """The options with the candidate first, and the question about it."""
    others = options[:candidate] + options[candidate + 1 :]
    listed = on_a_line((options[candidate], *others))
    return words.verdict.format(options=listed, option=options[candidate])
