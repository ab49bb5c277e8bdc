"""UNO Arena: the Game class over the compiled rules, and the game as text, with cards as in UNO."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gauntlet.common.errors import IllegalAction
from gauntlet.games import uno
from gauntlet.games.base import Action, Fact, Observation
from gauntlet.games.playouts import check_known_policy
from gauntlet.games.uno.arena import encode, rules
from gauntlet.games.uno.arena import playouts as engine
from gauntlet.games.uno.arena.encode import Practice
from gauntlet.games.uno.arena.rules import (
    BEFORE,
    CALL,
    CARD,
    COLOUR,
    IN_FORCE,
    PHASE,
    WINNERS,
    View,
)
from gauntlet.games.uno.policies import NO_ACTION, redeal, with_fresh_pile
from gauntlet.games.uno.rules import (
    DIRECTION,
    DRAW,
    PILE,
    PLAYED,
    PLY,
    SEED,
    TO_MOVE,
    TOP,
    TOP_BY,
    WILD,
    blank,
    hand_of,
)
from gauntlet.games.uno.state import State, card_order, count, distinct, hand
from gauntlet.games.uno.state import possible_state as known_table
from gauntlet.games.uno.words import (
    CARD_ADVICE,
    CARD_NAMES,
    CHALLENGE_ADVICE,
    COLOUR_ADVICE,
    COLOURS,
    MOVE_NAMES,
    holdings,
    order_of_play,
)
from gauntlet.games.uno.words import hand as hand_words
from gauntlet.games.uno.words import review as reviewed

RULES = (
    "Everyone starts with seven cards; whoever has no cards left wins at once. On your turn you "
    "must play a card that matches the top card in colour, number or function, or a wild of "
    "either kind; if you have none, you draw one card and your turn ends. A wild names the only "
    "colour to match next. A wild draw four does too, and the next player may challenge it: if its "
    "player still holds a card of the colour before it, that player draws four cards and the "
    "challenger plays on; if not, the challenger draws six cards and loses the turn. Unchallenged, "
    "the next player draws four cards and loses the turn. Skip: the next player loses the turn. "
    "Draw two: the next player draws two cards and loses the turn. Reverse: the order of play "
    "turns round, which changes nothing for two players. Played cards are never shuffled back: "
    "when a draw asks for more cards than the pile holds, the game ends and all who hold the "
    "fewest cards win."
)

ANSWERS = ("challenge", "draw four cards")


def option(phase: int, action: int) -> str:
    """Return the name of an option: "red 7", "wild", "draw a card"; "red"; or "challenge"."""
    if phase == CARD:
        return MOVE_NAMES[DRAW] if action == DRAW else CARD_NAMES[action]
    return COLOURS[action] if phase == COLOUR else ANSWERS[action]


def question(phase: int, top: int, before: int, colour: int, player: int) -> str:
    """Return what has to be decided. top: the top card's kind. before, colour: the colours in force
    before and after it. by: who played it."""
    if phase == CARD:
        return "which card to play"
    if phase == COLOUR:
        return f"which colour your {CARD_NAMES[top]} names"
    return (
        f"whether to challenge the wild draw four of player {player}, played on "
        f"{COLOURS[before]} and naming {COLOURS[colour]}"
    )


def top_card(phase: int, top: int, colour: int, player: int) -> str:
    """Return the top card, the colour to match if the card does not show it, and who played it (-1:
    nobody, it was turned up)."""
    name = CARD_NAMES[top]
    if top % 15 >= WILD:
        told = "not named yet" if phase == COLOUR else f"now {COLOURS[colour]}"
        name = f"{name}, colour {told}"
    return (
        f"{name}, played by player {player}" if player >= 0 else f"{name}, turned up at the start"
    )


def clauses(
    phase: int, action: int, seat: int, top: int, player: int, guilty: bool
) -> tuple[str, ...]:
    """Return what `seat` did, in public; nothing while its wild has no colour yet.

    top, player: the top card's kind before the move, and who played it. guilty: whether a challenge
    of `player` is right.
    """
    if phase == COLOUR:
        return (f"player {seat} played {CARD_NAMES[top]} naming {COLOURS[action]}",)
    if phase == CARD:
        if action == DRAW:
            return (f"player {seat} drew a card",)
        return () if action % 15 >= WILD else (f"player {seat} played {CARD_NAMES[action]}",)
    if action != CALL:
        return (f"player {seat} drew four cards",)
    if guilty:
        return (f"player {seat} challenged rightly and player {player} drew four cards",)
    return (f"player {seat} challenged wrongly and drew six cards",)


CODES = {"random": engine.RANDOM, "rule": engine.RULE}
"""Codes of the scripted players by name."""
TOLD = {
    "random": "takes any option alike",
    "rule": "takes a card of the top card's number or function, else one of its colour, else a "
    "wild, else a wild draw four; names a colour that it holds most of; challenges every second "
    "time",
}
"""What each policy does, for observers."""


@dataclass(frozen=True)
class UnoArena:
    """UNO by UNO Arena's rules, for 2 to 10 players; several may win a game together.

    Source: UNO Arena (Qin et al. 2024), sections 3 and 4, and its published code where those are
    silent. The choices of a card, of a wild's colour and of a challenge are separate plies.
    """

    num_seats: int = 2

    policies: ClassVar[tuple[str, ...]] = tuple(CODES)
    told_policies: ClassVar[Mapping[str, str]] = TOLD
    num_codes: ClassVar[int] = encode.NUM_CODES
    references: ClassVar[tuple[str, ...]] = ("rule",)

    def __post_init__(self) -> None:
        if not 2 <= self.num_seats <= 10:
            raise ValueError(f"uno arena seats 2 to 10 players, got {self.num_seats}")

    def deal(self, rng: np.random.Generator) -> State:
        array = blank(self.num_seats)
        rules.deal(array, self.num_seats, int(rng.integers(2**63)))
        return State(array)

    def to_move(self, state: State) -> tuple[int, ...]:
        return () if rules.over(state.array) else (state.array.item(TO_MOVE),)

    def legal(self, state: State, seat: int) -> tuple[Action, ...]:
        return distinct(rules.legal(state.array)) if self.to_move(state) == (seat,) else ()

    def play(self, state: State, moves: Sequence[Action]) -> State:
        (action,) = moves
        before = state.array
        seat = before.item(TO_MOVE)
        if action not in self.legal(state, seat):
            raise IllegalAction(f"action {action} is not legal in:\n{self.show(state)}")
        array = before.copy()
        rules.step(array, action)
        if rules.over(array):
            return State(array, state.history)
        by = before.item(TOP_BY)
        lines = clauses(
            *(before.item(PHASE), action, seat, before.item(TOP) & 63, by),
            guilty=array.item(TO_MOVE) == seat,
        )
        return State(array, (*state.history, *lines))

    def observe(self, state: State, seat: int) -> Observation:
        array = state.array
        phase, top, top_player = array.item(PHASE), array.item(TOP) & 63, array.item(TOP_BY)
        before, colour = array.item(BEFORE), array.item(IN_FORCE)
        direction = array.item(DIRECTION)
        sizes = tuple(array.item(hand_of(s)) for s in range(self.num_seats))
        facts = (
            Fact("Players", str(self.num_seats)),
            Fact("Cards", holdings(sizes, seat)),
            Fact("Piles", f"{array.item(PILE)} to draw from, {array.item(PLAYED)} played"),
            Fact("Top card", top_card(phase, top, colour, top_player)),
            Fact("Order of play", order_of_play(seat, direction, self.num_seats)),
            Fact(
                "Your hand",
                hand_words(sorted(hand(array, seat), key=card_order)) or "empty",
                own=True,
            ),
            Fact("To decide", question(phase, top, before, colour, top_player), own=True),
        )
        options = self.legal(state, seat)
        labels = tuple(option(phase, action) for action in options)
        counts = (count(array, hand_of(seat)), count(array, PLAYED))
        table = uno.View(seat, direction, colour, top % 15, sizes, *counts, options)
        view = View(table, phase, before, top_player, under(array))
        return Observation("UNO", seat, RULES, facts, state.history, labels, view)

    def returns(self, state: State) -> tuple[float, ...]:
        """1 for every winner, including shared wins; -1 for the others."""
        winners = state.array.item(WINNERS)
        return tuple(1.0 if winners >> seat & 1 else -1.0 for seat in range(self.num_seats))

    def show(self, state: State) -> str:
        array = state.array
        phase, top, top_player = array.item(PHASE), array.item(TOP) & 63, array.item(TOP_BY)
        pile = array[PILE + 1 : PILE + 1 + array.item(PILE)].tolist()
        order = "upwards" if array.item(DIRECTION) > 0 else "downwards"
        asked = ("a card", "a colour", "a challenge")[phase]
        lines = [
            f"ply {array.item(PLY)}, player {array.item(TO_MOVE)} to choose {asked}, seats {order}",
            f"top card: {top_card(phase, top, array.item(IN_FORCE), top_player)}",
            f"played: {array.item(PLAYED)}, pile: {len(pile)}, "
            f"next: {hand_words(card & 63 for card in pile[:-6:-1])}",
        ]
        lines += [f"player {s}: {hand_words(hand(array, s))}" for s in range(self.num_seats)]
        return "\n".join(lines)

    def sample(self, observation: Observation, rng: np.random.Generator) -> State:
        """Return a state consistent with what the seat sees, uniformly distributed, ignoring the
        moves so far."""
        array = possible_state(observation.view)
        key = rng.integers(2**63, dtype=np.uint64)
        redeal(array, observation.seat, key)
        array[SEED] = rng.integers(2**63)
        return State(array, observation.history)

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        view: View = observation.view
        mask = sum(1 << action for action in view.table.options)
        if self.code(policy) == engine.RULE:
            mask = engine.preferred(possible_state(view), mask)
        taken = [mask >> action & 1 for action in view.table.options]
        return tuple(one / sum(taken) for one in taken)

    def redealt(self, state: State, rng: np.random.Generator) -> State:
        return State(with_fresh_pile(state.array, rng), state.history)

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
        array = blank(self.num_seats) if state is None else state.array
        masks = engine.rollouts(array, state is None, action, self.codes(policies), count, seed)
        return (masks[:, None] >> np.arange(self.num_seats) & 1).astype(float)

    def simulate(self, policies: Sequence[str], games: int, seed: int) -> np.ndarray:
        return engine.simulate(self.codes(policies), games, seed)

    def values(
        self,
        observation: Observation,
        measured: int,
        policies: Sequence[str],
        playouts: int,
        seed: int,
    ) -> np.ndarray:
        masks = engine.winners(
            possible_state(observation.view), self.codes(policies), playouts, seed, True
        )
        return np.asarray((masks >> measured & 1).mean(axis=1))

    def winners(
        self, state: State, policies: Sequence[str], playouts: int, seed: int, hidden: bool
    ) -> np.ndarray:
        return engine.winners(state.array, self.codes(policies), playouts, seed, hidden)

    @property
    def encoding(self) -> str:
        return f"uno_arena-{self.num_seats}"

    def encode(self, observation: Observation) -> np.ndarray:
        return encode.features(observation.view)

    def option_codes(self, observation: Observation) -> tuple[tuple[int, ...], ...]:
        view: View = observation.view
        return tuple(
            encode.codes_of(view.phase, action, view.table.trait) for action in view.table.options
        )

    def practice(self, seat: int, seed: int) -> Practice:
        return Practice(self.num_seats, seat, seed)

    def review(self, observation: Observation, moves: int) -> tuple[Fact, ...]:
        played = observation.view.table.played
        return reviewed(observation.history, moves, observation.seat, self.num_seats, played)

    def advice(self, observation: Observation) -> tuple[str, ...]:
        view: View = observation.view
        return (CARD_ADVICE, COLOUR_ADVICE, CHALLENGE_ADVICE)[view.phase]

    def codes(self, policies: Sequence[str]) -> np.ndarray:
        """Return the policies as codes for the compiled functions. Raises ValueError unless there
        is one per seat."""
        if len(policies) != self.num_seats:
            raise ValueError(f"{self.num_seats} seats need as many policies, got {len(policies)}")
        return np.array([self.code(policy) for policy in policies])

    def code(self, policy: str) -> int:
        """Return the code of a policy. Raises ValueError for an unknown one."""
        check_known_policy("uno arena", policy, CODES)
        return CODES[policy]


def under(array: np.ndarray) -> int:
    """Return the kind of the card under the top card, wilds of any colour alike; -1 if there is
    none."""
    place = PLAYED + array.item(PLAYED) - 1
    return kind_or_wild(array.item(place) & 63) if place > PLAYED else -1


def kind_or_wild(kind: int) -> int:
    """Return the kind; for wilds, whose own colour is irrelevant, the trait."""
    return kind % 15 if kind % 15 >= WILD else kind


def possible_state(view: View) -> np.ndarray:
    """Return a state consistent with `view`; what its seat cannot see is in deck order."""
    array = known_table(view.table)
    array[PHASE], array[BEFORE], array[TOP_BY] = view.phase, view.before, view.by
    if view.under >= 0:
        played = array[PLAYED + 1 : PLAYED + 1 + array.item(PLAYED)]
        place = [kind_or_wild(card & 63) for card in played.tolist()].index(view.under)
        played[[place, -2]] = played[[-2, place]]
    return array
