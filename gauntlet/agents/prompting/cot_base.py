"""Methods that reason in text before they name a move, and their shared prompt parts.

The parts are in the order of TALAGA (ICLR 2024 submission iS3fQooCaa), Appendix A: system text;
head with rules, move notation and players; situation and legal moves; instruction; answer format.
The wording is ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gauntlet.agents.base import Answer, Decision, Question, Status, Turn
from gauntlet.agents.lookahead import Note
from gauntlet.agents.prompting.answers import move_in
from gauntlet.agents.prompting.base import (
    Unusable,
    aim,
    check_length,
    check_moves,
    format_facts,
    role,
)
from gauntlet.agents.prompting.wording import PLAIN, on_a_line
from gauntlet.games.base import Observation
from gauntlet.games.capabilities import fallback_of, move_format_of
from gauntlet.models.base import Generate, Generation, Prompt, continue_dialogue

SYSTEM = "You do exactly what the user asks for, in the form that the user asks for.\n"
WRITTEN = "A move is written as in the list of legal moves, between < and >.\n"
USER = "The user makes the moves of all other players.\n"
FIRST = "Nobody has made a move yet.\n"
FORM = "Answer in this form:\n"
MOVE = "Move: <one of the legal moves>\n"
THOUGHT = "Thought: your thoughts\n"
MOVE_CUE, THOUGHT_CUE = "Move:", "Thought:"

Heard = tuple[str, int | Status]
"""A reply that should name a move, and the option it names or its error."""


@dataclass(frozen=True)
class ReasoningMethod:
    """Base of the reasoning methods.

    moves: number of recent moves in a prompt.
    max_tokens: limit on a reply's length.
    temperature: of all replies, seeded by the decision. 0 is greedy decoding.

    A decision's notes list under "answers", for each reply, the option it names, "ok" if it needed
    to name none, or what is wrong with it.
    """

    moves: int = 5
    max_tokens: int = 1024
    temperature: float = 0.2

    def __post_init__(self) -> None:
        check_moves(self.moves)
        check_length(self.max_tokens)
        if not 0 <= self.temperature <= 2:
            raise ValueError(f"temperature is {self.temperature:g}; it lies from 0 to 2")

    def check_samples(self, **counts: int) -> None:
        """Raises ValueError unless the counts are positive and their samples can differ."""
        for name, count in counts.items():
            if count < 1:
                raise ValueError(f"{name} is {count}; it is 1 or more")
            if count > 1 and not self.temperature:
                raise ValueError(
                    f"{name} is {count} at temperature 0, where all samples are the same; "
                    f"set {name}=1 or a temperature above 0"
                )

    def labels(self) -> tuple[str, ...]:
        return ()

    def generate_request(
        self, prompt: Prompt, rng: np.random.Generator, n: int = 1, stop: tuple[str, ...] = ()
    ) -> Generate:
        """A request for n samples, seeded by the decision's rng."""
        seed = int(rng.integers(2**31))
        return Generate(prompt, self.max_tokens, self.temperature, stop, seed, n)

    def situation(self, observation: Observation) -> str:
        """The facts and the recent moves."""
        recent = PLAIN.recent.format(moves="; ".join(observation.history[-self.moves :]))
        told = recent * bool(self.moves) if observation.history else FIRST
        return format_facts(observation.facts) + told

    def prompt(self, turn: Turn, instruction: str, form: str, cue: str) -> Prompt:
        """Situation and legal moves, then the instruction and the answer format."""
        return self.prompt_of(turn.observation, aim(turn.goal), instruction, form, cue)

    def prompt_of(
        self, observation: Observation, goal: str, instruction: str, form: str, cue: str
    ) -> Prompt:
        """The same from an observation and a goal in words."""
        told = f"{self.situation(observation)}{legal(observation)}{instruction}{FORM}{form}"
        return Prompt(head(observation, goal), told, cue, SYSTEM)


@dataclass(frozen=True)
class Retrying(ReasoningMethod):
    """Asks again while no legal move is named.

    retries: how often, with the legal moves listed; after that the game's own fallback decides, or
        else a random move.
    """

    retries: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.retries < 0:
            raise ValueError(f"retries is {self.retries}; it is 0 or more")

    def sample_replies(
        self, turn: Turn, prompt: Prompt, rng: np.random.Generator, n: int = 1
    ) -> Generator[Question, Answer, list[Heard]]:
        """Request n samples, and again until one names a legal move. Returns all replies; the last
        n count."""
        seen, form = turn.observation, move_format_of(turn.game)
        said: list[Heard] = []
        for _ in range(self.retries + 1):
            reply = yield self.generate_request(prompt, rng, n)
            assert isinstance(reply, Generation), reply
            said += [(text, move_in(text, seen.options, form)) for text in reply.texts]
            if any(isinstance(answer, int) for _, answer in said):
                break
            prompt = continue_dialogue(prompt, reply, retry_message(seen))
        return said


def head(observation: Observation, goal: str) -> str:
    """The static part: the rules, move notation, role and goal."""
    return f"{PLAIN.rules.format(rules=observation.rules)}{WRITTEN}{role(observation)}{goal}{USER}"


def legal(observation: Observation) -> str:
    """The legal moves, on one line if they can be separated there."""
    return f"Legal moves:{on_a_line(observation.options)}\n"


def retry_message(observation: Observation) -> str:
    """The message that a reply names no legal move."""
    return f"\nThat names no legal move. {legal(observation)}Answer in the same form.\n"


def majority_decision(
    turn: Turn, answers: Sequence[Note], named: Sequence[int], **notes: Any
) -> Decision | Unusable:
    """The option named most often, ties to the first; if there is none, the game's fallback or
    none.

    answers: how every reply was read.
    """
    told = {"answers": tuple(answers), **notes}
    if named:
        ((option, _),) = Counter(named).most_common(1)
        return Decision(option, attempts=len(answers), notes=told)
    status: Status = "illegal" if answers[-1] == "illegal" else "malformed"
    safe = fallback_of(turn.game, turn.observation)
    if safe is not None:
        return Decision(safe, status, fallback=True, attempts=len(answers), notes=told)
    return Unusable(status, len(answers), told)


def indices(heard: Sequence[Heard]) -> list[int]:
    """The options that replies name, in order."""
    return [answer for _, answer in heard if isinstance(answer, int)]
