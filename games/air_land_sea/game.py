"""Air, Land & Sea as a game of this project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from common.errors import IllegalAction
from games.air_land_sea import telling, words
from games.air_land_sea.actions import decider, options
from games.air_land_sea.policies import TOLD, chances
from games.air_land_sea.rules import act, begun
from games.air_land_sea.state import State, redealt, seen_by
from games.air_land_sea.worth import share, worth
from games.base import Action, Observation
from games.capabilities import MATCH_SCORE, Measure, full_rules


@dataclass(frozen=True)
class AirLandSea:
    """Two seats fight battles with eighteen cards over three theatres, until one has the points.

    goal: victory points that end the game, from 1 to 100.
    quirks: True plays as the published code of GameBench does where that differs from the rules
        (docs/games/air_land_sea.md).

    Every choice that an ability leaves is a move of its own. Raises ValueError for impossible
    settings.
    """

    num_seats: int = 2
    goal: int = 12
    quirks: bool = False

    measures: ClassVar[tuple[Measure, ...]] = (MATCH_SCORE,)
    policies: ClassVar[tuple[str, ...]] = tuple(TOLD)
    told_policies: ClassVar[Mapping[str, str]] = TOLD

    def __post_init__(self) -> None:
        if self.num_seats != 2:
            raise ValueError(f"air, land & sea seats 2 players, got {self.num_seats}")
        if not 1 <= self.goal <= 100:
            raise ValueError(f"goal is {self.goal}; a game ends at 1 to 100 victory points")

    def deal(self, rng: np.random.Generator) -> State:
        left, middle, right = rng.permutation(3).tolist()
        return begun(int(rng.integers(2**63)), (left, middle, right), int(rng.integers(2)))

    def to_move(self, state: State) -> tuple[int, ...]:
        return () if max(state.points) >= self.goal else (decider(state, self.quirks),)

    def legal(self, state: State, seat: int) -> tuple[Action, ...]:
        return options(state) if self.to_move(state) == (seat,) else ()

    def play(self, state: State, moves: Sequence[Action]) -> State:
        seats = self.to_move(state)
        if not seats or len(moves) != 1:
            raise IllegalAction(f"moves {list(moves)} for seats {seats} in\n{self.show(state)}")
        (move,) = moves
        if move not in options(state):
            raise IllegalAction(f"action {move} is not legal in\n{self.show(state)}")
        return act(state, int(move), self.goal, self.quirks)

    def observe(self, state: State, seat: int) -> Observation:
        return Observation(
            game="Air, Land & Sea",
            seat=seat,
            rules=full_rules(self),
            facts=telling.facts(state, seat, self.goal, self.quirks),
            history=state.history,
            options=tuple(words.option(state, seat, move) for move in self.legal(state, seat)),
            view=seen_by(state, seat),
        )

    def returns(self, state: State) -> tuple[float, ...]:
        """Twice the share of all victory points less one."""
        return tuple(2 * own - 1 for own in share(state))

    def measure(self, state: State) -> Mapping[str, Sequence[float]]:
        return {MATCH_SCORE.name: share(state)}

    def sample(self, observation: Observation, rng: np.random.Generator) -> State:
        return redealt(observation.view, observation.seat, rng)

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        return chances(policy, observation.view, observation.seat, self.quirks)

    def worth(self, state: State, seat: int) -> float:
        return worth(state, seat, self.goal, self.quirks)

    @property
    def rules_summary(self) -> str:
        return telling.summary(self.goal)

    @property
    def rules_headings(self) -> Mapping[str, str]:
        return telling.headings(self.quirks)

    def show(self, state: State) -> str:
        return words.shown(state, self.quirks)
