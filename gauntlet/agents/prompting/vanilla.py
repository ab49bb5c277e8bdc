"""Vanilla prompting: one prompt, answered by a JSON object of thoughts and an action.

The slots, their order and the parsing follow UNO Arena (Qin et al. 2024): role, public facts, the
last moves by number, the seat's private facts, options, rules and goal, answer format. The wording
is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gauntlet.agents.base import Decision, Status, Turn
from gauntlet.agents.prompting.answers import json_request, listed, parse_option
from gauntlet.agents.prompting.base import (
    Asking,
    Unusable,
    aim,
    check_length,
    check_moves,
    format_facts,
    role,
)
from gauntlet.agents.prompting.wording import PLAIN, HasWording, Wording
from gauntlet.models.base import Generate, Generation, Prompt


@dataclass(frozen=True)
class Vanilla(HasWording):
    """Asks once for thoughts and an action; temperature 0.

    moves: number of recent moves in the prompt.
    max_tokens: limit on a reply's length; a longer one is truncated, and so malformed.

    A decision's notes list under "answers" the option that each reply names, or what is wrong with
    it.
    """

    moves: int = 20
    max_tokens: int = 200

    def __post_init__(self) -> None:
        super().__post_init__()
        check_moves(self.moves)
        check_length(self.max_tokens)

    def labels(self) -> tuple[str, ...]:
        return ()

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        reply = yield Generate(first_prompt(turn, self.moves, self.words), self.max_tokens)
        assert isinstance(reply, Generation), reply
        return settled([parse_option(reply.text, turn.observation.options)])


def first_prompt(turn: Turn, moves: int, words: Wording = PLAIN) -> Prompt:
    """The situation, the numbered options, the rules and the answer format."""
    seen = turn.observation
    parts = (
        format_facts(fact for fact in seen.facts if not fact.own),
        last_moves(seen.history, moves, words) if moves else "",
        format_facts(fact for fact in seen.facts if fact.own),
        listed(seen.options, words.options),
        f"\n{words.rules.format(rules=seen.rules)}{aim(turn.goal, words)}\n",
        words.number + json_request("thoughts"),
    )
    return Prompt(role(seen, words), "".join(parts), words.cue)


def last_moves(history: Sequence[str], moves: int, words: Wording = PLAIN) -> str:
    """The last `moves` public moves, one per line, numbered from 1 within the match."""
    if not history:
        return words.no_last
    numbered = list(enumerate(history, 1))[-moves:]
    return words.last + "".join(f"{number}. {move}\n" for number, move in numbered)


def settled(answers: Sequence[int | Status], no_answer: int | None = None) -> Decision | Unusable:
    """The last answer that names an option; if there is none, the error of the last.

    no_answer: an option that counts as a missing answer when named.
    """
    dropped = [reply for reply, answer in enumerate(answers) if answer == no_answer]
    notes = {"answers": tuple(answers), **({"dropped": tuple(dropped)} if dropped else {})}
    valid = [answer for answer in answers if isinstance(answer, int) and answer != no_answer]
    if valid:
        return Decision(valid[-1], attempts=len(answers), notes=notes)
    last = answers[-1]
    return Unusable("malformed" if isinstance(last, int) else last, len(answers), notes)
