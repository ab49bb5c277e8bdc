"""Sea Battle: the Game class over the compiled rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from gauntlet.common.errors import IllegalAction
from gauntlet.games.base import Action, Observation
from gauntlet.games.capabilities import full_rules
from gauntlet.games.playouts import check_known_policy
from gauntlet.games.sea_battle import players, rules, words
from gauntlet.games.sea_battle.rules import State, View, seen_by, undecided
from gauntlet.games.teams import Roles

ROLES = Roles(tuple(f"ship {name}" for name in words.NAMES), (0, 0, 0, 1, 1, 1))


@dataclass(frozen=True)
class SeaBattle:
    """Two seats with three ships each, or six with one (rules of GameBench, arXiv 2406.06613,
    appendix K, with the parameters of its code). An action is an index into `words.OPTIONS`.

    A seat with three ships chooses for one after the other, and no ship knows what another has
    chosen for this turn.

    most_turns: maximum number of turns, after which the team with more ships afloat wins.
    paper_bugs: True resolves a turn as the published code does (`rules.sail_in_order`).

    Raises ValueError for other numbers of seats, or no turns.
    """

    num_seats: int = 2
    most_turns: int = 100
    paper_bugs: bool = False

    draws: ClassVar[bool] = True
    policies: ClassVar[tuple[str, ...]] = tuple(players.TOLD)
    told_policies: ClassVar[Mapping[str, str]] = players.TOLD

    def __post_init__(self) -> None:
        ROLES.check("sea battle", self.num_seats)
        if not 1 <= self.most_turns <= 1000:
            raise ValueError(f"most_turns is {self.most_turns}; a game has 1 to 1,000")

    @property
    def rules_summary(self) -> str:
        return words.SUMMARY

    @property
    def rules_headings(self) -> Mapping[str, str]:
        return words.headings(self.most_turns, self.paper_bugs)

    @cached_property
    def settings(self) -> np.ndarray:
        """A state's array with only the settings filled in."""
        array = np.zeros(rules.SIZE, np.int64)
        array[rules.MOST_TURNS], array[rules.PAPER_BUGS] = self.most_turns, self.paper_bugs
        return array

    @property
    def seatings(self) -> tuple[tuple[int, ...], ...]:
        return ROLES.seatings(self.num_seats)

    def deal(self, rng: np.random.Generator) -> State:
        array = self.settings.copy()
        rules.deal(array, np.uint64(rng.integers(2**63)))
        return State(tuple(array.tolist()))

    def to_move(self, state: State) -> tuple[int, ...]:
        return tuple(self._acting(state))

    def legal(self, state: State, seat: int) -> tuple[Action, ...]:
        return tuple(range(rules.ACTIONS)) if seat in self._acting(state) else ()

    def play(self, state: State, moves: Sequence[Action]) -> State:
        acting = self._acting(state)
        fit = all(move in range(rules.ACTIONS) for move in moves)
        if not acting or len(moves) != len(acting) or not fit:
            seats = tuple(acting)
            raise IllegalAction(f"moves {list(moves)} for seats {seats} in\n{self.show(state)}")
        array = state.array
        for ship, move in zip(acting.values(), moves, strict=True):
            array[rules.PLAN + ship] = int(move)
        cells = array.tolist()
        if undecided(cells):
            return State(tuple(cells), state.history)
        notes = players.room()
        rules.resolve(array, notes)
        after = array.tolist()
        told = words.clause(cells, notes.tolist(), after)
        return State(tuple(after), (*state.history, told))

    def observe(self, state: State, seat: int) -> Observation:
        ship = self._acting(state)[seat]
        return Observation(
            game="Sea Battle",
            seat=seat,
            rules=full_rules(self),
            facts=tuple(words.facts(state.array, ship)),
            history=state.history,
            options=words.OPTIONS,
            view=seen_by(state.cells, ship),
            role=ROLES.role(self.num_seats, ship),
            team=ROLES.team(self.num_seats, ship),
        )

    def returns(self, state: State) -> tuple[float, ...]:
        first = float(np.sign(rules.lead(state.array)))
        return ROLES.each_seat(self.num_seats, (first, -first))

    def show(self, state: State) -> str:
        return words.show_state(state.cells)

    def sample(self, observation: Observation, rng: np.random.Generator) -> State:
        """Each ship that has chosen gets a uniformly random choice."""
        view: View = observation.view
        cells = [
            int(rng.integers(rules.ACTIONS)) if cell == rules.SECRET else cell
            for cell in view.cells
        ]
        return State(tuple(cells), observation.history)

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        view: View = observation.view
        code = self._code(policy)
        if code == players.RANDOM:
            return (1 / rules.ACTIONS,) * rules.ACTIONS
        actions = players.best(np.array(view.cells), view.ship, code)
        chosen = [actions >> action & 1 for action in range(rules.ACTIONS)]
        whim = 1 / players.WHIM
        return tuple((1 - whim) * one / sum(chosen) + whim / len(chosen) for one in chosen)

    def worth(self, state: State, seat: int) -> float:
        team = seat if self.num_seats == 2 else ROLES.teams[seat]
        return float(players.worth(state.array, team, players.room()))

    def simulate(self, policies: Sequence[str], games: int, seed: int) -> np.ndarray:
        if len(policies) != self.num_seats:
            raise ValueError(f"{self.num_seats} seats need as many policies, got {len(policies)}")
        seats = [ROLES.seat(self.num_seats, ship) for ship in range(rules.SHIPS)]
        codes = np.array([self._code(policies[seat]) for seat in seats])
        first, second, drawn = players.simulate(self.settings, codes, games, seed).tolist()
        return np.array([*ROLES.each_seat(self.num_seats, (first, second)), drawn], np.int64)

    def advice(self, observation: Observation) -> tuple[str, ...]:
        return words.ADVICE

    def _acting(self, state: State) -> dict[int, int]:
        """Return, for each seat to move, the ship that it moves."""
        if rules.over(state.array):
            return {}
        ships: dict[int, int] = {}
        for ship in undecided(state.cells):
            ships.setdefault(ROLES.seat(self.num_seats, ship), ship)
        return ships

    def _code(self, policy: str) -> int:
        check_known_policy("sea battle", policy, self.policies)
        return self.policies.index(policy)
