"""Vanilla prompting: one prompt, answered by a JSON object of thoughts and an action.

The slots and the handling of answers follow UNO Arena (Qin et al. 2024); the wording is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agents.base import Decision, Status, Turn
from agents.prompting.answers import listed, named, wanted
from agents.prompting.base import Asking, Unusable, check_moves, role_and_rules, situation
from models.base import Generate, Generation, Prompt

CUE = "Answer:"


@dataclass(frozen=True)
class Vanilla:
    """Asks once for thoughts and an action; temperature 0.

    moves: how many recent moves the prompt tells.
    max_tokens: how long a reply may be; a longer one is cut, and then malformed.

    A decision's notes hold under "answers", reply by reply, the option that it names or what is
    wrong with it.
    """

    moves: int = 20
    max_tokens: int = 200

    def __post_init__(self) -> None:
        check_moves(self.moves)
        if self.max_tokens < 1:
            raise ValueError(f"max_tokens is {self.max_tokens}; a reply needs 1 or more")

    def labels(self) -> tuple[str, ...]:
        return ()

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        reply = yield Generate(first_prompt(turn, self.moves), self.max_tokens)
        assert isinstance(reply, Generation), reply
        return settled([named(reply.text, turn.observation.options)])


def first_prompt(turn: Turn, moves: int) -> Prompt:
    """The situation, the numbered options and what form the answer has."""
    seen = turn.observation
    told = situation(seen, moves) + listed(seen.options)
    question = "Which option is best? " + wanted("thoughts")
    return Prompt(role_and_rules(seen, turn.goal), told + question, CUE)


def settled(answers: Sequence[int | Status], no_answer: int | None = None) -> Decision | Unusable:
    """The last answer that names an option. Where none does, what is wrong with the last.

    no_answer: an option whose naming counts as a missing answer.
    """
    dropped = [reply for reply, answer in enumerate(answers) if answer == no_answer]
    notes = {"answers": tuple(answers), **({"dropped": tuple(dropped)} if dropped else {})}
    valid = [answer for answer in answers if isinstance(answer, int) and answer != no_answer]
    if valid:
        return Decision(valid[-1], attempts=len(answers), notes=notes)
    last = answers[-1]
    return Unusable("malformed" if isinstance(last, int) else last, len(answers), notes)
