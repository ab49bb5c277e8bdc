"""From the scores of options to a decision: the best one, or one drawn by its score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from gauntlet.agents.base import Decision
from gauntlet.agents.prompting.wording import HasWording
from gauntlet.common.ids import LATER


@dataclass(frozen=True)
class Scoring(HasWording):
    """Base of the methods that score every option.

    temperature: 0 takes the option with the highest score, the first listed of several. Above 0 an
        option is drawn with probability in proportion to score ** (1 / temperature), as
        `games.openspiel.exploitability.tempered`; for scores that are no weights (`weights`), to
        exp(score / temperature). The default predates the setting and is left out of the cell key
        (`pipeline.plan.identity.describe`).

    A decision that is drawn records the probabilities: none of the model's own sampling is in them,
    so the same scores give the same law, also from a cache.
    """

    temperature: float = field(default=0.0, kw_only=True, metadata=LATER)
    weights: ClassVar[bool] = True
    """Whether the scores are 0 or more, so that they can be weights."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.temperature >= 0 and math.isfinite(self.temperature)):
            raise ValueError(f"temperature is {self.temperature:g}; it is 0 or above, and finite")

    def decided(self, scores: Sequence[float], rng: np.random.Generator) -> Decision:
        """The decision by these scores, one per option and some above 0 if they are weights."""
        told = tuple(scores)
        if not self.temperature:
            return Decision(told.index(max(told)), attempts=1, scores=told)
        chances = self.law(told)
        option = int(rng.choice(len(told), p=chances))
        return Decision(option, attempts=1, scores=told, chances=tuple(chances.tolist()))

    def law(self, scores: Sequence[float]) -> np.ndarray:
        """The probability of each option: float64 (options,)."""
        values = np.array(scores, float)
        if self.weights:
            with np.errstate(divide="ignore"):
                values = np.log(values)
        with np.errstate(over="ignore"):
            weights = np.exp((values - values.max()) / self.temperature)
        return np.asarray(weights / weights.sum())
