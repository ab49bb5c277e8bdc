"""Direct prompting: the move alone, without reasoning (TALAGA's "Prompt")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gauntlet.agents.base import Turn
from gauntlet.agents.prompting.base import Asking
from gauntlet.agents.prompting.cot_base import MOVE, MOVE_CUE, Retrying, indices, majority_decision

CHOOSE = "Choose one of the legal moves, the best for your goal.\n"


@dataclass(frozen=True)
class Direct(Retrying):
    """Asks once for a move."""

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        heard = yield from self.sample_replies(turn, self.prompt(turn, CHOOSE, MOVE, MOVE_CUE), rng)
        return majority_decision(turn, [answer for _, answer in heard], indices(heard))
