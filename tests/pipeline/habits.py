"""Methods and agents with a habit, for tests of what is reported about them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gauntlet.agents.base import Decision, Thinking, Turn
from gauntlet.agents.prompting.answers import parse_option
from gauntlet.agents.prompting.base import Asking
from gauntlet.agents.prompting.vanilla import Vanilla, first_prompt
from gauntlet.models.base import Generate, Generation, Prompt, Score, Scores


@dataclass(frozen=True)
class Silent(Vanilla):
    """Takes the last option if the reply names none, without recording a fallback."""

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        options = turn.observation.options
        reply = yield Generate(first_prompt(turn, self.moves), self.max_tokens)
        assert isinstance(reply, Generation), reply
        answer = parse_option(reply.text, options)
        return Decision(answer if isinstance(answer, int) else len(options) - 1, attempts=1)


@dataclass(frozen=True)
class Remembering:
    """Takes the option whose number is that of the turns it has ever had."""

    memory: dict[str, int] = field(default_factory=dict, compare=False)

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        self.memory["turns"] = self.memory.get("turns", -1) + 1
        return Decision(self.memory["turns"] % len(turn.options))
        yield


@dataclass(frozen=True)
class Learning:
    """Takes the first option, and the last one once it has had 100 turns."""

    turns: list[int] = field(default_factory=list, compare=False)

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        self.turns.append(len(turn.options))
        return Decision(0 if len(self.turns) <= 100 else len(turn.options) - 1)
        yield


TURNS: list[int] = []


@dataclass(frozen=True)
class Settling:
    """Like `Learning` after 10 turns, which it counts outside itself."""

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        TURNS.append(len(turn.options))
        return Decision(0 if len(TURNS) <= 10 else len(turn.options) - 1)
        yield


@dataclass(frozen=True)
class Noting:
    """Takes any option, and notes what decides nothing."""

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        TURNS.append(len(turn.options))
        return Decision(int(rng.integers(len(turn.options))), notes={"turn": len(TURNS)})
        yield


@dataclass(frozen=True)
class Scoring:
    """Scores the options' letters by itself, without a prompting method."""

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        letters = tuple("ABCDEFGHI"[: len(turn.options)])
        options = "\n".join(turn.observation.options)
        reply = yield Score((Prompt("Choose.", options, "Answer:"),), letters)
        assert isinstance(reply, Scores), reply
        return Decision(int(np.argmax(reply.logprobs[0])))
