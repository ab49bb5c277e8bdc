"""What a model gives to letters whatever stands beside them, and one prompt without it.

A model favours some letters. Where that favour, the prior, is known for a question with K
letters, one prompt is enough: each letter's probability is divided by its prior. How a prior is
learnt is the affair of `calibrated.py` and `pride.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gauntlet.agents.base import Decision, Turn
from gauntlet.agents.prompting.base import Asking, Unusable, check_moves
from gauntlet.agents.prompting.cloze import LETTERS, prompts
from gauntlet.agents.prompting.wording import HasWording
from gauntlet.models.base import Score, Scores

Logs = tuple[float, ...]
"""A natural logarithm of a probability for each letter."""
Rows = tuple[Logs, ...]
"""Those of several prompts."""


@dataclass(frozen=True)
class Priors:
    """Log-priors by number of letters, each normalised over its letters.

    prompts: how many prompts it took to learn them.
    """

    known: Mapping[int, Logs] = field(default_factory=dict)
    prompts: int = 0

    def log_prior(self, letters: int) -> Logs:
        """The log-prior for a question with that many letters.

        Where it was not learnt, the nearest number of letters stands in, of two the larger: its
        surplus letters are left out, and letters that it lacks take the prior of its last one.
        Where nothing was learnt, the letters are equally likely.
        """
        if not self.known:
            return (-math.log(letters),) * letters
        nearest = min(self.known, key=lambda count: (abs(count - letters), -count))
        logs = self.known[nearest]
        return normalised((logs + logs[-1:] * (letters - nearest))[:letters])


def learnt(rows: Sequence[Logs]) -> Logs | None:
    """The log-prior that prompts with the same letters tell by the geometric mean: log softmax of
    the mean over the prompts of each letter's log-probability.

    rows: log-probabilities of shape (prompts, letters). In a row, a letter that the model calls
    impossible counts as the least likely possible one; a row without a possible letter tells
    nothing. None where no row tells anything.
    """
    telling = _telling(rows)
    if not telling:
        return None
    return normalised([math.fsum(column) / len(telling) for column in zip(*telling, strict=True)])


def averaged(rows: Sequence[Logs]) -> Logs | None:
    """The log-prior that the same rows tell by the arithmetic mean: the logarithm of each letter's
    mean probability, normalised. One row tells the same, to the bit, as to `learnt`."""
    telling = _telling(rows)
    if not telling:
        return None
    return normalised([_log_sum(column) for column in zip(*telling, strict=True)])


def divided(logprobs: Sequence[float], prior: Sequence[float]) -> tuple[float, ...] | None:
    """Probabilities divided by their priors, both given as logarithms, and normalised; None where
    no letter is possible."""
    ratios = [value - known for value, known in zip(logprobs, prior, strict=True)]
    if max(ratios) == -math.inf:
        return None
    return tuple(map(math.exp, normalised(ratios)))


def normalised(logs: Sequence[float]) -> Logs:
    """The same logarithms moved so that their exponentials sum to 1."""
    whole = _log_sum(logs)
    return tuple(value - whole for value in logs)


def _log_sum(logs: Sequence[float]) -> float:
    """The logarithm of the sum of the exponentials."""
    top = max(logs)
    return top + math.log(math.fsum(math.exp(value - top) for value in logs))


@dataclass(frozen=True)
class Divided(HasWording):
    """One prompt a decision, its options in order under letters, each letter's probability divided
    by its prior.

    moves: number of recent moves in the prompt.

    Ties go to the first listed option. More options than letters take as few prompts
    as show them all, each 26 of them; an option scores its mean over those that show it.
    """

    moves: int
    priors: Priors = Priors()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_moves(self.moves)

    def labels(self) -> tuple[str, ...]:
        return LETTERS

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        count = len(turn.observation.options)
        letters = LETTERS[: min(count, len(LETTERS))]
        asked = -(-count // len(LETTERS))
        starts = [number * count // asked for number in range(asked)]
        reply = yield Score(
            prompts(turn.observation, turn.goal, self.moves, starts, self.words), letters
        )
        assert isinstance(reply, Scores), reply
        prior = self.priors.log_prior(len(letters))
        shown: list[list[float]] = [[] for _ in range(count)]
        for start, row in zip(starts, reply.logprobs, strict=True):
            scores = divided(row, prior) or (0.0,) * len(letters)
            for place, score in enumerate(scores):
                shown[(start + place) % count].append(score)
        means = tuple(math.fsum(parts) / len(parts) for parts in shown)
        if not max(means) > 0:
            return Unusable("malformed", attempts=1)
        return Decision(
            means.index(max(means)),
            attempts=1,
            scores=means,
            notes={"prior": tuple(map(math.exp, prior))},
        )


def _telling(rows: Sequence[Logs]) -> list[list[float]]:
    """The rows with a possible letter, the impossible ones as the least likely possible one."""
    return [[max(value, _least(row)) for value in row] for row in rows if _least(row) < math.inf]


def _least(row: Sequence[float]) -> float:
    """The smallest log-probability above minus infinity; infinity where there is none."""
    return min((value for value in row if value > -math.inf), default=math.inf)
