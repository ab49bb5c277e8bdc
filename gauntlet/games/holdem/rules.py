"""Heads-up no-limit hold'em, compiled: one implementation for play and for playouts.

A state is a flat int64 array of the fields named below. Chips are integers. The deal's seed
determines all cards: hand h of a match has the same cards whatever was played before. Seat 0 deals
the first hand, then the seats alternate; the dealer posts the small blind and acts first before the
flop, the other seat after it.

Source of the eight actions and their cost: TALAGA (OpenReview iS3fQooCaa), appendix B, for PAPER,
and neuron_poker, which it names, for NEURON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gauntlet.games.base import Action
from gauntlet.games.compiling import ArrayState, below, derive
from gauntlet.games.holdem.ranks import bit, compiled, inlined, worth

FOLD, CHECK, CALL, RAISE_3BB, RAISE_HALF_POT, RAISE_POT, RAISE_2POT, ALL_IN = range(8)
ACTIONS = 8
MATCH, RESET = range(2)
"""How hands follow each other: until one seat has all chips, or each with fresh stacks."""
PAPER, NEURON = range(2)
"""The meaning of a share of the pot: the bet to raise to, or the chips to add."""
MOST_RAISES = 2
"""Per seat and betting round."""
PREFLOP, FLOP, TURN, RIVER = range(4)

SEED, PLAY, HANDS, STACK, SMALL, BIG, MODE, PAPER_BUGS = range(8)
"""Settings. HANDS: number of hands, the maximum in a match. PAPER_BUGS: 1 if seat 0 wins ties."""
HAND, DEALER, TO_MOVE, STREET, PLY, ACTED, SHOWN, TIES, WON = range(8, 17)
"""Fields. TO_MOVE: -1 once the hand is over. PLY, ACTED: actions in this hand, in this betting
round. SHOWN: 1 after a showdown. TIES: hands without a single winner. WON: chips that seat 0 has
won in finished hands."""
STACKS, BETS, PAID, RAISES, WINS, AWARD, BACK = range(17, 31, 2)
"""One cell per seat. BETS: chips put in during this betting round. PAID: during this hand. RAISES:
number in this betting round. WINS: hands won. AWARD: the payout of the finished hand. BACK: its
uncalled chips."""
CARDS = 31
BOARD = CARDS + 4
LOG = BOARD + 5
"""CARDS: two of seat 0, two of seat 1, the five of the board. LOG: the actions of this hand."""
LONGEST = 32
"""Exceeds the number of actions in a hand: 6 per betting round."""
SIZE = LOG + LONGEST

CARD_EVENT = 0


def blank() -> np.ndarray:
    """Return a zeroed state."""
    return np.zeros(SIZE, np.int64)


def hole_slice(seat: int) -> slice:
    return slice(CARDS + 2 * seat, CARDS + 2 * seat + 2)


@inlined
def copy(state: np.ndarray, into: np.ndarray) -> None:
    """As `into[:] = state`, for which numba also generates code for overlapping arrays."""
    for field in range(SIZE):
        into[field] = state[field]


@compiled
def deal(state: np.ndarray, seed: int) -> None:
    """Set `state`, which holds its settings, to the first decision of the deal `seed`."""
    begin(state, seed)
    go_on(state)


@compiled
def begin(state: np.ndarray, seed: int) -> None:
    """Reset `state`, which holds its settings, to before the first hand is dealt."""
    state[SEED] = seed
    for field in range(HAND, SIZE):
        state[field] = 0
    state[HAND], state[TO_MOVE] = -1, -1
    state[STACKS] = state[STACKS + 1] = state[STACK]


@inlined
def over(state: np.ndarray) -> bool:
    return bool(state[TO_MOVE] < 0)


@compiled
def step(state: np.ndarray, action: int) -> None:
    """Make a legal action, in place, and deal the next hand if this one is over."""
    act(state, action)
    go_on(state)


@inlined
def go_on(state: np.ndarray) -> None:
    """Deal hands until there is a decision to make or the match is over."""
    while state[TO_MOVE] < 0 and another_hand(state):
        next_hand(state)


@inlined
def another_hand(state: np.ndarray) -> bool:
    """Return whether a hand follows the one that is over."""
    broke = state[PLAY] == MATCH and (state[STACKS] == 0 or state[STACKS + 1] == 0)
    return bool(not broke and state[HAND] + 1 < state[HANDS])


@compiled
def next_hand(state: np.ndarray) -> None:
    """Deal the next hand and post its blinds, which alone may end it."""
    state[HAND] += 1
    state[DEALER] = state[HAND] % 2
    if state[PLAY] == RESET:
        state[STACKS] = state[STACKS + 1] = state[STACK]
    key, used, drawn = derive(state[SEED], CARD_EVENT, state[HAND]), 0, 0
    for place in range(CARDS, LOG):
        card, drawn = draw(used, key, drawn)
        used |= bit(card)
        state[place] = card
    post(state)


@inlined
def draw(used: int, key: np.uint64, count: int) -> tuple[int, int]:
    """Return a card not in the hand `used`, by the random numbers under `key` from number `count`
    on, and the next number."""
    card = below(52, key, count)
    while used & bit(card):
        count += 1
        card = below(52, key, count)
    return card, count + 1


@compiled
def post(state: np.ndarray) -> None:
    """Start the hand whose cards and stacks are set: post the blinds, as far as stacks allow."""
    for field in range(BETS, WINS):
        state[field] = 0
    for field in range(AWARD, CARDS):
        state[field] = 0
    state[STREET] = state[PLY] = state[ACTED] = state[SHOWN] = 0
    dealer = state[DEALER]
    put(state, dealer, min(state[SMALL], state[STACKS + dealer]))
    put(state, 1 - dealer, min(state[BIG], state[STACKS + 1 - dealer]))
    state[TO_MOVE] = dealer
    covered = state[BETS + dealer] >= state[BETS + 1 - dealer]
    if state[STACKS + dealer] == 0 or (state[STACKS + 1 - dealer] == 0 and covered):
        show_down(state)


@inlined
def put(state: np.ndarray, seat: int, chips: int) -> None:
    """Move chips of a seat into the pot."""
    state[STACKS + seat] -= chips
    state[BETS + seat] += chips
    state[PAID + seat] += chips


@inlined
def pot(state: np.ndarray) -> int:
    """Return all chips put in, including this betting round's."""
    return int(state[PAID] + state[PAID + 1])


