"""Chain of thought (Wei et al. 2022), with a majority vote over several samples.

The vote is self-consistency (Wang et al. 2022).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gauntlet.agents.base import Turn
from gauntlet.agents.prompting.base import Asking
from gauntlet.agents.prompting.cot_base import (
    MOVE,
    THOUGHT,
    THOUGHT_CUE,
    Retrying,
    indices,
    majority_decision,
)

THINK = (
    "First think about your situation, then choose one of the legal moves, the best for your "
    "goal.\n"
)


@dataclass(frozen=True)
class Cot(Retrying):
    """Asks for thoughts and a move; plays the move most samples name, ties to the first named.

    samples: number of samples, all requested at once.
    """

    samples: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_samples(samples=self.samples)

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        prompt = self.prompt(turn, THINK, THOUGHT + MOVE, THOUGHT_CUE)
        heard = yield from self.sample_replies(turn, prompt, rng, self.samples)
        return majority_decision(turn, [answer for _, answer in heard], indices(heard))
