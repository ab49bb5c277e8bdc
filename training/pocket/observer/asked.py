"""What the method `observe` asks about drawn rounds, worded by the method itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gauntlet.agents.base import Turn
from gauntlet.agents.prompting.observe import Observe, reminded
from gauntlet.games.base import Fact
from gauntlet.games.rock_paper_scissors import RockPaperScissors, spectator
from gauntlet.games.rock_paper_scissors.strategies import CODES
from gauntlet.games.watch import Watch
from gauntlet.models.base import Prompt
from gauntlet.training.pocket.data import turn_of
from gauntlet.training.pocket.observer.rounds import played

ROUNDS = 210
TOLD = ((0.6, 50, 50), (0.2, 1, 49), (0.1, 20, 20), (0.1, 51, ROUNDS))
"""How often a lesson tells how many rounds: at least, at most."""
REASONS = 0.15
"""How often reasons are wanted."""
AGAIN = 0.03
"""How often the question is put again, after a reply that will not do."""
USELESS = (" I do not know.", ' {"guess_s1": "Q", "guess_s2": "7", "confidence": 1}')


class Question(NamedTuple):
    """A prompt, the rounds that it tells, (rounds, 2), and whether it wants reasons."""

    prompt: Prompt
    hands: NDArray[np.int64]
    reasons: bool


def questions(rng: np.random.Generator) -> Iterator[Question]:
    """Questions about any two players, after any round, without end."""
    asking = QuestionSampler()
    shares = [share for share, _, _ in TOLD]
    while True:
        _, least, most = TOLD[rng.choice(len(TOLD), p=shares)]
        told = int(rng.integers(least, most + 1))
        shown, reasons = asking.moment(told, rng.random() < REASONS, rng)
        one, other = rng.integers(len(CODES), size=2).tolist()
        hands = played((CODES[one], CODES[other]), shown, rng)[shown - told :]
        prompt = asking.prompt(hands, shown)
        if rng.random() < AGAIN:
            prompt = reminded(prompt, USELESS[rng.integers(len(USELESS))], asking.game)
        yield Question(prompt, hands, reasons)


@dataclass(frozen=True)
class QuestionSampler:
    """Puts rounds as they would be told of a match that is watched."""

    game: Watch = field(default_factory=lambda: Watch(of=RockPaperScissors(rounds=ROUNDS)))
    method: Observe = field(default_factory=Observe)

    @cached_property
    def _turn(self) -> Turn:
        return turn_of(self.game, self.game.deal(np.random.default_rng(0)), 0)

    def moment(self, window: int, reasons: bool, rng: np.random.Generator) -> tuple[int, bool]:
        """How many rounds were shown, at least `window`, and whether reasons are wanted then."""
        every = self.method.reasons
        wanted = [
            n for n in range(window, ROUNDS + 1) if (n % every == 0 or n == ROUNDS) == reasons
        ]
        found = wanted or [window]
        return found[rng.integers(len(found))], bool(wanted) and reasons

    def prompt(self, hands: NDArray[np.int64], played: int) -> Prompt:
        """The question after `played` rounds of which the last are told."""
        seen = self._turn.observation
        text = spectator.rounds(hands.tolist(), played - len(hands) + 1)
        now = replace(
            seen, facts=(Fact("History", text),), view=replace(seen.view, shown=played, told=())
        )
        return self.method.prompt(replace(self._turn, observe=lambda: now))