@inlined
def to_call(state: np.ndarray) -> int:
    """Return the chips that the seat to move needs to match the other's bet; its stack may be
    smaller."""
    seat = state[TO_MOVE]
    return int(state[BETS + 1 - seat] - state[BETS + seat])


@inlined
def cost(state: np.ndarray, action: int) -> int:
    """Return the chips that an action of the seat to move adds, capped by its stack. For a raise it
    is the nominal amount, which may be too small to be legal."""
    seat = state[TO_MOVE]
    if action < CALL:
        return 0
    chips = state[STACKS + seat]
    if action == CALL:
        chips = to_call(state)
    elif action == RAISE_3BB:
        chips = 3 * state[BIG] - state[BETS + seat]
    elif action < ALL_IN:
        chips = (pot(state) << (action - RAISE_HALF_POT)) // 2
        if state[MODE] == PAPER:
            chips -= state[BETS + seat]
    return int(min(chips, state[STACKS + seat]))


@inlined
def legal(state: np.ndarray) -> int:
    """Return the legal actions of the seat to move, as a mask with bit `action` set.

    A raise must put in more than a call, the other seat must have chips left to answer it, and at
    most MOST_RAISES are allowed.
    """
    seat, lacking = state[TO_MOVE], to_call(state)
    actions = 1 << FOLD | 1 << CALL if lacking > 0 else 1 << CHECK
    if state[RAISES + seat] < MOST_RAISES and state[STACKS + 1 - seat] > 0:
        for action in range(RAISE_3BB, ACTIONS):
            if cost(state, action) > lacking:
                actions |= 1 << action
    return actions


