"""Possible contents of another package: a game that wraps a game, an agent of three others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gauntlet.agents.base import Agent, Thinking, Turn
from gauntlet.games.base import Action, Game, Observation


@dataclass(frozen=True)
class Wrapped:
    """The same game, without its optional capabilities."""

    game: Game[Any]
    num_seats: int = 2
    names: tuple[str, ...] = ()

    def deal(self, rng: np.random.Generator) -> Any:
        return self.game.deal(rng)

    def to_move(self, state: Any) -> tuple[int, ...]:
        return self.game.to_move(state)

    def legal(self, state: Any, seat: int) -> tuple[Action, ...]:
        return self.game.legal(state, seat)

    def play(self, state: Any, moves: Sequence[Action]) -> Any:
        return self.game.play(state, moves)

    def observe(self, state: Any, seat: int) -> Observation:
        return self.game.observe(state, seat)

    def returns(self, state: Any) -> tuple[float, ...]:
        return self.game.returns(state)

    def show(self, state: Any) -> str:
        return self.game.show(state)


@dataclass(frozen=True)
class Team:
    """Three agents that take turns, by the number of moves so far."""

    actors: tuple[Agent, Agent, Agent]

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        actor = self.actors[len(turn.observation.history) % 3]
        return (yield from actor.decide(turn, rng))


@dataclass(frozen=True)
class Chosen:
    """Uses the agent that is named."""

    actors: Mapping[str, Agent]
    name: str
    spare: Agent | None = None
    depth: float = 1.0
    tags: list[str] = field(default_factory=list)

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        return (yield from self.actors[self.name].decide(turn, rng))
