"""Pit: the Game class, for either of two ways to play it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from gauntlet.games.base import Action, Fact, Observation, only_move
from gauntlet.games.capabilities import MATCH_SCORE, Measure, full_rules
from gauntlet.games.pit import players, published, rules, words
from gauntlet.games.pit.players import TOLD, share, worth
from gauntlet.games.pit.rules import NAMES, TEAMS, State, Terms, View, sample_state, seen_by
from gauntlet.games.teams import Roles

ROLES = Roles(NAMES, TEAMS)


@dataclass(frozen=True, slots=True)
class SeatInfo:
    """What a seat gets, as in `games.base.Observation`. option: returns the name of an action."""

    facts: tuple[Fact, ...]
    option: Callable[[Action], str]
    view: Any
    role: str = ""
    team: tuple[int, ...] = ()


class Market(Protocol):
    """The rules, texts and players of one way to play."""

    @property
    def summary(self) -> str: ...

    @property
    def headings(self) -> Mapping[str, str]: ...

    def deal(self, rng: np.random.Generator) -> Any: ...

    def seat(self, state: Any) -> int: ...

    def options(self, state: Any) -> tuple[Action, ...]: ...

    def act(self, state: Any, move: Action) -> Any: ...

    def seat_info(self, state: Any, seat: int) -> SeatInfo: ...

    def sample(self, view: Any, rng: np.random.Generator) -> Any: ...

    def chances(self, policy: str, view: Any) -> tuple[float, ...]: ...

    def worth(self, state: Any, seat: int) -> float:
        """As `games.capabilities.Valued`, for a state that is not over."""
        ...

    def each_seat(self, state: Any) -> tuple[float, ...]:
        """Return the share of the points of every seat's team."""
        ...

    def show(self, state: Any) -> str: ...


@dataclass(frozen=True)
class Traders:
    """Four traders who see only their own hands."""

    terms: Terms
    num_seats: int

    @property
    def summary(self) -> str:
        return words.summary(self.terms)

    @property
    def headings(self) -> Mapping[str, str]:
        return words.headings(self.terms)

    def deal(self, rng: np.random.Generator) -> State:
        return rules.initial_state(int(rng.integers(2**63)), int(rng.integers(4)), self.terms)

    def seat(self, state: State) -> int:
        return ROLES.seat(self.num_seats, state.mover)

    def options(self, state: State) -> tuple[Action, ...]:
        return rules.options(state)

    def act(self, state: State, move: Action) -> State:
        return rules.act(state, move, self.terms)

    def seat_info(self, state: State, seat: int) -> SeatInfo:
        trader = state.mover
        return SeatInfo(
            facts=words.facts(state, trader, self.terms),
            option=words.option,
            view=seen_by(state, trader),
            role=ROLES.role(self.num_seats, trader),
            team=ROLES.team(self.num_seats, trader),
        )

    def sample(self, view: View, rng: np.random.Generator) -> State:
        return sample_state(view, self.terms.corner, rng)

    def chances(self, policy: str, view: View) -> tuple[float, ...]:
        return players.chances(policy, view)

    def worth(self, state: State, seat: int) -> float:
        return worth(state, self._team(seat), self.terms)

    def _team(self, seat: int) -> int:
        return seat if self.num_seats == 2 else TEAMS[seat]

    def each_seat(self, state: State) -> tuple[float, ...]:
        return ROLES.each_seat(self.num_seats, share(state.points))

    def show(self, state: State) -> str:
        return words.show_state(state)


