"""One generated letter: the options are lettered, in an order rotated by the decision's rng.

This is one rotation of cloze (`agents.prompting.cloze`) with a generated answer: a decision takes
one prompt and a token or two, and letter bias becomes noise instead of a preference for some
options. With more options than letters the prompt shows the first 26 of its order, each option
equally often.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from gauntlet.agents.base import Decision, Turn
from gauntlet.agents.prompting.base import Asking, Unusable, check_length, check_moves
from gauntlet.agents.prompting.cloze import LETTERS, prompts
from gauntlet.agents.prompting.wording import HasWording
from gauntlet.models.base import Generate, Generation

ANSWER = re.compile(r"\W*([A-Z])\b")
"""The first word of a reply, if it is one capital letter."""


@dataclass(frozen=True)
class Letter(HasWording):
    """Asks once for a letter; temperature 0.

    moves: number of recent moves in the prompt.
    max_tokens: limit on a reply's length.
    """

    moves: int = 5
    max_tokens: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        check_moves(self.moves)
        check_length(self.max_tokens)

    def labels(self) -> tuple[str, ...]:
        return ()

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        seen = turn.observation
        first = int(rng.integers(len(seen.options)))
        (prompt,) = prompts(seen, turn.goal, self.moves, [first], self.words)
        reply = yield Generate(prompt, self.max_tokens)
        assert isinstance(reply, Generation), reply
        said = ANSWER.match(reply.text)
        if said is None:
            return Unusable("malformed", attempts=1)
        place = LETTERS.index(said[1])
        if place >= len(seen.options):
            return Unusable("illegal", attempts=1)
        return Decision((first + place) % len(seen.options), attempts=1)
