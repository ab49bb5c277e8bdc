"""Plays by full rotation, and records what each cheaper method would have chosen."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gauntlet.agents.base import Answer, Decision, Goal, Question, Turn
from gauntlet.agents.prompting.base import Asking
from gauntlet.agents.prompting.calibrated import PUBLISHED, content_free, content_free_priors
from gauntlet.agents.prompting.cloze import LETTERS, by_letters, rotated
from gauntlet.agents.prompting.pride import Rotating, arithmetic, geometric, rotation_priors
from gauntlet.agents.prompting.priors import Priors, divided
from gauntlet.agents.prompting.scoring import Scoring
from gauntlet.games.base import Game
from gauntlet.models.base import Scores


@dataclass(frozen=True)
class Studied(Scoring):
    """Full rotation, plus the choices of the `cheaper` methods from its unrotated prompt.

    moves: number of recent moves in the prompt.
    cheaper: each method's name and the priors it divides by.

    A decision's notes hold under "cheaper", for each method, the option it would have chosen (None
    if it could not), the prior, and the number of prompts it needed before the first match.
    """

    moves: int
    cheaper: Mapping[str, Priors]

    def labels(self) -> tuple[str, ...]:
        return LETTERS

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        reply = yield rotated(turn, self.moves, self.words)
        assert isinstance(reply, Scores), reply
        answer = by_letters(self, reply, rng)
        if not isinstance(answer, Decision):
            return answer
        row = reply.logprobs[0]
        cheaper = {name: _noted(row, priors) for name, priors in self.cheaper.items()}
        return replace(answer, notes={"cheaper": cheaper})


@dataclass(frozen=True)
class LabelStudy(Rotating):
    """Plays like `Cloze` and records the choices of cheaper methods.

    They are a single unrotated prompt, `Calibrated` with one input and with the three published
    ones, and `Pride` with either mean. They show what debiasing changes, and whether the cheaper
    methods agree.
    """

    def prepare(
        self, game: Game[Any], seat: int, goal: Goal
    ) -> Generator[Question, Answer, Studied]:
        free = yield from content_free(game, seat, goal, self.moves, PUBLISHED, self.words)
        rotations = yield from self.rotated_decisions(game, seat, goal)
        cheaper = {
            "single": Priors(),
            "calibrated": content_free_priors(free[:1]),
            "calibrated_averaged": content_free_priors(free),
            "pride": rotation_priors(rotations, geometric),
            "pride_arithmetic": rotation_priors(rotations, arithmetic),
        }
        return Studied(self.moves, cheaper, wording=self.wording)

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        return (
            yield from Studied(self.moves, {"single": Priors()}, wording=self.wording).ask(
                turn, rng
            )
        )


def _noted(row: Sequence[float], priors: Priors) -> dict[str, Any]:
    prior = priors.log_prior(len(row))
    scores = divided(row, prior)
    return {
        "chosen": None if scores is None else scores.index(max(scores)),
        "prior": tuple(map(math.exp, prior)),
        "prompts": priors.prompts,
    }
