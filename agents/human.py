"""A person in a seat, asked as a language model is: the same facts in the same words."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np

from agents.base import Answer, Decision, Question, Thinking, Turn
from agents.prompting.base import role_and_rules, situation
from models.base import Generate, Prompt, Score, Scores


@dataclass(frozen=True)
class Human:
    """Plays the option whose number the person types. Without any answer, which the terminal never
    gives, a uniform random legal move takes its place, recorded as a fallback."""

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        numbers = tuple(map(str, range(1, len(turn.options) + 1)))
        reply = yield Score((question(turn),), numbers)
        assert isinstance(reply, Scores), reply
        (row,) = reply.logprobs
        if max(row) == -np.inf:
            option = int(rng.integers(len(turn.options)))
            return Decision(option, "malformed", fallback=True, attempts=1)
        return Decision(row.index(max(row)), attempts=1)

    def on_end(
        self, seat: int, moves: Sequence[str], ending: str, returns: Sequence[float]
    ) -> Generator[Question, Answer, None]:
        """Shows the last moves, the end and who won; asks nothing."""
        winners = [number for number, value in enumerate(returns) if value > 0]
        won = " and ".join("you" if winner == seat else f"player {winner}" for winner in winners)
        lines = ["", *moves, "", "The match is over.", ending, f"Won by {won or 'nobody'}.", "", ""]
        yield Generate(Prompt("", "\n".join(lines)), max_tokens=0)


def question(turn: Turn) -> Prompt:
    """All moves so far, oldest first, then the situation and the numbered options: what follows
    the moves that a person knows is what they have not read yet."""
    seen = turn.observation
    history = "".join(f"{move}\n" for move in seen.history)
    options = "".join(f"{number}) {option}\n" for number, option in enumerate(seen.options, 1))
    return Prompt(
        static=role_and_rules(seen, turn.goal),
        changing=f"{history}\n{situation(seen, 0)}Options:\n{options}",
        cue=f"Your choice (1 to {len(seen.options)}):",
    )