@dataclass(frozen=True)
class Published:
    """The published code's two players with two hands each."""

    terms: Terms

    @property
    def summary(self) -> str:
        return published.summary(self.terms.goal)

    @property
    def headings(self) -> Mapping[str, str]:
        return published.headings(self.terms.turns)

    def deal(self, rng: np.random.Generator) -> published.State:
        return published.initial_state(int(rng.integers(2**63)))

    def seat(self, state: published.State) -> int:
        return state.mover

    def options(self, state: published.State) -> tuple[Action, ...]:
        return published.options(state)

    def act(self, state: published.State, move: Action) -> published.State:
        return published.act(state, move)

    def seat_info(self, state: published.State, seat: int) -> SeatInfo:
        return SeatInfo(
            facts=published.facts(state, seat, self.terms.goal, self.terms.turns),
            option=lambda move: published.option(state, move),
            view=published.seen_by(state, seat),
        )

    def sample(self, view: published.State, rng: np.random.Generator) -> published.State:
        return published.redeal(view, view.mover, rng)

    def chances(self, policy: str, view: published.State) -> tuple[float, ...]:
        moves = published.options(view)
        ranks = published.ranked(view, view.mover, moves)
        return players.best(policy, moves, ranks)

    def worth(self, state: published.State, seat: int) -> float:
        return published.worth(state, seat, self.terms.goal, self.terms.turns)

    def each_seat(self, state: published.State) -> tuple[float, ...]:
        return share(state.points)

    def show(self, state: published.State) -> str:
        return published.show_state(state)


@dataclass(frozen=True)
class Pit:
    """Four traders in two teams, with two seats, one per team, or four.

    goal: team points that end the match, from 1. corner: cards of a commodity that make a corner, 5
    to 9. turns, deal_turns: maximum per match, and per deal. paper_bugs: True plays as the
    published code of GameBench does (docs/games/pit.md), with two seats.

    Raises ValueError for invalid settings.
    """

    num_seats: int = 2
    goal: int = 500
    corner: int = 6
    turns: int = 200
    deal_turns: int = 40
    paper_bugs: bool = False

    measures: ClassVar[tuple[Measure, ...]] = (MATCH_SCORE,)
    policies: ClassVar[tuple[str, ...]] = tuple(TOLD)
    told_policies: ClassVar[Mapping[str, str]] = TOLD

    def __post_init__(self) -> None:
        if self.paper_bugs and self.num_seats != 2:
            raise ValueError(f"pit with paper bugs seats 2 players, got {self.num_seats}")
        ROLES.check("pit", self.num_seats)
        if not 5 <= self.corner <= 9 or (self.paper_bugs and self.corner != 6):
            raise ValueError(
                f"corner is {self.corner}; it takes 5 to 9 cards of a commodity, with paper bugs 6"
            )
        if min(self.goal, self.turns, self.deal_turns) < 1:
            told = f"goal={self.goal}, turns={self.turns}, deal_turns={self.deal_turns}"
            raise ValueError(f"{told}: each is 1 or more")

    @cached_property
    def _market(self) -> Market:
        terms = Terms(self.goal, self.corner, self.turns, self.deal_turns)
        return Published(terms) if self.paper_bugs else Traders(terms, self.num_seats)

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
        move = only_move(self, state, moves, self._market.options(state))
        return self._market.act(state, int(move))

    def observe(self, state: Any, seat: int) -> Observation:
        info = self._market.seat_info(state, seat)
        return Observation(
            game="Pit",
            seat=seat,
            rules=full_rules(self),
            facts=info.facts,
            history=state.history,
            options=tuple(map(info.option, self.legal(state, seat))),
            view=info.view,
            role=info.role,
            team=info.team,
        )

    def returns(self, state: Any) -> tuple[float, ...]:
        """Twice the share of all points, minus one."""
        return tuple(2 * own - 1 for own in self._market.each_seat(state))

    def measure(self, state: Any) -> Mapping[str, Sequence[float]]:
        return {MATCH_SCORE.name: self._market.each_seat(state)}

    def sample(self, observation: Observation, rng: np.random.Generator) -> Any:
        return self._market.sample(observation.view, rng)

    def redealt(self, state: Any, rng: np.random.Generator) -> Any:
        return state._replace(seed=int(rng.integers(2**63)))

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
