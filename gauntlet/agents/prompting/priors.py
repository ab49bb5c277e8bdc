"""Letter priors: a model's bias towards letters, and decisions from one prompt corrected for it.

If the prior is known for a question with K letters, one prompt is enough: each letter's probability
is divided by its prior. `calibrated.py` and `pride.py` estimate the prior.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gauntlet.agents.base import Goal, Turn
from gauntlet.agents.prompting.base import Asking, Unusable, check_moves
from gauntlet.agents.prompting.cloze import LETTERS, prompts
from gauntlet.agents.prompting.scoring import Scoring
from gauntlet.games.base import Game, default_text_move
from gauntlet.games.contract import seats_to_move
from gauntlet.models.base import Score, Scores

Logs = tuple[float, ...]
"""Log-probabilities (natural), one per letter."""
Rows = tuple[Logs, ...]
"""Those of several prompts."""


@dataclass(frozen=True)
class Priors:
    """Log-priors by number of letters, each normalised over its letters.

    prompts: number of prompts used to estimate them.
    """

    known: Mapping[int, Logs] = field(default_factory=dict)
    prompts: int = 0

    def log_prior(self, letters: int) -> Logs:
        """The log-prior for a question with that many letters.

        If it was not estimated, the nearest number of letters is used, the larger one on a tie:
        surplus letters are dropped, and missing letters take the prior of the last one. Without any
        estimate the prior is uniform.
        """
        if not self.known:
            return (-math.log(letters),) * letters
        nearest = min(self.known, key=lambda count: (abs(count - letters), -count))
        logs = self.known[nearest]
        return normalised((logs + logs[-1:] * (letters - nearest))[:letters])


def learnt(rows: Sequence[Logs]) -> Logs | None:
    """The log-prior from prompts with the same letters, by the geometric mean.

    It is the log softmax of each letter's mean log-probability over the prompts.

    rows: log-probabilities of shape (prompts, letters). In a row, impossible letters count as the
        least likely possible one; rows without a possible letter are ignored.

    Returns None if no row is left.
    """
    telling = _telling(rows)
    if not telling:
        return None
    return normalised([math.fsum(column) / len(telling) for column in zip(*telling, strict=True)])


def averaged(rows: Sequence[Logs]) -> Logs | None:
    """The log-prior from the same rows by the arithmetic mean of probabilities, normalised. For a
    single row the result is bit-identical to that of `learnt`."""
    telling = _telling(rows)
    if not telling:
        return None
    return normalised([_log_sum(column) for column in zip(*telling, strict=True)])


def divided(logprobs: Sequence[float], prior: Sequence[float]) -> tuple[float, ...] | None:
    """Probabilities divided by their priors and normalised; None if no letter is possible. Both
    arguments are logarithms."""
    ratios = [value - known for value, known in zip(logprobs, prior, strict=True)]
    if max(ratios) == -math.inf:
        return None
    return tuple(map(math.exp, normalised(ratios)))


def normalised(logs: Sequence[float]) -> Logs:
    """Shift the logarithms so that their exponentials sum to 1."""
    whole = _log_sum(logs)
    return tuple(value - whole for value in logs)


def _log_sum(logs: Sequence[float]) -> float:
    top = max(logs)
    return top + math.log(math.fsum(math.exp(value - top) for value in logs))


@dataclass(frozen=True)
class Divided(Scoring):
    """One prompt per decision with lettered options, each probability divided by the letter's
    prior.

    moves: number of recent moves in the prompt.

    Ties go to the first listed option. With more options than letters it takes as few prompts as
    show them all, 26 each; an option scores its mean over the prompts that show it.
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
        return replace(self.decided(means, rng), notes={"prior": tuple(map(math.exp, prior))})


def _telling(rows: Sequence[Logs]) -> list[list[float]]:
    """The rows with a possible letter; impossible letters become the least likely one."""
    return [[max(value, _least(row)) for value in row] for row in rows if _least(row) < math.inf]


def _least(row: Sequence[float]) -> float:
    """The smallest finite log-probability; infinity if there is none."""
    return min((value for value in row if value > -math.inf), default=math.inf)


SEED = 20_240_607
"""These deals are seeded by two numbers, those of a sweep by more, so the two never coincide."""


def sampled_turns(game: Game[Any], seat: int, goal: Goal, plies: int) -> Iterator[Turn]:
    """Every turn with a choice for `seat` in `plies` plies of random play; always the same turns.
    New deals start as games end."""
    state, deals = None, 0
    for _ in range(plies):
        if state is None or not seats_to_move(game, state):
            rng = np.random.default_rng([SEED, deals])
            state, deals = game.deal(rng), deals + 1
        moves = []
        for mover in seats_to_move(game, state):
            turn = Turn.at(game, state, mover, goal)
            options = turn.options
            if mover == seat and len(options) > 1:
                yield turn
            moves.append(default_text_move(options[rng.integers(len(options))], rng))
        if moves:
            state = game.play(state, moves)
