"""TUTRI: an answer, then two reflections on it in the same conversation.

Source: UNO Arena (Qin et al. 2024), sections 4 and 5. The model answers as to `Vanilla`; it is
shown what the moves so far add up to and answers again; it is shown advice for the game and
answers again. The last answer that names an option counts. The wording is ours;
that of the reflections is one, whatever the first question's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gauntlet.agents.base import Turn
from gauntlet.agents.prompting.answers import named, wanted
from gauntlet.agents.prompting.base import Asking, told_facts
from gauntlet.agents.prompting.vanilla import Vanilla, first_prompt, settled
from gauntlet.games.base import Fact, Observation
from gauntlet.games.capabilities import Advised
from gauntlet.models.base import Dialogue, Generate, Generation

NO_CHALLENGE, HAND = "draw four cards", "Your hand"
"""What UNO Arena calls an option and a fact; the published slip is of this game."""


@dataclass(frozen=True)
class Tutri(Vanilla):
    """Asks as `Vanilla` does, then reflects; every decision takes one reply more for each.

    history: whether to reflect on the moves so far, the last `moves` of them.
    strategy: whether to reflect on advice.
    least: with fewer moves made than that, the history counts as unknown.
    legacy_truthiness: whether to read answers as the published code does, which takes card number
        0 of the hand and the No to a challenge for no answer. They stand in the notes under
        "dropped", by the number of the reply, from 0.
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
        answers = [named(reply.text, options)]
        turns: tuple[tuple[str, str], ...] = ()
        for told in self._reflections(turn):
            turns = (*turns, (reply.text, told))
            further = Dialogue(prompt.static, prompt.changing, prompt.cue, turns=turns)
            reply = yield Generate(further, self.max_tokens)
            assert isinstance(reply, Generation), reply
            answers.append(named(reply.text, options))
        return settled(answers, falsy(turn.observation) if self.legacy_truthiness else None)

    def _reflections(self, turn: Turn) -> Iterator[str]:
        """What the model is told after its first answer, message by message."""
        seen = turn.observation
        advised = turn.game if isinstance(turn.game, Advised) else None
        if self.history:
            known = min(len(seen.history), self.moves) >= self.least
            facts = advised.review(seen, self.moves) if advised and known else ()
            yield history_message(facts, known)
        if self.strategy:
            yield strategy_message(advised.advice(seen) if advised else ())


def falsy(observation: Observation) -> int | None:
    """The option that the published code takes for no answer, which is a bug of it: not to
    challenge, or to play the hand's first card, whose number there is 0. None where that is no
    option; a colour is text, which is never taken so."""
    first = next((fact.text.split(", ")[0] for fact in observation.facts if fact.name == HAND), "")
    dropped = (NO_CHALLENGE, first)
    return next((at for at, option in enumerate(observation.options) if option in dropped), None)


def history_message(facts: tuple[Fact, ...], enough_known: bool) -> str:
    """What the moves add up to, if enough are known, and the question about it. Of a game that
    adds up nothing the moves speak for themselves."""
    told = "Unknown: too few moves have been made.\n"
    if enough_known:
        told = told_facts(facts)
        told = told or "They stand above.\n"
    return (
        f"\nLook back on the last moves.\n{told}"
        "What do they tell of the other players' situation and plans? Keep your choice or change "
        f"it. {wanted('reflection')}"
    )


def strategy_message(advice: tuple[str, ...]) -> str:
    """The advice, and the question about it. A game that gives none has the one that fits all."""
    sentences = advice or ("Compare where each option leads, for you and for the other players.",)
    told = "".join(f"- {sentence}\n" for sentence in sentences)
    return (
        f"\nAdvice for players who want to win:\n{told}"
        "Does your choice serve your goal? Keep it or change it. "
        f"{wanted('reflection')}"
    )
