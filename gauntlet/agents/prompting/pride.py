"""PriDe: one prompt, divided by a prior estimated from full rotation of a few decisions.

Source: Zheng, Zhou, Meng, Zhou and Huang (2024), Large Language Models Are Not Robust Multiple
Choice Selectors, section 4: the model's answer is modelled as the letter's prior times the
preference for the option. Over all rotations of a decision each letter meets each option once, so
in the mean logarithm the preference is the same for every letter and only the prior is left. The
paper then takes the arithmetic mean over the decisions' priors; the default here predates that
setting and takes the geometric mean.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gauntlet.agents.base import Answer, Goal, Question, Turn
from gauntlet.agents.prompting.base import Asking, check_moves
from gauntlet.agents.prompting.cloze import LETTERS, rotated
from gauntlet.agents.prompting.priors import (
    Divided,
    Logs,
    Priors,
    Rows,
    averaged,
    learnt,
    sampled_turns,
)
from gauntlet.agents.prompting.scoring import Scoring
from gauntlet.agents.prompting.wording import HasWording
from gauntlet.common.errors import suggest
from gauntlet.common.ids import LATER
from gauntlet.games.base import Game
from gauntlet.models.base import Scores


def geometric(decisions: Sequence[Rows]) -> Logs | None:
    """The softmax of the mean logarithm over the rotations of all decisions. Up to normalisation,
    the geometric mean of the decisions' priors (of up to 26 options)."""
    return learnt([row for rows in decisions for row in rows])


def arithmetic(decisions: Sequence[Rows]) -> Logs | None:
    """The mean of the decisions' normalised priors, as published."""
    priors = [learnt(rows) for rows in decisions]
    return averaged([prior for prior in priors if prior is not None])


Mean = Callable[[Sequence[Rows]], Logs | None]
MEANS: Mapping[str, Mean] = {"geometric": geometric, "arithmetic": arithmetic}


@dataclass(frozen=True)
class Rotating(HasWording):
    """A method that learns priors from full rotation of a few decisions.

    moves: number of recent moves in the prompt.
    estimate: maximum number of decisions per number of options that the prior is estimated from.
    plies: length of the random play that searches for them. `Priors.log_prior` extrapolates to
        numbers of options that it does not meet.
    """

    moves: int = 5
    estimate: int = 20
    plies: int = 2000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_moves(self.moves)
        if self.estimate < 1:
            raise ValueError(f"estimate is {self.estimate}; a prior needs 1 or more decisions")
        if self.plies < 1:
            raise ValueError(f"plies is {self.plies}; random play needs 1 or more")

    def labels(self) -> tuple[str, ...]:
        return LETTERS

    def rotated_decisions(
        self, game: Game[Any], seat: int, goal: Goal
    ) -> Generator[Question, Answer, dict[int, list[Rows]]]:
        """By number of letters, the answers to up to `estimate` decisions under all their
        rotations."""
        told: defaultdict[int, list[Rows]] = defaultdict(list)
        for turn in sampled_turns(game, seat, goal, self.plies):
            letters = min(len(turn.options), len(LETTERS))
            if len(told[letters]) < self.estimate:
                reply = yield rotated(turn, self.moves, self.words)
                assert isinstance(reply, Scores), reply
                told[letters].append(reply.logprobs)
        return dict(told)


def rotation_priors(by_letters: Mapping[int, Sequence[Rows]], mean: Mean) -> Priors:
    """The priors estimated from `rotated_decisions` with this mean."""
    priors = {letters: mean(decisions) for letters, decisions in by_letters.items()}
    known = {letters: logs for letters, logs in priors.items() if logs is not None}
    return Priors(known, sum(len(rows) for decisions in by_letters.values() for rows in decisions))


@dataclass(frozen=True)
class Pride(Scoring, Rotating):
    """One prompt per decision; each letter's probability is divided by its estimated prior.

    mean: over the decisions' priors, "geometric" or, as published, "arithmetic". The default
        predates the setting and is left out of the cell key (`pipeline.plan.identity.describe`).
    """

    mean: str = field(default="geometric", metadata=LATER)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mean not in MEANS:
            raise ValueError(
                f"mean is {self.mean!r}, which there is not{suggest(self.mean, MEANS)}"
            )

    def prepare(
        self, game: Game[Any], seat: int, goal: Goal
    ) -> Generator[Question, Answer, Divided]:
        told = yield from self.rotated_decisions(game, seat, goal)
        priors = rotation_priors(told, MEANS[self.mean])
        return self._divided(priors)

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        return (yield from self._divided(Priors()).ask(turn, rng))

    def _divided(self, priors: Priors) -> Divided:
        return Divided(self.moves, priors, wording=self.wording, temperature=self.temperature)
