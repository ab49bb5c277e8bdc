"""Hold'em against pokerkit 0.7.7, action by action.

pokerkit gets our cards and no minimum raise, since the paper gives none. After every action stacks,
bets, pot, seat to move and legal actions must be equal, and at the end the winner of the pot; the
cost of a raise is computed here, from pokerkit's own chips.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from pokerkit import Automation, ChipsPushing, NoLimitTexasHoldem

from gauntlet.games.holdem import rules
from gauntlet.games.holdem.words import NAMES, cards
from tests.games.slips import caught, planted

AUTOMATIC = (
    *(Automation.ANTE_POSTING, Automation.BET_COLLECTION, Automation.BLIND_OR_STRADDLE_POSTING),
    *(Automation.HOLE_CARDS_SHOWING_OR_MUCKING, Automation.HAND_KILLING),
    *(Automation.CHIPS_PUSHING, Automation.CHIPS_PULLING),
)
SHARES = {"RAISE_HALF_POT": 0.5, "RAISE_POT": 1, "RAISE_2POT": 2}


@dataclass
class Hand:
    """One hand to play: chips of both seats, blinds, the dealer and the raise mode."""

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
        array[rules.PLAY : rules.PAPER_BUGS] = (
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
        """Return the bet of a raise, by appendix B of the paper or by neuron_poker."""
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


def lockstep(engine: Any, seed: int) -> Counter[str]:
    """Play one hand in both by random moves; return the outcome. Fails if they differ. Every other
    hand folds seldom, so that later rounds are reached."""
    hand, choose, tally = Hand.from_seed(seed), random.Random(-seed), Counter(hands=1)
    array = hand.ours(engine)
    theirs = Theirs(hand, array)
    assert account(engine, array) == theirs.tell(), f"{hand}"
    while array[rules.TO_MOVE] >= 0:
        names = named(engine.legal(array))
        tally["capped"] += array[rules.RAISES + array[rules.TO_MOVE]] == rules.MOST_RAISES
        small = [name for name in names if name not in ("FOLD", "ALL_IN")]
        name = choose.choice(small if small and choose.random() < 0.8 else names)
        engine.act(array, NAMES.index(name))
        theirs.act(name)
        tally["actions"] += 1
        assert account(engine, array) == theirs.tell(), f"{hand}, {name}"
    back = bool(array[rules.BACK : rules.BACK + 2].any())
    tally["ties"] += array.item(rules.TIES)
    tally["uncalled"] += back
    tally["short"] += array.item(rules.SHOWN) and back
    return tally


@pytest.mark.parametrize("hands", [300, pytest.param(20_000, marks=pytest.mark.slow)])
def test_every_action_comes_to_what_pokerkit_says(
    hands: int, figure: Callable[[str], None]
) -> None:
    tally = sum((lockstep(rules, seed) for seed in range(hands)), Counter())
    figure(f"hold'em in lockstep with pokerkit: {dict(tally)}")
    assert tally["hands"] == hands
    assert tally["actions"] > 4 * hands
    assert min(tally[what] for what in ("ties", "uncalled", "short", "capped")) > hands // 100


SLIPS = {
    "a short all-in wins the whole bet": (
        "state[BACK + seat] = state[PAID + seat] - called",
        "state[BACK + seat] = 0 if state[SHOWN] else state[PAID + seat] - called",
    ),
    "an uncalled bet is lost": (
        "state[STACKS + seat] += state[BACK + seat] + state[AWARD + seat]",
        "state[STACKS + seat] += state[AWARD + seat]",
    ),
    "three raises are allowed": ("MOST_RAISES = 2", "MOST_RAISES = 3"),
    "a tie is the dealer's": ("-1\n    if winner < 0", "state[DEALER]\n    if winner < 0"),
    "a raise may be a call": ("cost(state, action) > lacking", "cost(state, action) >= lacking"),
    "the dealer acts first after the flop": (
        "state[ACTED] = 0\n        state[TO_MOVE] = 1 - state[DEALER]",
        "state[ACTED] = 0\n        state[TO_MOVE] = state[DEALER]",
    ),
    "a raise of the pot leaves out this round's bets": (
        "chips = (pot(state) << (", "chips = (pot(state) - state[BETS] - state[BETS + 1] << (",
    ),
}  # fmt: skip


@pytest.mark.parametrize("slip", SLIPS)
def test_a_planted_slip_is_caught(slip: str) -> None:
    assert caught(lockstep, planted(rules, *SLIPS[slip]), games=300)


def test_the_rules_as_plain_python_are_not_taken_for_a_slip() -> None:
    assert not caught(lockstep, planted(rules, "MOST_RAISES = 2", "MOST_RAISES = 2"), games=20)
