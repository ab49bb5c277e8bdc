"""A person in a seat, who sees the same facts in the same words as a language model."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np

from gauntlet.agents.base import Answer, Decision, Question, Thinking, Turn
from gauntlet.agents.prompting.base import role_and_rules, situation
from gauntlet.agents.prompting.words import Wording, choice, with_words, without_words
from gauntlet.games.base import TextAction, TextSpec
from gauntlet.models.base import Generate, Generation, Prompt, Score, Scores

ATTEMPTS = 20
"""How often a person is asked for text before the fallback: a typing slip is no decision."""


@dataclass(frozen=True)
class Human:
    """Plays the option whose number the person types, with the text they type for text actions.

    Without any answer, which the terminal never gives, a uniform random legal move is played, or
    one of the game's example texts; both are recorded as fallbacks.
    """

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        decision = yield from self._choose(turn, rng)
        option = turn.options[decision.option]
        if not isinstance(option, TextAction):
            return decision
        return (yield from self._say(turn, decision, option.text, rng))

    def _choose(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        if len(turn.options) == 1 and isinstance(turn.options[0], TextAction):
            return Decision(0)
        numbers = tuple(map(str, range(1, len(turn.options) + 1)))
        reply = yield Score((question(turn),), numbers)
        assert isinstance(reply, Scores), reply
        (row,) = reply.logprobs
        if max(row) == -np.inf:
            option = int(rng.integers(len(turn.options)))
            return Decision(option, "malformed", fallback=True, attempts=1)
        return Decision(row.index(max(row)), attempts=1)

    def _say(
        self, turn: Turn, decision: Decision, wanted: TextSpec, rng: np.random.Generator
    ) -> Wording:
        asked, faults, told = question(turn), list[str](), ""
        changing = asked.changing + choice(turn.observation.options[decision.option], wanted)
        for _ in range(ATTEMPTS):
            prompt = Prompt(asked.static, changing + told, "Your words:")
            reply = yield Generate(prompt, wanted.max_chars)
            assert isinstance(reply, Generation), reply
            text = reply.text.strip()
            fault = wanted.fault(text)
            if not fault:
                return with_words(decision, text, faults)
            faults.append(fault)
            told += f"{text!r} {fault}\n"
        return without_words(decision, wanted, faults, rng)

    def on_end(
        self, seat: int, moves: Sequence[str], ending: str, returns: Sequence[float]
    ) -> Generator[Question, Answer, None]:
        """Show the last moves, the final state and the winners; the reply is ignored."""
        winners = [number for number, value in enumerate(returns) if value > 0]
        won = " and ".join("you" if winner == seat else f"player {winner}" for winner in winners)
        lines = ["", *moves, "", "The match is over.", ending, f"Won by {won or 'nobody'}.", "", ""]
        yield Generate(Prompt("", "\n".join(lines)), max_tokens=0)


def question(turn: Turn) -> Prompt:
    """The prompt: all moves so far, oldest first, then the situation and the numbered options. The
    person has already read a prefix of the moves, so new text always comes last."""
    seen = turn.observation
    history = "".join(f"{move}\n" for move in seen.history)
    options = "".join(f"{number}) {option}\n" for number, option in enumerate(seen.options, 1))
    return Prompt(
        static=role_and_rules(seen, turn.goal),
        changing=f"{history}\n{situation(seen, 0)}Options:\n{options}",
        cue=f"Your choice (1 to {len(seen.options)}):",
    )
