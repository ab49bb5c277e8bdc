"""The interface of a prompting method, and the prompt parts that methods share.

`role_and_rules` and `situation` follow the order of LLM-UNO (Martinez and Roberts 2025, Fig. 3):
role and goal, rules, situation, recent moves, legal actions, question, answer cue. The wordings are
ours (`wording.py`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from gauntlet.agents.base import Answer, Decision, Goal, Question, Status, Turn
from gauntlet.agents.prompting.wording import PLAIN, Wording
from gauntlet.games.base import Fact, Game, Observation


@dataclass(frozen=True, slots=True)
class Unusable:
    """A reply that names no option: why, after how many attempts, and further notes to record."""

    status: Status
    attempts: int
    notes: Mapping[str, Any] = field(default_factory=dict)


Asking = Generator[Question, Answer, Decision | Unusable]


@runtime_checkable
class Method(Protocol):
    """A way to prompt a model for a move. Implementations are frozen dataclasses."""

    def labels(self) -> tuple[str, ...]:
        """The words that must be single tokens of the model's tokenizer; () if there are none."""
        ...

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        """Yields requests, is sent the reply to each, returns what the model decided."""
        ...


@runtime_checkable
class PreparedMethod(Protocol):
    """A method that queries the model once before the first match, like `agents.base.Prepared`.

    Unprepared, it plays without what it would have learnt.
    """

    def prepare(
        self, game: Game[Any], seat: int, goal: Goal
    ) -> Generator[Question, Answer, Method]:
        """Yields requests, is sent the reply to each, returns the method to use."""
        ...


def includes_text(method: Method) -> bool:
    """Whether a method gives a text action's text along with the option. Other methods are asked
    for the text once the option is chosen."""
    return bool(getattr(method, "own_words", False))


def check_moves(moves: int) -> None:
    """Raises ValueError if the number of recent moves is negative."""
    if moves < 0:
        raise ValueError(f"moves is {moves}; a prompt tells 0 or more recent moves")


def check_length(max_tokens: int) -> None:
    """Raises ValueError if a reply may not be that long."""
    if max_tokens < 1:
        raise ValueError(f"max_tokens is {max_tokens}; a reply needs 1 or more")


def role_and_rules(observation: Observation, goal: Goal, words: Wording = PLAIN) -> str:
    """The static part of a prompt: the model's role, its goal and the rules."""
    rules = words.rules.format(rules=observation.rules)
    return f"{role(observation, words)}{aim(goal, words)}\n{rules}\n"


def role(observation: Observation, words: Wording = PLAIN) -> str:
    """Which seat the model plays, and its team."""
    seat, who = observation.seat, words.who.format(role=observation.role) * bool(observation.role)
    told = words.you.format(seat=seat, who=who, game=observation.game)
    partners = [f"player {other}" for other in observation.team if other != seat]
    return told + words.team.format(partners=" and ".join(partners)) * bool(partners)


def aim(goal: Goal, words: Wording = PLAIN) -> str:
    own, other = (words.score, words.help_score) if goal.points else (words.win, words.help)
    return (own if goal.helps is None else other).format(helps=goal.helps, points=goal.points)


def situation(observation: Observation, moves: int, words: Wording = PLAIN) -> str:
    """The facts and the last `moves` public moves."""
    told = format_facts(observation.facts)
    if not moves:
        return told
    recent = "; ".join(observation.history[-moves:]) or words.none
    return told + words.recent.format(moves=recent)


def format_facts(facts: Iterable[Fact]) -> str:
    """One line per fact; a multi-line fact starts below its name."""
    return "".join(f"{fact.name}:{_space(fact)}{fact.text}\n" for fact in facts)


def _space(fact: Fact) -> str:
    return "\n" if "\n" in fact.text else " "
