"""Methods with a habit, for tests of what is reported about them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gauntlet.agents.base import Decision, Turn
from gauntlet.agents.prompting.answers import parse_option
from gauntlet.agents.prompting.base import Asking
from gauntlet.agents.prompting.vanilla import Vanilla, first_prompt
from gauntlet.models.base import Generate, Generation


@dataclass(frozen=True)
class Silent(Vanilla):
    """Takes the last option if the reply names none, without recording a fallback."""

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        options = turn.observation.options
        reply = yield Generate(first_prompt(turn, self.moves), self.max_tokens)
        assert isinstance(reply, Generation), reply
        answer = parse_option(reply.text, options)
        return Decision(answer if isinstance(answer, int) else len(options) - 1, attempts=1)
