"""Santorini: the Game class over the compiled rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gauntlet.games.base import Action, Observation, only_move
from gauntlet.games.capabilities import full_rules
from gauntlet.games.playouts import check_known_policy
from gauntlet.games.santorini import rules, words
from gauntlet.games.santorini.rules import State


@dataclass(frozen=True)
class Santorini:
    """Two seats with two pawns each, after Santorini's simple game (rules of GameBench, arXiv
    2406.06613, appendix K). An action is a square to be placed on, to step to or to build on.

    paper_bugs: True makes the step and the build of a turn one action, `rules.BOTH` + 25 * step +
        build, as the published code does; False makes them two plies.
    """

    num_seats: int = 2
    paper_bugs: bool = False

    perfect_information: ClassVar[bool] = True
    policies: ClassVar[tuple[str, ...]] = tuple(rules.TOLD)
    told_policies: ClassVar[Mapping[str, str]] = rules.TOLD

    def __post_init__(self) -> None:
        if self.num_seats != 2:
            raise ValueError(f"santorini seats 2 players here, got {self.num_seats}")

    @property
    def rules_summary(self) -> str:
        return words.SUMMARY

    @property
    def rules_headings(self) -> Mapping[str, str]:
        if not self.paper_bugs:
            return words.HEADINGS
        return words.HEADINGS | {"Build": f"{words.HEADINGS['Build']} {words.AT_ONCE}"}

    def deal(self, rng: np.random.Generator) -> State:
        return State(tuple(rules.blank().tolist()))

    def to_move(self, state: State) -> tuple[int, ...]:
        return () if state.cells[rules.WINNER] >= 0 else (state.cells[rules.TURN] % 2,)

    def legal(self, state: State, seat: int) -> tuple[Action, ...]:
        if self.to_move(state) != (seat,):
            return ()
        array = state.array
        steps = _square_list(rules.legal(array))
        if not self.paper_bugs or state.cells[rules.STAGE] != rules.MOVE:
            return tuple(steps)
        return tuple(
            step_and_build(to, at) for to in steps for at in _square_list(_after(array, to))
        )

    def play(self, state: State, moves: Sequence[Action]) -> State:
        action, array = only_move(self, state, moves), state.array
        rules.act(array, action)
        told = words.clauses(state.cells, action)
        return State(tuple(array.tolist()), (*state.history, *told))

    def observe(self, state: State, seat: int) -> Observation:
        return Observation(
            game="Santorini",
            seat=seat,
            rules=full_rules(self),
            facts=tuple(words.facts(state.array, seat)),
            history=state.history,
            options=tuple(words.option(state.cells, one) for one in self.legal(state, seat)),
            view=state,
        )

    def returns(self, state: State) -> tuple[float, ...]:
        return (1.0, -1.0) if state.cells[rules.WINNER] == 0 else (-1.0, 1.0)

    def show(self, state: State) -> str:
        return words.show_state(state.cells)

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        state: State = observation.view
        code, array = self._code(policy), state.array
        actions = self.legal(state, observation.seat)
        if code == rules.RANDOM:
            return (1 / len(actions),) * len(actions)
        steps = rules.best(array, code)
        if not self.paper_bugs or state.cells[rules.STAGE] != rules.MOVE:
            return tuple((steps >> one & 1) / steps.bit_count() for one in actions)
        chances = []
        for to, at in (divmod(one - rules.BOTH, rules.SQUARES) for one in actions):
            builds = _builds(array, to, code)
            fits = steps >> to & 1 and builds >> at & 1
            chances.append(fits / (steps.bit_count() * builds.bit_count()))
        return tuple(chances)

    def worth(self, state: State, seat: int) -> float:
        return float(rules.worth(state.array, seat, rules.room()))

    def simulate(self, policies: Sequence[str], games: int, seed: int) -> np.ndarray:
        return rules.simulate(rules.blank(), self._codes(policies), self.paper_bugs, games, seed)

    def winners(
        self, state: State, policies: Sequence[str], playouts: int, seed: int, hidden: bool
    ) -> np.ndarray:
        """As `games.capabilities.PlayedOut.winners`; nothing is `hidden`."""
        actions = np.array(self.legal(state, state.cells[rules.TURN] % 2))
        codes = self._codes(policies)
        return rules.winners(state.array, actions, codes, self.paper_bugs, playouts, seed)

    def values(
        self,
        observation: Observation,
        measured: int,
        policies: Sequence[str],
        playouts: int,
        seed: int,
    ) -> np.ndarray:
        found = self.winners(observation.view, policies, playouts, seed, True)
        return np.asarray((found >> measured & 1).mean(axis=1))

    def advice(self, observation: Observation) -> tuple[str, ...]:
        return words.ADVICE

    def _codes(self, policies: Sequence[str]) -> np.ndarray:
        if len(policies) != self.num_seats:
            raise ValueError(f"{self.num_seats} seats need as many policies, got {len(policies)}")
        return np.array([self._code(policy) for policy in policies])

    def _code(self, policy: str) -> int:
        check_known_policy("santorini", policy, self.policies)
        return self.policies.index(policy)


def step_and_build(to: int, at: int) -> Action:
    """Return the action that steps to one square and builds on another."""
    return rules.BOTH + to * rules.SQUARES + at


def _square_list(squares: int) -> list[int]:
    return [at for at in range(rules.SQUARES) if squares >> at & 1]


def _after(array: np.ndarray, square: int) -> int:
    """Return where the pawn to act could build after its step, even if that step wins."""
    trial = array.copy()
    trial[rules.PAWNS + trial[rules.TURN]] = square
    return rules.sites(trial, trial[rules.TURN])


def _builds(array: np.ndarray, square: int, policy: int) -> int:
    """Return the squares among which a policy chooses to build after its step; any after a win."""
    trial = array.copy()
    rules.step(trial, square)
    return _after(array, square) if rules.over(trial) else rules.best(trial, policy)
