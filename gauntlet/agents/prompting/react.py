"""ReAct: a thought, an intent from a small set, then the move (Yao et al. 2022), in one reply.

Source of the sets: TALAGA, Appendix C. A game provides its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gauntlet.agents.base import Turn
from gauntlet.agents.prompting.answers import folded
from gauntlet.agents.prompting.base import Asking
from gauntlet.agents.prompting.cot_base import (
    MOVE,
    THOUGHT,
    THOUGHT_CUE,
    Retrying,
    indices,
    majority_decision,
)
from gauntlet.games.capabilities import intents_of

GENERAL = (
    "attack: come closer to your goal",
    "defend: spoil what another player is about to do",
    "prepare: keep the moves that will be worth more later",
)
"""The intents for games that define none."""
ACT = (
    "First think about your situation, then say with which action you meet it, then choose one of "
    "the legal moves that carries it out.\nActions:\n"
)
ACTION = "Action: one of the actions\n"
SAID = "(?i)action:(.*)"


@dataclass(frozen=True)
class React(Retrying):
    """Asks for a thought, an action and a move. Only the move counts.

    A decision's notes list under "actions" the action that each reply names, None if it is not in
    the set.
    """

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        intents = intents_of(turn.game) or GENERAL
        instruction = ACT + "".join(f"- {intent}\n" for intent in intents)
        prompt = self.prompt(turn, instruction, THOUGHT + ACTION + MOVE, THOUGHT_CUE)
        heard = yield from self.sample_replies(turn, prompt, rng)
        actions = tuple(action_in(text, intents) for text, _ in heard)
        answers = [answer for _, answer in heard]
        return majority_decision(turn, answers, indices(heard), actions=actions)


def action_in(reply: str, intents: Sequence[str]) -> str | None:
    """The name of the intent that a reply names last after "Action:"."""
    said = folded("".join(re.findall(SAID, reply)[-1:]))
    names = [intent.partition(":")[0] for intent in intents]
    found = [name for name in names if folded(name) in said]
    return max(found, key=len) if found else None
