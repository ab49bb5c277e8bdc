"""Prompts of the method `observe` about random rounds, built by the method itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gauntlet.agents.base import Turn
from gauntlet.agents.prompting.observe import Observe, reminder
from gauntlet.games.base import Fact
from gauntlet.games.rock_paper_scissors import RockPaperScissors, rounds_as_json
from gauntlet.games.rock_paper_scissors.strategies import CODES
from gauntlet.games.watch import Watch
from gauntlet.models.base import Generation, Prompt, continue_dialogue
from gauntlet.training.pocket.data import turn_of
from gauntlet.training.pocket.observer.rounds import play_pair

ROUNDS = 210
TOLD = ((0.6, 50, 50), (0.2, 1, 49), (0.1, 20, 20), (0.1, 51, ROUNDS))
"""Probabilities of the range of rounds shown in a lesson: (probability, minimum, maximum)."""
REASONS = 0.15
"""Probability that reasons are requested."""
AGAIN = 0.03
"""Probability of a repeated prompt after an invalid reply."""
USELESS = (" I do not know.", ' {"guess_s1": "Q", "guess_s2": "7", "confidence": 1}')


class Question(NamedTuple):
    """A prompt, the rounds that it shows, (rounds, 2), and whether it requests reasons."""

    prompt: Prompt
    hands: NDArray[np.int64]
    reasons: bool


def questions(rng: np.random.Generator) -> Iterator[Question]:
    """Yield prompts about random players, after a random number of rounds, forever."""
    asking = QuestionSampler()
    shares = [share for share, _, _ in TOLD]
    while True:
        _, least, most = TOLD[rng.choice(len(TOLD), p=shares)]
        length = int(rng.integers(least, most + 1))
        round_number, reasons = asking.moment(length, rng.random() < REASONS, rng)
        one, other = rng.integers(len(CODES), size=2).tolist()
        hands = play_pair((CODES[one], CODES[other]), round_number, rng)[round_number - length :]
        prompt = asking.prompt(hands, round_number)
        if rng.random() < AGAIN:
            useless = Generation(USELESS[rng.integers(len(USELESS))], 0, 0)
            prompt = continue_dialogue(prompt, useless, reminder(asking.game))
        yield Question(prompt, hands, reasons)


@dataclass(frozen=True)
class QuestionSampler:
    """Builds prompts as if the rounds came from a watched match."""

    game: Watch = field(default_factory=lambda: Watch(of=RockPaperScissors(rounds=ROUNDS)))
    method: Observe = field(default_factory=Observe)

    @cached_property
    def _turn(self) -> Turn:
        return turn_of(self.game, self.game.deal(np.random.default_rng(0)), 0)

    def moment(self, window: int, reasons: bool, rng: np.random.Generator) -> tuple[int, bool]:
        """A number of rounds played, at least `window`, and whether reasons are requested then."""
        every = self.method.reasons
        wanted = [
            n for n in range(window, ROUNDS + 1) if (n % every == 0 or n == ROUNDS) == reasons
        ]
        found = wanted or [window]
        return found[rng.integers(len(found))], bool(wanted) and reasons

    def prompt(self, hands: NDArray[np.int64], round_number: int) -> Prompt:
        """Return the prompt after `played` rounds, of which `hands` are the last."""
        observation = self._turn.observation
        text = rounds_as_json(hands.tolist(), round_number - len(hands) + 1)
        now = replace(
            observation,
            facts=(Fact("History", text),),
            view=replace(observation.view, shown=round_number, told=()),
        )
        return self.method.prompt(replace(self._turn, observe=lambda: now))
