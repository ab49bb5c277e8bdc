"""Hold'em against pokerkit 0.7.7, action by action.

pokerkit gets our cards and is told of no smallest raise, as the paper tells of none. After every
action stacks, bets, pot, seat to move and legal actions must be equal, and at the end who won the
pot; what a raise costs is reckoned here, from pokerkit's own chips.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from pokerkit import Automation, ChipsPushing, NoLimitTexasHoldem

from gauntlet.games import compiling
from gauntlet.games.holdem import rules
from gauntlet.games.holdem.words import NAMES, cards
from tests.games.slips import slipped

AUTOMATIC = (
    *(Automation.ANTE_POSTING, Automation.BET_COLLECTION, Automation.BLIND_OR_STRADDLE_POSTING),
    *(Automation.HOLE_CARDS_SHOWING_OR_MUCKING, Automation.HAND_KILLING),
    *(Automation.CHIPS_PUSHING, Automation.CHIPS_PULLING),
)
SHARES = {"RAISE_HALF_POT": 0.5, "RAISE_POT": 1, "RAISE_2POT": 2}


@dataclass
class Hand:
    """One hand to be played: chips of both seats, blinds, who deals and what raises are."""

    seed: int
    stacks: tuple[int, int]
    blinds: tuple[int, int]
    dealer: int
    neuron: bool

    @classmethod
    def from_seed(cls, seed: int) -> Hand:
        """Every fifth hand has equal stacks; the others short ones too."""
        rng = random.Random(seed)
        blinds = rng.choice([(1, 2), (1, 2), (1, 3), (5, 10)])
        first = 200 if seed % 5 == 0 else rng.choice([rng.randint(1, 12), rng.randint(1, 399)])
        return cls(seed, (first, 400 - first), blinds, seed // 2 % 2, seed % 2 == 1)

    def ours(self, engine: Any) -> np.ndarray:
        array = rules.blank()
        array[rules.PLAY : rules.QUIRKS] = (
            *(rules.MATCH, self.dealer + 1, 200, *self.blinds),
            rules.NEURON if self.neuron else rules.PAPER,
        )
        engine.begin(array, self.seed)
        array[rules.HAND] = self.dealer - 1
        array[rules.STACKS : rules.STACKS + 2] = self.stacks
        engine.next_hand(array)
        return array


class Theirs:
    """The same hand in pokerkit, whose player 1 deals where there are two."""

    def __init__(self, hand: Hand, array: np.ndarray) -> None:
        self.hand, self.cards = hand, array[rules.CARDS : rules.LOG].tolist()
        self.seats = (1 - hand.dealer, hand.dealer)
        self.raised = {0: 0, 1: 0}
        stacks = [hand.stacks[seat] for seat in self.seats]
        self.state = NoLimitTexasHoldem.create_state(AUTOMATIC, False, 0, hand.blinds, 1, stacks, 2)
        for seat in self.seats:
            self.state.deal_hole(cards(self.cards[2 * seat : 2 * seat + 2]))
        self.settle()

    def settle(self) -> None:
        """No raise is too small; cards of the board are ours."""
        state = self.state
        while state.status and state.actor_index is None:
            dealt = sum(map(len, state.board_cards))
            state.burn_card("??")
            state.deal_board(cards(self.cards[4 + dealt : 4 + dealt + (1 if dealt else 3)]))
            self.raised = {0: 0, 1: 0}
        state.completion_betting_or_raising_amount = 0
        state.consecutive_short_all_in_amounts.clear()

    def raise_to(self, name: str) -> int:
        """The bet that a raise comes to, by appendix B of the paper or by neuron_poker."""
        state, at = self.state, self.state.actor_index
        assert at is not None
        most = state.bets[at] + state.stacks[at]
        if name == "RAISE_3BB":
            return min(most, 3 * self.hand.blinds[1])
        if name == "ALL_IN":
            return most
        share = int(SHARES[name] * state.total_pot_amount)
        return min(most, share + (state.bets[at] if self.hand.neuron else 0))

    def legal(self) -> list[str]:
        state, at = self.state, self.state.actor_index
        assert at is not None
        named = ["FOLD"] if state.can_fold() else []
        named += ["CALL" if state.checking_or_calling_amount else "CHECK"]
        if self.raised[at] < 2:
            named += [
                name
                for name in NAMES[rules.RAISE_3BB :]
                if state.can_complete_bet_or_raise_to(self.raise_to(name))
            ]
        return sorted(named, key=NAMES.index)

    def act(self, name: str) -> None:
        if name == "FOLD":
            self.state.fold()
        elif name in ("CHECK", "CALL"):
            self.state.check_or_call()
        else:
            at = self.state.actor_index
            assert at is not None
            to, self.raised[at] = self.raise_to(name), self.raised[at] + 1
            self.state.complete_bet_or_raise_to(to)
        self.settle()

    def tell(self) -> dict[str, Any]:
        state = self.state
        told = {"stacks": [state.stacks[self.seats[seat]] for seat in range(2)]}
        if not state.status:
            pushes = [one.amounts for one in state.operations if isinstance(one, ChipsPushing)]
            return told | {"won": [any(one[self.seats[seat]] for one in pushes) for seat in (0, 1)]}
        assert state.actor_index is not None
        return told | {
            "bets": [state.bets[self.seats[seat]] for seat in range(2)],
            "pot": state.total_pot_amount,
            "to move": self.seats[state.actor_index],
            "legal": self.legal(),
        }


def account(engine: Any, array: np.ndarray) -> dict[str, Any]:
    """Our side of `Theirs.tell`."""
    cells = array.tolist()
    stacks = {"stacks": cells[rules.STACKS : rules.STACKS + 2]}
    if cells[rules.TO_MOVE] < 0:
        return stacks | {"won": [cells[rules.AWARD + seat] > 0 for seat in range(2)]}
    return stacks | {
        "bets": cells[rules.BETS : rules.BETS + 2],
        "pot": sum(cells[rules.PAID : rules.PAID + 2]),
        "to move": cells[rules.TO_MOVE],
        "legal": named(engine.legal(array)),
    }


def named(mask: int) -> list[str]:
    return [name for action, name in enumerate(NAMES) if mask >> action & 1]


@dataclass
class Tally:
    hands: int = 0
    actions: int = 0
    shown: int = 0
    ties: int = 0
    uncalled: int = 0
    short: int = 0
    capped: int = 0
    difference: str = field(default="", repr=False)

    def note(self, ours: dict[str, Any], theirs: dict[str, Any], place: str) -> None:
        if ours != theirs:
            keys = [key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)]
            parts = [f"{key}: {ours.get(key)} here, {theirs.get(key)} there" for key in keys]
            self.difference = f"{place}: " + "; ".join(parts)

    def count(self, array: np.ndarray) -> None:
        self.hands += 1
        self.shown += array.item(rules.SHOWN)
        self.ties += array.item(rules.TIES)
        self.uncalled += bool(array[rules.BACK : rules.BACK + 2].any())
        self.short += array.item(rules.SHOWN) and bool(array[rules.BACK : rules.BACK + 2].any())


def lockstep(engine: Any, seed: int, tally: Tally) -> None:
    """Plays one hand in both by random moves, to its end or the first difference. Every other hand
    folds seldom, so that later rounds are reached."""
    hand, choose = Hand.from_seed(seed), random.Random(-seed)
    array = hand.ours(engine)
    theirs = Theirs(hand, array)
    tally.note(account(engine, array), theirs.tell(), f"{hand}")
    while not tally.difference and array[rules.TO_MOVE] >= 0:
        names = named(engine.legal(array))
        tally.capped += array[rules.RAISES + array[rules.TO_MOVE]] == rules.MOST_RAISES
        small = [name for name in names if name not in ("FOLD", "ALL_IN")]
        name = choose.choice(small if small and choose.random() < 0.8 else names)
        engine.act(array, NAMES.index(name))
        theirs.act(name)
        tally.actions += 1
        tally.note(account(engine, array), theirs.tell(), f"{hand}, {name}")
    tally.count(array)


@pytest.mark.parametrize("hands", [300, pytest.param(20_000, marks=pytest.mark.slow)])
def test_every_action_comes_to_what_pokerkit_says(
    hands: int, figure: Callable[[str], None]
) -> None:
    tally = Tally()
    for seed in range(hands):
        lockstep(rules, seed, tally)
        assert not tally.difference, tally.difference
    figure(f"hold'em in lockstep with pokerkit: {tally}")
    assert tally.hands == hands
    assert tally.actions > 4 * hands
    assert min(tally.ties, tally.uncalled, tally.short, tally.capped) > hands // 100


SLIPS = {
    "a split pot gives a chip too many to the left of the dealer": (
        "state[AWARD + 1 - state[DEALER]] = whole - whole // 2",
        "state[AWARD + 1 - state[DEALER]] = whole // 2 + 1",
    ),
    "a short all-in wins the whole bet": (
        "state[BACK + seat] = state[PAID + seat] - called",
        "state[BACK + seat] = 0 if state[SHOWN] else state[PAID + seat] - called",
    ),
    "an uncalled bet stays in the pot that is won": (
        "whole = pot(state) - state[BACK] - state[BACK + 1]",
        "whole = pot(state)",
    ),
    "an uncalled bet is lost": (
        "state[STACKS + seat] += state[BACK + seat] + state[AWARD + seat]",
        "state[STACKS + seat] += state[AWARD + seat]",
    ),
    "three raises are allowed": ("MOST_RAISES = 2", "MOST_RAISES = 3"),
    "the raises of a round count in the next": (
        "for field in range(RAISES, RAISES + 2)", "for field in range(0)",
    ),
    "a tie is the dealer's": ("-1\n    if winner < 0", "state[DEALER]\n    if winner < 0"),
    "a call is more than the stack": (
        "return int(min(chips, state[STACKS + seat]))", "return int(chips)",
    ),
    "who is all in may be raised": ("and state[STACKS + 1 - seat] > 0:", "and True:"),
    "a raise may be a call": ("cost(state, action) > lacking", "cost(state, action) >= lacking"),
    "the big blind has no option": ("if state[ACTED] == 1 and not", "if state[ACTED] == 0 and not"),
    "the dealer acts first after the flop": (
        "state[ACTED] = 0\n        state[TO_MOVE] = 1 - state[DEALER]",
        "state[ACTED] = 0\n        state[TO_MOVE] = state[DEALER]",
    ),
    "a raise of the pot leaves out this round's bets": (
        "chips = (pot(state) << (", "chips = (pot(state) - state[BETS] - state[BETS + 1] << (",
    ),
}  # fmt: skip


def planted(old: str, new: str) -> ModuleType:
    """The slipped rules, whose random numbers are made in plain Python too."""
    module = slipped(rules, old, new)
    vars(module).update(derive=lambda *event: np.uint64(compiling.derive(*event)))
    return module


def first_difference(engine: Any, hands: int) -> str:
    tally = Tally()
    for seed in range(hands):
        try:
            lockstep(engine, seed, tally)
        except ValueError as error:
            return f"pokerkit refuses: {error}"
        if tally.difference:
            return tally.difference
    return ""


@pytest.mark.parametrize("slip", SLIPS)
def test_a_planted_slip_is_caught(slip: str) -> None:
    assert first_difference(planted(*SLIPS[slip]), hands=300)


def test_the_rules_as_plain_python_are_not_taken_for_a_slip() -> None:
    assert not first_difference(planted("MOST_RAISES = 2", "MOST_RAISES = 2"), hands=20)


def test_an_odd_chip_goes_to_the_left_of_the_dealer() -> None:
    """Two players put in alike, so a pot that is split is even; here one chip too many lies in."""
    for dealer in (0, 1):
        array = Hand(3, (200, 200), (1, 2), dealer, False).ours(rules)
        array[rules.CARDS : rules.LOG] = [0, 5, 1, 4, 51, 46, 41, 36, 31]  # 2c 3d, 2d 3c: a tie
        array[rules.PAID : rules.PAID + 2] = (10, 11)
        odd = planted("whole = pot(state) - state[BACK] - state[BACK + 1]", "whole = 21")
        odd.show_down(array)
        assert array[rules.AWARD + dealer] == 10
        assert array[rules.AWARD + 1 - dealer] == 11
