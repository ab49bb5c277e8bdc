"""Contextual calibration: one prompt, divided by what the model answers to no content at all.

Source: Zhao, Wallace, Feng, Klein and Singh (2021), Calibrate Before Use, section 5: the
prediction for a content-free input is the bias, and a diagonal matrix takes it out. Of several
such inputs they average the probabilities, then normalise over the answers.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gauntlet.agents.base import Answer, Goal, Question, Turn
from gauntlet.agents.prompting.base import Asking, check_moves
from gauntlet.agents.prompting.cloze import LETTERS, prompts
from gauntlet.agents.prompting.priors import Divided, Priors, Rows, averaged
from gauntlet.agents.prompting.samples import sampled_turns
from gauntlet.agents.prompting.wording import HasWording, Wording
from gauntlet.games.base import Fact, Game, Observation
from gauntlet.models.base import Score, Scores

NOTHING = ("N/A",)
"""What stands in the place of every fact, move and option: one input or more."""
PUBLISHED = (*NOTHING, "", "[MASK]")
"""The three inputs of the paper."""
COUNTS = range(2, len(LETTERS) + 1)
"""Numbers of options that are asked about."""
PLIES = 1000
"""How far to look for a turn whose names of facts the content-free prompt takes over."""


@dataclass(frozen=True)
class Calibrated(HasWording):
    """One prompt a decision; each letter's probability is divided by the probability that it has
    where every fact, move and option reads "N/A".

    moves: number of recent moves in the prompt.
    inputs: what they read instead, "N/A" or others; of several the mean probability counts. The
        default is older than the setting, so it is no part of a cell's key
        (`pipeline.plan.identity.describe`).

    The content-free answers depend on the number of options alone: 25 prompts an input, asked once.
    """

    moves: int = 5
    inputs: tuple[str, ...] = field(default=NOTHING, metadata={"told": "unless default"})

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
        return Divided(self.moves, content_free_priors(told), wording=self.wording)

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        return (yield from Divided(self.moves, wording=self.wording).ask(turn, rng))


def content_free(
    game: Game[Any], seat: int, goal: Goal, moves: int, inputs: Sequence[str], words: Wording
) -> Generator[Question, Answer, list[Rows]]:
    """For each input what a turn's question tells without its content, for every number of
    options; nothing where there is no turn with a choice."""
    turn = next(sampled_turns(game, seat, goal, PLIES), None)
    if turn is None:
        return []
    seen = turn.observation
    empty = [_blank(seen, nothing, count) for nothing in inputs for count in COUNTS]
    asked = tuple(prompts(one, goal, moves, (0,), words)[0] for one in empty)
    reply = yield Score(asked, LETTERS)
    assert isinstance(reply, Scores), reply
    starts = range(0, len(asked), len(COUNTS))
    return [reply.logprobs[start : start + len(COUNTS)] for start in starts]


def content_free_priors(inputs: Sequence[Rows]) -> Priors:
    """The priors that some inputs of `content_free` tell together, for every number of letters."""
    priors = {
        count: averaged([rows[place][:count] for rows in inputs])
        for place, count in enumerate(COUNTS)
    }
    known = {count: logs for count, logs in priors.items() if logs is not None}
    return Priors(known, sum(map(len, inputs)))


def _blank(observation: Observation, nothing: str, count: int) -> Observation:
    facts = tuple(Fact(fact.name, nothing) for fact in observation.facts)
    return replace(observation, facts=facts, history=(nothing,), options=(nothing,) * count)
