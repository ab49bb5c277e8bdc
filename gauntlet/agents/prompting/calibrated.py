"""Contextual calibration: one prompt, divided by the model's answer to content-free input.

Source: Zhao, Wallace, Feng, Klein and Singh (2021), Calibrate Before Use, section 5: the prediction
for a content-free input is the bias, which a diagonal matrix removes. With several such inputs they
average the probabilities and then normalise over the answers.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gauntlet.agents.base import Answer, Goal, Question, Turn
from gauntlet.agents.prompting.base import Asking, check_moves
from gauntlet.agents.prompting.cloze import LETTERS, prompts
from gauntlet.agents.prompting.priors import Divided, Priors, Rows, averaged, sampled_turns
from gauntlet.agents.prompting.scoring import Scoring
from gauntlet.agents.prompting.wording import Wording
from gauntlet.common.ids import LATER
from gauntlet.games.base import Fact, Game
from gauntlet.models.base import Score, Scores

NOTHING = ("N/A",)
"""Replaces every fact, move and option: one or more inputs."""
PUBLISHED = (*NOTHING, "", "[MASK]")
"""The three inputs of the paper."""
COUNTS = range(2, len(LETTERS) + 1)
"""The numbers of options to calibrate for."""
PLIES = 1000
"""Plies to search for a turn whose fact names the content-free prompt reuses."""


@dataclass(frozen=True)
class Calibrated(Scoring):
    """One prompt per decision, divided by each letter's probability for content-free input.

    In the content-free prompt every fact, move and option reads "N/A".

    moves: number of recent moves in the prompt.
    inputs: the replacement texts, "N/A" or others; the mean probability over them is used. The
        default predates the setting and is left out of the cell key
        (`pipeline.plan.identity.describe`).

    The content-free answers depend only on the number of options: 25 prompts per input, asked once.
    """

    moves: int = 5
    inputs: tuple[str, ...] = field(default=NOTHING, metadata=LATER)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_moves(self.moves)
        if not self.inputs:
            raise ValueError('inputs is empty; calibration needs one or more, such as "N/A"')
        if len(set(self.inputs)) < len(self.inputs):
            raise ValueError(f"inputs names one twice: {', '.join(map(repr, self.inputs))}")

    def labels(self) -> tuple[str, ...]:
        return LETTERS

    def prepare(
        self, game: Game[Any], seat: int, goal: Goal
    ) -> Generator[Question, Answer, Divided]:
        told = yield from content_free(game, seat, goal, self.moves, self.inputs, self.words)
        return self._divided(content_free_priors(told))

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        return (yield from self._divided(Priors()).ask(turn, rng))

    def _divided(self, priors: Priors) -> Divided:
        return Divided(self.moves, priors, wording=self.wording, temperature=self.temperature)


def content_free(
    game: Game[Any], seat: int, goal: Goal, moves: int, inputs: Sequence[str], words: Wording
) -> Generator[Question, Answer, list[Rows]]:
    """For each input the content-free answers, for every number of options; [] if no turn has a
    choice."""
    turn = next(sampled_turns(game, seat, goal, PLIES), None)
    if turn is None:
        return []
    empty = [
        replace(
            turn.observation,
            facts=tuple(Fact(fact.name, nothing) for fact in turn.observation.facts),
            history=(nothing,),
            options=(nothing,) * count,
        )
        for nothing in inputs
        for count in COUNTS
    ]
    asked = tuple(prompts(one, goal, moves, (0,), words)[0] for one in empty)
    reply = yield Score(asked, LETTERS)
    assert isinstance(reply, Scores), reply
    starts = range(0, len(asked), len(COUNTS))
    return [reply.logprobs[start : start + len(COUNTS)] for start in starts]


def content_free_priors(inputs: Sequence[Rows]) -> Priors:
    """The priors from the answers of `content_free`, averaged over inputs, per number of
    letters."""
    priors = {
        count: averaged([rows[place][:count] for rows in inputs])
        for place, count in enumerate(COUNTS)
    }
    known = {count: logs for count, logs in priors.items() if logs is not None}
    return Priors(known, sum(map(len, inputs)))
