"""UNO: the Game class over the compiled rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gauntlet.common.errors import IllegalAction
from gauntlet.games.base import Action, Fact, Observation
from gauntlet.games.capabilities import MATCH_SCORE, WIN
from gauntlet.games.uno import encode, luck, policies, rules, words
from gauntlet.games.uno.encode import Practice
from gauntlet.games.uno.policies import NO_ACTION, rollouts, simulate, values, winners
from gauntlet.games.uno.state import (
    State,
    View,
    card_order,
    count,
    distinct,
    hand,
    listed_actions,
    played_itself,
    possible_state,
)

CODES = {
    "rule": policies.RULE,
    "helper": policies.HELPER,
    "saboteur": policies.SABOTEUR,
    "first": policies.FIRST,
}
"""Codes of the scripted players by name; the code of "random" depends on how options are listed."""
TOLD = {
    "random": "takes any option alike",
    "rule": "plays a wild draw four whenever that is allowed, naming the colour it holds most of; "
    "else any fitting card of a colour alike, and a wild, in any colour, only when nothing else "
    "fits",
    "helper": "takes what serves the player before it best: cards that others must draw, and an "
    "early next turn for that player",
    "saboteur": "takes what hurts the player before it most: cards that it must draw, and a late "
    "next turn for it",
    "first": "takes the first option in the order of red, green, blue, yellow, and within a colour "
    "of 0 to 9, skip, reverse, draw two, wild, wild draw four",
}
"""What each policy does, for observers."""

AIMED = {
    f"{name} {back}": CODES[name] + policies.FURTHER * (back - 1)
    for name in ("helper", "saboteur")
    for back in range(2, 10)
}
"""Players that target the seat `back` before theirs instead of the one directly before."""

ACTION_NUMBERS = {name: action for action, name in enumerate(words.MOVE_NAMES)}


@dataclass(frozen=True)
class Uno:
    """UNO by RLCard's rules, for 2 to 10 players; after 5,000 plies nobody wins.

    paper_bugs: False lists equal options once, in order of action number, with correct facts. True
        follows published experiments on RLCard: cards and options are in the order of the hand,
        with an option per copy of a card, and "random" is uniform over those; after a wild the
        stated colour is the meaningless one of RLCard's card object; the next player is derived
        from the logged reverses (`words.told_next`).
    """

    num_seats: int = 2
    paper_bugs: bool = False

    policies: ClassVar[tuple[str, ...]] = ("random", *CODES)
    told_policies: ClassVar[Mapping[str, str]] = TOLD
    num_codes: ClassVar[int] = rules.ACTIONS
    references: ClassVar[tuple[str, ...]] = ("rule",)

    def __post_init__(self) -> None:
        if not 2 <= self.num_seats <= 10:
            raise ValueError(f"uno seats 2 to 10 players, got {self.num_seats}")

    def deal(self, rng: np.random.Generator) -> State:
        array = rules.blank(self.num_seats)
        rules.deal(array, self.num_seats, int(rng.integers(2**63)))
        return State(array)

    def to_move(self, state: State) -> tuple[int, ...]:
        return () if rules.over(state.array) else (state.array.item(rules.TO_MOVE),)

    def legal(self, state: State, seat: int) -> tuple[Action, ...]:
        if self.to_move(state) != (seat,):
            return ()
        mask = rules.legal(state.array)
        return listed_actions(mask, hand(state.array, seat)) if self.paper_bugs else distinct(mask)

    def play(self, state: State, moves: Sequence[Action]) -> State:
        (action,) = moves
        seat = state.array.item(rules.TO_MOVE)
        if action not in self.legal(state, seat):
            raise IllegalAction(f"{move_text(action)} is not legal in:\n{self.show(state)}")
        array = state.array.copy()
        rules.step(array, action)
        return State(array, (*state.history, words.clause(seat, action, played_itself(array))))

    def observe(self, state: State, seat: int) -> Observation:
        array = state.array
        kinds = hand(array, seat)
        options = self.legal(state, seat)
        top, colour = array.item(rules.TOP) & 63, array.item(rules.COLOUR)
        sizes = tuple(array[rules.HANDS :: rules.STACK].tolist())
        facts = (
            Fact("Players", str(self.num_seats)),
            Fact("Cards", words.holdings(sizes, seat)),
            Fact(
                "Top card",
                words.top_card(
                    top, top // 15 if self.paper_bugs else colour, array.item(rules.TOP_BY)
                ),
            ),
            Fact(
                "Your hand",
                words.hand(kinds if self.paper_bugs else sorted(kinds, key=card_order)),
                own=True,
            ),
            Fact("Next player", f"player {self.next_seat(state, seat)}"),
        )
        labels = tuple(words.MOVE_NAMES[action] for action in options)
        direction = array.item(rules.DIRECTION)
        counts = (count(array, rules.hand_of(seat)), count(array, rules.PLAYED))
        view = View(seat, direction, colour, top % 15, sizes, *counts, options)
        return Observation("UNO", seat, words.RULES, facts, state.history, labels, view)

    def next_seat(self, state: State, seat: int) -> int:
        """Return who acts after `seat` if the card that it plays does not change that."""
        if self.paper_bugs:
            return words.logged_next_player(state.history, seat, self.num_seats)
        return int((seat + state.array.item(rules.DIRECTION)) % self.num_seats)

    def returns(self, state: State) -> tuple[float, ...]:
        winner = state.array.item(rules.WINNER)
        if winner < 0:
            return (0.0,) * self.num_seats
        return tuple(1.0 if seat == winner else -1.0 for seat in range(self.num_seats))

    def show(self, state: State) -> str:
        array = state.array
        top, colour, seat = (array.item(at) for at in (rules.TOP, rules.COLOUR, rules.TOP_BY))
        pile = array[rules.PILE + 1 : rules.PILE + 1 + array[rules.PILE]].tolist()
        order = "upwards" if array[rules.DIRECTION] > 0 else "downwards"
        lines = [
            f"ply {array[rules.PLY]}, player {array[rules.TO_MOVE]} to move, seats {order}",
            f"top card: {words.top_card(top & 63, colour, seat)}",
            f"played: {array[rules.PLAYED]}, pile: {len(pile)}, "
            f"next: {words.hand(card & 63 for card in pile[:-6:-1])}",
        ]
        lines += [f"player {s}: {words.hand(hand(array, s))}" for s in range(self.num_seats)]
        return "\n".join(lines)

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        view: View = observation.view
        weights = np.zeros(rules.ACTIONS, np.int64)
        mask = sum(1 << action for action in set(view.options))
        around = (self.num_seats, view.seat, view.direction)
        total = policies.weigh(self.code(policy), *around, np.array(view.hand), mask, weights)
        return tuple(
            weights.item(action) / view.options.count(action) / total for action in view.options
        )

    def aimed(self, policy: str, seat: int, at: int | None) -> str:
        if policy not in ("helper", "saboteur"):
            return policy
        if at is None or at == seat:
            raise ValueError(f"a {policy} needs a goal of help:SEAT that names another seat")
        back = (seat - at) % self.num_seats
        return policy if back == 1 else f"{policy} {back}"

    def redealt(self, state: State, rng: np.random.Generator) -> State:
        return State(policies.with_fresh_pile(state.array, rng), state.history)

    def rollouts(
        self,
        state: State | None,
        moves: Sequence[Action],
        policies: Sequence[str],
        count: int,
        seed: int,
        measure: str,
    ) -> np.ndarray:
        (action,) = moves or (NO_ACTION,)
        array = rules.blank(self.num_seats) if state is None else state.array
        winners = rollouts(array, state is None, action, self.codes(policies), count, seed)
        nobody = 0.5 * (winners < 0) * (measure == MATCH_SCORE.name)
        return np.asarray((winners[:, None] == np.arange(self.num_seats)) + nobody[:, None])

    def simulate(self, policies: Sequence[str], games: int, seed: int) -> np.ndarray:
        return simulate(self.codes(policies), games, seed)

    def unadjustable(self, measure: str) -> str:
        if measure == WIN.name:
            return ""
        return f"its playouts judge by wins, and the cell is judged by {measure}"

    def advantage(
        self,
        start: State,
        moves: Sequence[str],
        seat: int,
        measured: int,
        policies: Sequence[str],
        playouts: int,
        seed: int,
    ) -> float:
        actions = np.array([ACTION_NUMBERS[move] for move in moves])
        codes = self.codes(policies)
        value = luck.advantage(
            start.array, actions, seat, measured, codes, playouts, seed, luck.WALK
        )
        if np.isnan(value):
            raise ValueError("uno: the moves are not a game from this first state")
        return float(value)

    def values(
        self,
        observation: Observation,
        measured: int,
        policies: Sequence[str],
        playouts: int,
        seed: int,
    ) -> np.ndarray:
        view: View = observation.view
        actions = sorted(set(view.options))
        array = possible_state(view)
        found = values(array, measured, self.codes(policies), playouts, seed)
        return np.array([found[actions.index(action)] for action in view.options])

    def winners(
        self, state: State, policies: Sequence[str], playouts: int, seed: int, hidden: bool
    ) -> np.ndarray:
        masks = winners(state.array, self.codes(policies), playouts, seed, hidden)
        actions = distinct(rules.legal(state.array))
        listed = self.legal(state, state.array.item(rules.TO_MOVE))
        return masks if listed == actions else masks[[actions.index(action) for action in listed]]

    @property
    def encoding(self) -> str:
        return f"uno-{self.num_seats}"

    def encode(self, observation: Observation) -> np.ndarray:
        return encode.features(observation.view)

    def option_codes(self, observation: Observation) -> tuple[tuple[int, ...], ...]:
        return tuple((action,) for action in observation.view.options)

    def practice(self, seat: int, seed: int) -> Practice:
        return Practice(self.num_seats, seat, seed)

    def review(self, observation: Observation, moves: int) -> tuple[Fact, ...]:
        played = observation.view.played
        return words.review(observation.history, moves, observation.seat, self.num_seats, played)

    def advice(self, observation: Observation) -> tuple[str, ...]:
        return (*words.CARD_ADVICE, *words.COLOUR_ADVICE)

    def codes(self, policies: Sequence[str]) -> np.ndarray:
        """Return the policies as codes for the compiled functions. Raises ValueError unless there
        is one per seat."""
        if len(policies) != self.num_seats:
            raise ValueError(f"{self.num_seats} seats need as many policies, got {len(policies)}")
        return np.array([self.code(policy) for policy in policies])

    def code(self, policy: str) -> int:
        """Return the code of a policy. Raises ValueError for an unknown one."""
        if policy == "random":
            return policies.LISTED if self.paper_bugs else policies.RANDOM
        policy_codes = CODES | AIMED
        if policy not in policy_codes:
            raise ValueError(f"uno has the policies {', '.join(self.policies)}, not {policy!r}")
        return policy_codes[policy]


def move_text(action: Action) -> str:
    known = 0 <= action < len(words.MOVE_NAMES)
    return repr(words.MOVE_NAMES[action]) if known else f"action {action}"
