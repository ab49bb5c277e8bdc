"""TUTRI: an answer, then two reflections on it in the same conversation.

Source: UNO Arena (Qin et al. 2024), sections 4 and 5. The model answers as for `Vanilla`, then
answers again after a review of the moves so far, and again after advice for the game. The last
answer that names an option counts. The wording is ours; the reflections have only one wording,
whatever that of the first question.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gauntlet.agents.base import Turn
from gauntlet.agents.prompting.answers import json_request, parse_option
from gauntlet.agents.prompting.base import Asking, format_facts
from gauntlet.agents.prompting.vanilla import Vanilla, first_prompt, settled
from gauntlet.games.base import Fact, Observation
from gauntlet.games.capabilities import Advised
from gauntlet.models.base import Generate, Generation, continue_dialogue

NO_CHALLENGE, HAND = "draw four cards", "Your hand"
"""UNO Arena's names of an option and a fact; the published bug concerns this game."""


@dataclass(frozen=True)
class Tutri(Vanilla):
    """Asks like `Vanilla`, then reflects; each reflection takes one more reply per decision.

    history: whether to reflect on the moves so far, the last `moves` of them.
    strategy: whether to reflect on advice.
    least: with fewer moves than that, the history counts as unknown.
    legacy_truthiness: whether to read answers like the published code, which takes card number 0 of
        the hand and the No to a challenge for no answer. Such replies are listed in the notes under
        "dropped", by reply number from 0.
    """

    history: bool = True
    strategy: bool = True
    least: int = 5
    legacy_truthiness: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.history or self.strategy):
            raise ValueError("tutri without history and strategy is vanilla; use that")
        if self.least < 0:
            raise ValueError(f"least is {self.least}; a history needs 0 or more moves")

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        options = turn.observation.options
        prompt = first_prompt(turn, self.moves, self.words)
        reply = yield Generate(prompt, self.max_tokens)
        assert isinstance(reply, Generation), reply
        answers = [parse_option(reply.text, options)]
        for message in self._reflections(turn):
            prompt = continue_dialogue(prompt, reply, message)
            reply = yield Generate(prompt, self.max_tokens)
            assert isinstance(reply, Generation), reply
            answers.append(parse_option(reply.text, options))
        return settled(answers, falsy(turn.observation) if self.legacy_truthiness else None)

    def _reflections(self, turn: Turn) -> Iterator[str]:
        seen = turn.observation
        advised = turn.game if isinstance(turn.game, Advised) else None
        if self.history:
            known = min(len(seen.history), self.moves) >= self.least
            facts = advised.review(seen, self.moves) if advised and known else ()
            yield history_message(facts, known)
        if self.strategy:
            yield strategy_message(advised.advice(seen) if advised else ())


def falsy(observation: Observation) -> int | None:
    """The option that a bug of the published code takes for no answer; None if it is no option.

    That is not to challenge, or to play the hand's first card, whose number there is 0. A colour is
    text, which is never affected.
    """
    first = next((fact.text.split(", ")[0] for fact in observation.facts if fact.name == HAND), "")
    dropped = (NO_CHALLENGE, first)
    return next((at for at, option in enumerate(observation.options) if option in dropped), None)


def history_message(facts: tuple[Fact, ...], enough_known: bool) -> str:
    """The review of the moves, if enough are known, and the question about it. Without a review
    from the game it refers to the moves above."""
    told = "Unknown: too few moves have been made.\n"
    if enough_known:
        told = format_facts(facts)
        told = told or "They stand above.\n"
    return (
        f"\nLook back on the last moves.\n{told}"
        "What do they tell of the other players' situation and plans? Keep your choice or change "
        f"it. {json_request('reflection')}"
    )


def strategy_message(advice: tuple[str, ...]) -> str:
    """The advice, and the question about it. Games without advice get a generic sentence."""
    sentences = advice or ("Compare where each option leads, for you and for the other players.",)
    told = "".join(f"- {sentence}\n" for sentence in sentences)
    return (
        f"\nAdvice for players who want to win:\n{told}"
        "Does your choice serve your goal? Keep it or change it. "
        f"{json_request('reflection')}"
    )
