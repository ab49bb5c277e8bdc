"""The two ways to play Pit, each as what `games.pit.game.Pit` asks of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from games.base import Action, Fact
from games.pit import policies, published, published_words, rules, telling
from games.pit.rules import Terms
from games.pit.state import NAMES, TEAMS, State, View, redealt, seen_by
from games.pit.worth import share, worth
from games.teams import Roles

ROLES = Roles(NAMES, TEAMS)


@dataclass(frozen=True, slots=True)
class Told:
    """What a seat is told: as in `games.base.Observation`. option: the name of an action."""

    facts: tuple[Fact, ...]
    option: Callable[[Action], str]
    view: Any
    role: str = ""
    team: tuple[int, ...] = ()


class Market(Protocol):
    """Rules, words and players of one way to play."""

    @property
    def summary(self) -> str: ...

    @property
    def headings(self) -> Mapping[str, str]: ...

    def deal(self, rng: np.random.Generator) -> Any: ...

    def seat(self, state: Any) -> int:
        """The seat whose turn it is."""
        ...

    def options(self, state: Any) -> tuple[Action, ...]: ...

    def act(self, state: Any, move: Action) -> Any: ...

    def told(self, state: Any, seat: int) -> Told: ...

    def sample(self, view: Any, rng: np.random.Generator) -> Any: ...

    def chances(self, policy: str, view: Any) -> tuple[float, ...]: ...

    def worth(self, state: Any, seat: int) -> float:
        """As `games.capabilities.Valued`, of a state that is not over."""
        ...

    def each_seat(self, state: Any) -> tuple[float, ...]:
        """The share of the points of every seat's team."""
        ...

    def show(self, state: Any) -> str: ...


@dataclass(frozen=True)
class Traders:
    """Four traders who see no more than their own hands."""

    terms: Terms
    num_seats: int

    @property
    def summary(self) -> str:
        return telling.summary(self.terms)

    @property
    def headings(self) -> Mapping[str, str]:
        return telling.headings(self.terms)

    def deal(self, rng: np.random.Generator) -> State:
        return rules.begun(int(rng.integers(2**63)), int(rng.integers(4)), self.terms)

    def seat(self, state: State) -> int:
        return ROLES.seat(self.num_seats, state.mover)

    def options(self, state: State) -> tuple[Action, ...]:
        return rules.options(state)

    def act(self, state: State, move: Action) -> State:
        return rules.act(state, move, self.terms)

    def told(self, state: State, seat: int) -> Told:
        trader = state.mover
        return Told(
            facts=telling.facts(state, trader, self.terms),
            option=telling.option,
            view=seen_by(state, trader),
            role=ROLES.role(self.num_seats, trader),
            team=ROLES.team(self.num_seats, trader),
        )

    def sample(self, view: View, rng: np.random.Generator) -> State:
        return redealt(view, self.terms.corner, rng)

    def chances(self, policy: str, view: View) -> tuple[float, ...]:
        return policies.chances(policy, view)

    def worth(self, state: State, seat: int) -> float:
        return worth(state, self._team(seat), self.terms)

    def _team(self, seat: int) -> int:
        return seat if self.num_seats == 2 else TEAMS[seat]

    def each_seat(self, state: State) -> tuple[float, ...]:
        return ROLES.each_seat(self.num_seats, share(state.points))

    def show(self, state: State) -> str:
        return telling.whole(state)


@dataclass(frozen=True)
class Published:
    """The published code's two players of two hands."""

    terms: Terms

    @property
    def summary(self) -> str:
        return published_words.summary(self.terms.goal)

    @property
    def headings(self) -> Mapping[str, str]:
        return published_words.headings(self.terms.turns)

    def deal(self, rng: np.random.Generator) -> published.State:
        return published.begun(int(rng.integers(2**63)))

    def seat(self, state: published.State) -> int:
        return state.mover

    def options(self, state: published.State) -> tuple[Action, ...]:
        return published.options(state)

    def act(self, state: published.State, move: Action) -> published.State:
        return published.act(state, move)

    def told(self, state: published.State, seat: int) -> Told:
        return Told(
            facts=published_words.facts(state, seat, self.terms.goal, self.terms.turns),
            option=lambda move: published_words.option(state, move),
            view=published.seen_by(state, seat),
        )

    def sample(self, view: published.State, rng: np.random.Generator) -> published.State:
        return published.redealt(view, view.mover, rng)

    def chances(self, policy: str, view: published.State) -> tuple[float, ...]:
        moves = published.options(view)
        ranks = published_words.ranked(view, view.mover, moves)
        return policies.best(policy, moves, ranks)

    def worth(self, state: published.State, seat: int) -> float:
        return published_words.worth(state, seat, self.terms.goal, self.terms.turns)

    def each_seat(self, state: published.State) -> tuple[float, ...]:
        return share(state.points)

    def show(self, state: published.State) -> str:
        return published_words.whole(state)
