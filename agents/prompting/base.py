"""What a prompting method is, and the slots that methods share.

`role_and_rules` and `situation` tell them in the order of LLM-UNO (Martinez and Roberts 2025,
Fig. 3): role and goal, rules, situation, recent moves, legal actions, question, answer cue. The
wordings are ours (`wording.py`).
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
    """A reply that names no option: why, after how many attempts, and what the record should tell
    of it besides."""

    status: Status
    attempts: int
    notes: Mapping[str, Any] = field(default_factory=dict)


Asking = Generator[Question, Answer, Decision | Unusable]


@runtime_checkable
class Method(Protocol):
    """A way to ask a model for a move. Implementations are frozen dataclasses."""

    def labels(self) -> tuple[str, ...]:
        """The words that must be single tokens of the model's tokenizer; () if none must."""
        ...

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        """Yields requests, is sent each one's reply, returns what the model decided."""
        ...


@runtime_checkable
class PreparedMethod(Protocol):
    """A method that asks the model something once, before the first match: `agents.base.Prepared`
    for methods. Until it is prepared it asks as if it had learnt nothing."""

    def prepare(
        self, game: Game[Any], seat: int, goal: Goal
    ) -> Generator[Question, Answer, Method]:
        """Yields requests, is sent each one's reply, returns the method that is to be used."""
        ...


def says_itself(method: Method) -> bool:
    """Whether a method gives the words of an open option with the option; those of others are asked
    for once the option is chosen."""
    return bool(getattr(method, "own_words", False))


def check_moves(moves: int) -> None:
    """Raises ValueError unless a prompt can tell that many moves."""
    if moves < 0:
        raise ValueError(f"moves is {moves}; a prompt tells 0 or more recent moves")


def check_length(max_tokens: int) -> None:
    """Raises ValueError unless a reply may be that long."""
    if max_tokens < 1:
        raise ValueError(f"max_tokens is {max_tokens}; a reply needs 1 or more")


def role_and_rules(observation: Observation, goal: Goal, words: Wording = PLAIN) -> str:
    """The static part of a prompt: who the model is, what it plays for, and the rules."""
    rules = words.rules.format(rules=observation.rules)
    return f"{role(observation, words)}{aim(goal, words)}\n{rules}\n"


def role(observation: Observation, words: Wording = PLAIN) -> str:
    """Who the model is, and with whom it wins."""
    seat, who = observation.seat, words.who.format(role=observation.role) * bool(observation.role)
    told = words.you.format(seat=seat, who=who, game=observation.game)
    partners = [f"player {other}" for other in observation.team if other != seat]
    return told + words.team.format(partners=" and ".join(partners)) * bool(partners)


def aim(goal: Goal, words: Wording = PLAIN) -> str:
    """What the model plays for."""
    own, other = (words.score, words.help_score) if goal.points else (words.win, words.help)
    return (own if goal.helps is None else other).format(helps=goal.helps, points=goal.points)


def situation(observation: Observation, moves: int, words: Wording = PLAIN) -> str:
    """The facts and the last `moves` public moves."""
    told = told_facts(observation.facts)
    if not moves:
        return told
    recent = "; ".join(observation.history[-moves:]) or words.none
    return told + words.recent.format(moves=recent)


def told_facts(facts: Iterable[Fact]) -> str:
    """A line a fact; one of several lines stands below its name."""
    return "".join(f"{fact.name}:{_space(fact)}{fact.text}\n" for fact in facts)


def _space(fact: Fact) -> str:
    return "\n" if "\n" in fact.text else " "