@compiled
def act(state: np.ndarray, action: int) -> None:
    """Make a legal action, in place, up to the end of its hand."""
    seat = state[TO_MOVE]
    state[LOG + state[PLY]] = action
    state[PLY] += 1
    state[ACTED] += 1
    if action == FOLD:
        finish(state, 1 - seat)
        return
    put(state, seat, cost(state, action))
    if action > CALL:
        state[RAISES + seat] += 1
        state[TO_MOVE] = 1 - seat
        return
    all_in = state[STACKS] == 0 or state[STACKS + 1] == 0
    if state[ACTED] == 1 and not all_in:
        state[TO_MOVE] = 1 - seat
    elif all_in or state[STREET] == RIVER:
        show_down(state)
    else:
        state[STREET] += 1
        for field in range(BETS, BETS + 2):
            state[field] = 0
        for field in range(RAISES, RAISES + 2):
            state[field] = 0
        state[ACTED] = 0
        state[TO_MOVE] = 1 - state[DEALER]


@inlined
def hole(state: np.ndarray, seat: int) -> int:
    return bit(state[CARDS + 2 * seat]) | bit(state[CARDS + 2 * seat + 1])


@inlined
def board(state: np.ndarray, count: int) -> int:
    """Return the first `count` cards of the board, as a hand."""
    cards = 0
    for place in range(BOARD, BOARD + count):
        cards |= bit(state[place])
    return cards


@inlined
def faceup(street: int) -> int:
    """Return how many board cards are face up in a betting round."""
    return street + 2 if street else 0


@compiled
def show_down(state: np.ndarray) -> None:
    table = board(state, 5)
    first, second = worth(hole(state, 0) | table, 7), worth(hole(state, 1) | table, 7)
    state[SHOWN] = 1
    winner = 0 if first > second else 1 if second > first else -1
    if winner < 0 and state[PAPER_BUGS]:
        winner = 0
    finish(state, winner)


@inlined
def finish(state: np.ndarray, winner: int) -> None:
    """End the hand: uncalled chips go back, and the pot goes to `winner`; if that is -1 it is
    split, with an odd chip for the seat left of the dealer."""
    called = min(state[PAID], state[PAID + 1])
    for seat in range(2):
        state[BACK + seat] = state[PAID + seat] - called
    total = pot(state) - state[BACK] - state[BACK + 1]
    if winner >= 0:
        state[AWARD + winner] = total
        state[WINS + winner] += 1
    else:
        state[AWARD + state[DEALER]] = total // 2
        state[AWARD + 1 - state[DEALER]] = total - total // 2
        state[TIES] += 1
    for seat in range(2):
        state[STACKS + seat] += state[BACK + seat] + state[AWARD + seat]
    state[WON] += state[AWARD] + state[BACK] - state[PAID]
    state[TO_MOVE] = -1


@dataclass(frozen=True, slots=True, eq=False)
class State(ArrayState):
    """A state with the array of `games.holdem.rules`.

    start: how many clauses of the history belong to earlier hands.
    """

    start: int = 0


class View(NamedTuple):
    """What a seat sees, as numbers.

    cells: the state's array, with -1 for every card it does not see and 0 for the seed.
    start: as in `State`. options: the legal actions, in the game's order.
    """

    seat: int
    cells: tuple[int, ...]
    start: int
    options: tuple[Action, ...]


def seen_by(array: np.ndarray, seat: int) -> np.ndarray:
    """Return the array with everything that `seat` does not see masked."""
    view = array.copy()
    view[SEED] = 0
    view[hole_slice(1 - seat)] = -1
    view[BOARD + faceup(array.item(STREET)) : LOG] = -1
    return view
