"""What an agent is: a generator that yields requests, is sent replies, and returns a decision.

Written so, an agent holds no model, no batching and no state between turns; a test drives it
with `next` and `send`, and a scheduler runs thousands at once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from gauntlet.games.base import Action, Game, Observation
from gauntlet.models.base import Reply, Request

Question = Request | tuple[Request, ...]
"""What an agent yields: a request, or several that are answered side by side."""

Answer = Reply | tuple[Reply, ...]
"""What it is sent: the reply, or for a tuple a tuple of the replies in the same order."""

Status = Literal["ok", "malformed", "illegal", "ambiguous"]


@dataclass(frozen=True, slots=True)
class Goal:
    """What a seat plays for: to win, or that the seat `helps` wins.

    points: what is to be collected, in the plural, where the score counts and not the win.
    """

    helps: int | None = None
    points: str = ""

    def __str__(self) -> str:
        return "win" if self.helps is None else f"help:{self.helps}"


@dataclass(frozen=True)
class Turn:
    """One seat's turn: its legal actions, its goal, and what it may know, built when asked for."""

    game: Game[Any]
    options: tuple[Action, ...]
    goal: Goal
    observe: Callable[[], Observation]

    @cached_property
    def observation(self) -> Observation:
        return self.observe()


@dataclass(frozen=True, slots=True)
class Decision:
    """What an agent decided and how.

    option: index into the turn's options.
    status: "ok", or what was wrong with the model's reply before the fallback took over.
    fallback: whether a fallback chose the option.
    attempts: how many times the model was asked for this decision.
    scores: one number an option, higher is better; () for agents that do not score.
    notes: what else the record should tell of this decision, as plain data; nothing as a rule.
    text: the words that go with the option, where it is an open one.
    """

    option: int
    status: Status = "ok"
    fallback: bool = False
    attempts: int = 0
    scores: tuple[float, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""


Thinking = Generator[Question, Answer, Decision]


class Agent(Protocol):
    """A way to play. Implementations are frozen dataclasses whose fields are their settings."""

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        """Yields requests, is sent each one's reply, returns the decision.

        Called only where there is a choice to make. `rng` is the turn's own: the same for every
        agent that sits in this seat at this decision of this deal.
        """
        ...


@runtime_checkable
class Checked(Protocol):
    """An agent that cannot play every game."""

    def check(self, game: Game[Any]) -> None:
        """Raises ValueError where the agent cannot play `game`; the message says why."""
        ...


def check(part: object, game: Game[Any]) -> None:
    """Raises ValueError where an agent, or a part of one, cannot play the game."""
    if isinstance(part, Checked):
        part.check(game)


@runtime_checkable
class Aimed(Protocol):
    """An agent that plays otherwise for or against another seat."""

    def aimed(self, game: Game[Any], seat: int, goal: Goal) -> Agent:
        """The same player in this seat with this goal. Raises ValueError where the goal has to
        name another seat and does not."""
        ...


def aimed(agent: Agent, game: Game[Any], seat: int, goal: Goal) -> Agent:
    """The agent as it plays in this seat with this goal. Raises ValueError as `Aimed` does."""
    return agent.aimed(game, seat, goal) if isinstance(agent, Aimed) else agent


def scripted_policy(agent: Agent) -> str | None:
    """The scripted policy of the game that the agent says, as its `scripted`, that it plays by."""
    return getattr(agent, "scripted", None)


@runtime_checkable
class Prepared(Protocol):
    """An agent that asks its model something once, before its first match."""

    def prepare(self, game: Game[Any], seat: int, goal: Goal) -> Generator[Question, Answer, Agent]:
        """Yields requests, is sent each one's reply, returns the agent that is to play.

        All chance in it is settled by the arguments and the agent's settings, so that every
        worker comes to the same agent. One that has nothing to ask yields nothing.
        """
        ...


@runtime_checkable
class Notified(Protocol):
    """An agent that hears how a match ended."""

    def on_end(
        self, seat: int, moves: Sequence[str], ending: str, returns: Sequence[float]
    ) -> Generator[Question, Answer, None]:
        """Yields requests whose replies nobody needs and no record keeps.

        seat: its own. moves: what was played since its last decision. ending: the last state,
        drawn for a person. returns: as `Game.returns` gives them.
        """
        ...
