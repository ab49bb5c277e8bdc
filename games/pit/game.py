"""Pit as a game of this project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from common.errors import IllegalAction
from games.base import Action, Observation
from games.capabilities import MATCH_SCORE, Measure, full_rules
from games.pit.market import ROLES, Market, Published, Traders
from games.pit.policies import TOLD
from games.pit.rules import Terms


@dataclass(frozen=True)
class Pit:
    """Four traders in two teams, with two seats, one a team, or four.

    goal: points of a team that end the match, from 1.
    corner: cards of a commodity that make one, from 5 to 9.
    turns, deal_turns: the most of a match, and of a deal.
    quirks: True plays as the published code of GameBench does (docs/games/pit.md), with two seats.

    Raises ValueError for impossible settings.
    """

    num_seats: int = 2
    goal: int = 500
    corner: int = 6
    turns: int = 200
    deal_turns: int = 40
    quirks: bool = False

    measures: ClassVar[tuple[Measure, ...]] = (MATCH_SCORE,)
    policies: ClassVar[tuple[str, ...]] = tuple(TOLD)
    told_policies: ClassVar[Mapping[str, str]] = TOLD

    def __post_init__(self) -> None:
        if self.quirks and self.num_seats != 2:
            raise ValueError(f"pit with quirks seats 2 players, got {self.num_seats}")
        ROLES.check("pit", self.num_seats)
        if not 5 <= self.corner <= 9 or (self.quirks and self.corner != 6):
            raise ValueError(
                f"corner is {self.corner}; it takes 5 to 9 cards of a commodity, with quirks 6"
            )
        if min(self.goal, self.turns, self.deal_turns) < 1:
            told = f"goal={self.goal}, turns={self.turns}, deal_turns={self.deal_turns}"
            raise ValueError(f"{told}: each is 1 or more")

    @cached_property
    def _market(self) -> Market:
        terms = Terms(self.goal, self.corner, self.turns, self.deal_turns)
        return Published(terms) if self.quirks else Traders(terms, self.num_seats)

    @property
    def seatings(self) -> tuple[tuple[int, ...], ...]:
        return ROLES.seatings(self.num_seats)

    def deal(self, rng: np.random.Generator) -> Any:
        return self._market.deal(rng)

    def to_move(self, state: Any) -> tuple[int, ...]:
        return () if self._over(state) else (self._market.seat(state),)

    def _over(self, state: Any) -> bool:
        return bool(max(state.points) >= self.goal or state.turns >= self.turns)

    def legal(self, state: Any, seat: int) -> tuple[Action, ...]:
        return self._market.options(state) if self.to_move(state) == (seat,) else ()

    def play(self, state: Any, moves: Sequence[Action]) -> Any:
        seats = self.to_move(state)
        if not seats or len(moves) != 1:
            raise IllegalAction(f"moves {list(moves)} for seats {seats} in\n{self.show(state)}")
        (move,) = moves
        if move not in self._market.options(state):
            raise IllegalAction(f"action {move} is not legal in\n{self.show(state)}")
        return self._market.act(state, int(move))

    def observe(self, state: Any, seat: int) -> Observation:
        told = self._market.told(state, seat)
        return Observation(
            game="Pit",
            seat=seat,
            rules=full_rules(self),
            facts=told.facts,
            history=state.history,
            options=tuple(map(told.option, self.legal(state, seat))),
            view=told.view,
            role=told.role,
            team=told.team,
        )

    def returns(self, state: Any) -> tuple[float, ...]:
        """Twice the share of all points less one."""
        return tuple(2 * own - 1 for own in self._market.each_seat(state))

    def measure(self, state: Any) -> Mapping[str, Sequence[float]]:
        return {MATCH_SCORE.name: self._market.each_seat(state)}

    def sample(self, observation: Observation, rng: np.random.Generator) -> Any:
        return self._market.sample(observation.view, rng)

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        return self._market.chances(policy, observation.view)

    def worth(self, state: Any, seat: int) -> float:
        if self._over(state):
            return self._market.each_seat(state)[seat]
        return self._market.worth(state, seat)

    @property
    def rules_summary(self) -> str:
        return self._market.summary

    @property
    def rules_headings(self) -> Mapping[str, str]:
        return self._market.headings

    def show(self, state: Any) -> str:
        return self._market.show(state)
