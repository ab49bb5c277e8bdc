"""Hive: the Game class over the compiled rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from gauntlet.common.errors import IllegalAction
from gauntlet.games.base import Action, Fact, Observation
from gauntlet.games.capabilities import full_rules
from gauntlet.games.hive import players, rules, words
from gauntlet.games.hive.hexes import State
from gauntlet.games.hive.players import CODES, GREEDY, WON, can_win_next, leads, worth
from gauntlet.games.playouts import check_known_policy

AT_ONCE = 500
"""Games per compiled call, which takes a second or less: signals are handled only between calls."""

RETURNS = {
    rules.WHITE_WINS: (1.0, -1.0),
    rules.BLACK_WINS: (-1.0, 1.0),
    rules.DRAW: (0.0, 0.0),
    rules.BOTH_LOSE: (-1.0, -1.0),
}


@dataclass(frozen=True)
class Hive:
    """Hive for two, without beetles, as GameBench (arXiv 2406.06613) plays it.

    max_turns: turns per side after which nobody wins.
    paper_bugs: True for the game of GameBench's published code, with other movement rules; see
        docs/games/hive.md.

    An action is a move as in `games.hive.rules`. Raises ValueError for invalid settings.
    """

    num_seats: int = 2
    max_turns: int = 250
    paper_bugs: bool = False

    perfect_information: ClassVar[bool] = True
    policies: ClassVar[tuple[str, ...]] = tuple(CODES)
    told_policies: ClassVar[Mapping[str, str]] = words.POLICIES

    def __post_init__(self) -> None:
        if self.num_seats != 2:
            raise ValueError(f"hive seats 2 players, got {self.num_seats}")
        if not 4 <= self.max_turns <= 2500:
            raise ValueError(f"max_turns is {self.max_turns}; a side has 4 to 2,500 turns")

    @property
    def draws(self) -> bool:
        """In the published code nobody wins if both queens are surrounded, and both lose."""
        return not self.paper_bugs

    @cached_property
    def start(self) -> np.ndarray:
        """The array of the initial state."""
        return rules.blank(2 * self.max_turns - int(self.paper_bugs), self.paper_bugs)

    def deal(self, rng: np.random.Generator) -> State:
        return State(self.start.copy())

    def to_move(self, state: State) -> tuple[int, ...]:
        over = state.array.item(rules.RESULT) != rules.GOING_ON
        return () if over else (state.array.item(rules.PLY) % 2,)

    def legal(self, state: State, seat: int) -> tuple[Action, ...]:
        if self.to_move(state) != (seat,):
            return ()
        return tuple(rules.options(state.array).tolist())

    def play(self, state: State, moves: Sequence[Action]) -> State:
        (move,) = moves
        array = np.empty_like(state.array)
        seats = self.to_move(state)
        if not seats or not rules.try_move(state.array, move, array):
            raise IllegalAction(
                f"move {move} is not legal for seats {seats} in\n{self.show(state)}"
            )
        clause = f"{words.SIDES[seats[0]]}: {words.describe_moves(state.array, (move,))[0]}"
        return State(array, (*state.history, clause))

    def observe(self, state: State, seat: int) -> Observation:
        array, options = state.array, self.legal(state, seat)
        option_names = words.describe_moves(array, options)
        return Observation(
            game="Hive",
            seat=seat,
            rules=full_rules(self),
            facts=self._facts(array, seat, options, option_names),
            history=state.history,
            options=option_names,
            view=state,
        )

    def _facts(
        self, array: np.ndarray, seat: int, options: Sequence[Action], option_names: Sequence[str]
    ) -> tuple[Fact, ...]:
        winning = np.flatnonzero(leads(array) > WON).tolist()
        return (
            Fact("You are", words.introduced(seat), True),
            Fact("Turn", f"{array.item(rules.PLY) // 2 + 1} of {self.max_turns}"),
            Fact("The hive", words.drawing(array)),
            *(
                Fact(f"Queen {words.NAMES[rules.OWN * one]}", words.queen(array, one))
                for one in range(2)
            ),
            *(Fact(f"Hand of {words.SIDES[one]}", words.in_hand(array, one)) for one in range(2)),
            Fact("Your pieces that cannot move now", words.stuck(array, seat, options), True),
            Fact(
                "Options that win at once",
                "; ".join(option_names[int(at)] for at in winning) or "none",
                True,
            ),
            Fact(
                "Could the other win next, if you did nothing",
                ("no", "yes")[can_win_next(array)],
                True,
            ),
        )

    def returns(self, state: State) -> tuple[float, ...]:
        return RETURNS[state.array.item(rules.RESULT)]

    def show(self, state: State) -> str:
        array = state.array
        hands = (f"{words.SIDES[seat]} in hand: {words.in_hand(array, seat)}" for seat in range(2))
        return "\n".join((words.drawing(array), *hands, words.status(array)))

    @property
    def rules_summary(self) -> str:
        return words.SUMMARY

    @property
    def rules_headings(self) -> Mapping[str, str]:
        return words.headings(self.max_turns, self.paper_bugs)

    def worth(self, state: State, seat: int) -> float:
        return worth(state.array, seat)

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        found = leads(observation.view.array)
        best = found == found.max() if code(policy) == GREEDY else np.ones_like(found)
        return tuple((best / best.sum()).tolist())

    def simulate(self, policies: Sequence[str], games: int, seed: int) -> np.ndarray:
        counts = np.zeros(3, np.int64)
        table, room, codes = rules.make_table(), self.start.copy(), codes_of(policies)
        for first in range(0, games, AT_ONCE):
            last = min(first + AT_ONCE, games)
            players.simulate(table, room, self.start, codes, seed, first, last, counts)
        return counts

    def winners(
        self, state: State, policies: Sequence[str], playouts: int, seed: int, hidden: bool
    ) -> np.ndarray:
        options, codes = rules.options(state.array), codes_of(policies)
        wins = np.zeros((len(options), playouts), np.uint16)
        table, room = rules.make_table(), state.array.copy()
        for option, move in enumerate(options.tolist()):
            players.play_out(table, room, state.array, move, codes, seed, wins[option])
        return wins

    def values(
        self,
        observation: Observation,
        measured: int,
        policies: Sequence[str],
        playouts: int,
        seed: int,
    ) -> np.ndarray:
        won = self.winners(observation.view, policies, playouts, seed, hidden=True)
        return np.asarray((won >> measured & 1).mean(axis=1))


def codes_of(policies: Sequence[str]) -> np.ndarray:
    """Return the policies as codes for the compiled functions. Raises ValueError unless there is
    one per seat."""
    if len(policies) != 2:
        raise ValueError(f"2 seats need as many policies, got {len(policies)}")
    return np.array([code(policy) for policy in policies])


def code(policy: str) -> int:
    """Return the code of a policy. Raises ValueError for an unknown one."""
    check_known_policy("hive", policy, CODES)
    return CODES[policy]
