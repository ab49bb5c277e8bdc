"""Tree-search actors that need no model: agents with noise as movers, playouts as judges.

They run the tree of `lookahead.py`, its votes and its ablations without a model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gauntlet.agents.base import Agent, Answer, Decision, Question, Thinking, Turn, check, decide
from gauntlet.agents.epsilon_random import check_chance
from gauntlet.agents.lookahead import (
    DRAWS,
    UNKNOWN,
    Judged,
    Node,
    Note,
    Proposed,
    Tree,
    beneficiary,
    result,
)
from gauntlet.agents.minimax import Minimax, outcome
from gauntlet.games.base import Game
from gauntlet.games.capabilities import Sampled, nothing_hidden
from gauntlet.games.contract import seats_to_move
from gauntlet.games.playouts import RANDOM, check_policy, no_playouts_reason, play_on


@dataclass(frozen=True)
class Scripted:
    """A mover that plays like `agent`, or with probability `noise` a uniform random option.

    If the agent scores its options, the candidates are the best ones in order, with noise applied
    at each position. Otherwise the agent is called again for every sample. Raises ValueError unless
    `noise` is a probability.
    """

    agent: Agent
    noise: float = 0.0

    def __post_init__(self) -> None:
        check_chance(self.noise)

    def check(self, game: Game[Any]) -> None:
        check(self.agent, game)

    def propose(
        self, turns: Sequence[Turn], wanted: int, rng: np.random.Generator
    ) -> Generator[Question, Answer, list[Proposed]]:
        return [self._proposed(turn, wanted, rng) for turn in turns]
        yield

    def _proposed(self, turn: Turn, wanted: int, rng: np.random.Generator) -> Proposed:
        first = scripted_decision(decide(self.agent, turn, rng))
        if not first.scores:
            further = (
                scripted_decision(decide(self.agent, turn, rng)) for _ in range(DRAWS * wanted - 1)
            )
            taken = [first.option, *(decision.option for decision in further)]
            count = len(turn.options)
            return Proposed(
                tuple(
                    int(rng.integers(count)) if rng.random() < self.noise else option
                    for option in taken
                )
            )
        left = sorted(range(len(turn.options)), key=lambda option: -first.scores[option])
        picked: list[int] = []
        while left and len(picked) < wanted:
            noisy = rng.random() < self.noise
            picked.append(left.pop(int(rng.integers(len(left))) if noisy else 0))
        return Proposed(tuple(picked))


def scripted_decision(thinking: Thinking) -> Decision:
    """The decision of an agent that uses no model. Raises ValueError if it yields a request."""
    try:
        question = next(thinking)
    except StopIteration as stop:
        decision: Decision = stop.value
        return decision
    raise ValueError(f"a scripted mover asks a model: {question!r:.80}")


@dataclass(frozen=True)
class Noisy(ABC):
    """Base of the scripted judges: the mean of `votes` values.

    Each vote is, with probability `noise`, replaced by a uniform random value from 0 to 1, the way
    a model may make one up.
    """

    noise: float = field(default=0.0, kw_only=True)
    votes: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        check_chance(self.noise)
        if self.votes < 1:
            raise ValueError(f"votes is {self.votes}; a judge gives 1 or more")

    def prepare(
        self, turn: Turn, rng: np.random.Generator
    ) -> Generator[Question, Answer, tuple[Noisy, tuple[Note, ...]]]:
        return self, ()
        yield

    def judge(
        self, turn: Turn, leaves: Sequence[Node], rng: np.random.Generator
    ) -> Generator[Question, Answer, list[Judged]]:
        judged = []
        for leaf in leaves:
            worth = self._worth(turn, leaf, rng)
            noisy, figures = rng.random((2, self.votes))
            judged.append(Judged(float(np.where(noisy < self.noise, figures, worth).mean())))
        return judged
        yield

    def _worth(self, turn: Turn, leaf: Node, rng: np.random.Generator) -> float:
        if leaf.state is None:
            return UNKNOWN
        if not seats_to_move(turn.game, leaf.state):
            return result(turn, leaf.state)
        return self.worth(turn, leaf.state, rng)

    @abstractmethod
    def worth(self, turn: Turn, state: Any, rng: np.random.Generator) -> float:
        """The value, from 0 to 1, of a non-terminal state."""


@dataclass(frozen=True)
class Playouts(Noisy):
    """Values a leaf by the mean result of `playouts` games that continue from it.

    The game's scripted `policy` plays all seats.
    """

    playouts: int = 20
    policy: str = RANDOM

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.playouts < 1:
            raise ValueError(f"playouts is {self.playouts}; a judge plays 1 or more")

    def check(self, game: Game[Any]) -> None:
        check_policy(game, self.policy)

    def worth(self, turn: Turn, state: Any, rng: np.random.Generator) -> float:
        policies = (self.policy,) * turn.game.num_seats
        ends = (play_on(turn.game, state, policies, rng)[0] for _ in range(self.playouts))
        return float(np.mean([result(turn, end) for end in ends]))


@dataclass(frozen=True)
class Perfect(Noisy):
    """Values a leaf by the result of perfect play in both seats, for the small games of
    `Minimax`."""

    def check(self, game: Game[Any]) -> None:
        Minimax().check(game)

    def worth(self, turn: Turn, state: Any, rng: np.random.Generator) -> float:
        sign = 1 - 2 * beneficiary(turn)
        return (sign * outcome(turn.game, state) + 1) / 2


ScriptedJudge = Playouts | Perfect


@dataclass(frozen=True)
class LookAhead(Tree):
    """Plays the candidate that a tree of scripted actors values most; uses no model.

    mover, opponent, judge: M, M_O and M_R.

    A decision's notes list, under "candidates", each candidate's option, sample count and value.
    """

    mover: Scripted = field(kw_only=True)
    opponent: Scripted = field(kw_only=True)
    judge: ScriptedJudge = field(kw_only=True)

    def __post_init__(self) -> None:
        self.check_tree()

    def check(self, game: Game[Any]) -> None:
        """Raises ValueError if the game gives no state to start from or an actor cannot play it."""
        if not (nothing_hidden(game) or isinstance(game, Sampled)):
            name = type(game).__name__
            raise ValueError(
                no_playouts_reason(game) or f"{name} has no `sample` to grow a tree from"
            )
        for actor in (self.mover, self.opponent, self.judge):
            actor.check(game)

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        thought = yield from self.think(turn, self.mover, self.opponent, self.judge, rng)
        return Decision(thought.best.option, notes={"candidates": thought.candidates})
