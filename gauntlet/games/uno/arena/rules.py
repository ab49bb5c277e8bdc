"""UNO Arena's rules, compiled: UNO with a challenge to the wild draw four and no second shuffle.

Cards, stacks and state are those of `games.uno.rules`; three of its fields are reused (PHASE,
BEFORE, WINNERS). A turn may have several decisions, each a ply of its own: a card, the colour that
a wild names, and whether to challenge a wild draw four. The meaning of an action's number depends
on PHASE:

    CARD       15 x colour + trait plays a card, WILD and WILD_DRAW_FOUR a wild of either kind,
               DRAW draws; a card held twice is one action
    COLOUR     the colour's number
    CHALLENGE  CALL challenges, YIELD does not

Nothing is random after the deal: the order of the pile determines the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gauntlet.games.uno import rules
from gauntlet.games.uno import state as uno
from gauntlet.games.uno.rules import (
    DIRECTION,
    DRAW,
    DRAW_TWO,
    EVERY_COLOUR,
    PILE,
    PLAIN,
    PLAYED,
    PLY,
    REVERSE,
    SEATS,
    SEED,
    SKIP,
    STACK,
    TO_MOVE,
    TOP,
    TOP_BY,
    TRAIT,
    WILD,
    WILD_DRAW_FOUR,
    WILD_DRAW_FOURS,
    WILDS,
    compiled,
    hand_of,
    held_by,
    inlined,
    kind_of,
    loose_pile,
    next_card,
    pass_turn,
    push,
    settle,
    take,
    trait_of,
)


class View(NamedTuple):
    """What a seat sees, as numbers.

    table: hand, sizes, played cards, top card and options, as in UNO. phase: what has to be decided
    (`games.uno.arena.rules`). before: the colour in force before the top card. by: who played the
    top card, -1 if it was turned up. under: the kind of the card under the top card, all wilds
    counted as in `table`; -1 if there is none.
    """

    table: uno.View
    phase: int
    before: int
    by: int
    under: int


IN_FORCE = rules.COLOUR
WINNERS, PHASE, BEFORE = rules.WINNER, rules.AUTO, rules.COLOURS
"""Fields. IN_FORCE: the colour to match. WINNERS: -1 while the game goes on, then a mask of seats.
PHASE: what has to be decided. BEFORE: the colour to match before the top card."""

CARD, COLOUR, CHALLENGE = range(3)
CALL, YIELD = range(2)

HAND = 7
TWO, FOUR, SIX = 2, 4, 6
"""Cards to draw: for a draw two; for a wild draw four; for a failed challenge."""


@compiled
def deal(state: np.ndarray, seats: int, seed: int) -> None:
    """Set `state` to the initial state of the deal `seed`, from -2**63 to 2**63 - 1.

    Cards are dealt one at a time, seat 0 first, until all hold seven; then cards are turned up
    until one bears a number. The earlier ones stay under it.
    """
    deal_lazily(state, seats, seed)
    settle(state)


@compiled
def deal_lazily(state: np.ndarray, seats: int, seed: int) -> None:
    """As `deal`, with a pile as in `games.uno.rules.deal_lazily`."""
    state[:] = 0
    state[SEATS], state[SEED], state[DIRECTION] = seats, seed, 1
    state[WINNERS] = state[TOP_BY] = -1
    loose_pile(state)
    for _ in range(HAND):
        for seat in range(seats):
            push(state, hand_of(seat), next_card(state))
    turn_up(state)
    while state[TRAIT] >= SKIP:
        turn_up(state)
    state[BEFORE] = state[IN_FORCE]


@inlined
def over(state: np.ndarray) -> bool:
    return bool(state[WINNERS] >= 0)


@inlined
def legal(state: np.ndarray) -> int:
    """Return the legal actions of the seat to move, as a mask with bit `action` set."""
    if state[PHASE] == COLOUR:
        return 0b1111
    if state[PHASE] == CHALLENGE:
        return 1 << CALL | 1 << YIELD
    fitting = PLAIN << (15 * state[IN_FORCE])
    if state[TRAIT] < WILD:
        fitting |= EVERY_COLOUR << state[TRAIT]
    kinds = held_by(state, state[TO_MOVE])
    actions = kinds & fitting
    if kinds & WILDS:
        actions |= 1 << WILD
    if kinds & WILD_DRAW_FOURS:
        actions |= 1 << WILD_DRAW_FOUR
    return actions if actions else 1 << DRAW


@inlined
def step(state: np.ndarray, action: int) -> None:
    """Make a legal action, in place."""
    state[PLY] += 1
    phase = state[PHASE]
    state[PHASE] = CARD
    if phase == CARD:
        if action != DRAW:
            play_card(state, action)
        elif give(state, state[TO_MOVE], 1):
            pass_turn(state)
    elif phase == COLOUR:
        name_colour(state, action)
    else:
        answer(state, action)


@inlined
def play_card(state: np.ndarray, action: int) -> None:
    """Play a card. The last card of a hand ends the game before it has any effect."""
    seat = state[TO_MOVE]
    put(state, take(state, hand_of(seat), action), action)
    state[TOP_BY] = seat
    if state[hand_of(seat)] == 0:
        state[WINNERS] = 1 << seat
    elif action in (WILD, WILD_DRAW_FOUR):
        state[PHASE] = COLOUR
    else:
        take_effect(state, trait_of(action))


@inlined
def take_effect(state: np.ndarray, trait: int) -> None:
    """Apply a coloured card's effect on the order of play and the next seat."""
    if trait == REVERSE:
        state[DIRECTION] = -state[DIRECTION]
    pass_turn(state)
    if trait == SKIP or (trait == DRAW_TWO and give(state, state[TO_MOVE], TWO)):
        pass_turn(state)


@inlined
def name_colour(state: np.ndarray, colour: int) -> None:
    """Name the colour of the wild just played; a wild draw four may now be challenged."""
    state[IN_FORCE] = colour
    pass_turn(state)
    if state[TRAIT] == WILD_DRAW_FOUR:
        state[PHASE] = CHALLENGE


@inlined
def answer(state: np.ndarray, action: int) -> None:
    """Resolve a wild draw four. A challenge is right if its player holds the colour in force before
    it."""
    seat = state[TO_MOVE]
    if action == CALL and held_by(state, state[TOP_BY]) & PLAIN << (15 * state[BEFORE]):
        give(state, state[TOP_BY], FOUR)
    elif give(state, seat, SIX if action == CALL else FOUR):
        pass_turn(state)


@inlined
def give(state: np.ndarray, seat: int, count: int) -> bool:
    """Let `seat` draw; return whether it could. If the pile holds too few cards, the game ends."""
    if state[PILE] < count:
        state[WINNERS] = fewest(state)
        return False
    for _ in range(count):
        push(state, hand_of(seat), next_card(state))
    return True


@inlined
def fewest(state: np.ndarray) -> int:
    """Return the seats that hold the fewest cards, as a mask."""
    least, seats = STACK, 0
    for seat in range(state[SEATS]):
        size = state[hand_of(seat)]
        if size < least:
            least, seats = size, 0
        if size == least:
            seats |= 1 << seat
    return seats


@inlined
def turn_up(state: np.ndarray) -> None:
    card = next_card(state)
    put(state, card, kind_of(card))


@inlined
def put(state: np.ndarray, card: int, kind: int) -> None:
    """Put `card` on top of the played cards; a coloured one sets the colour in force. `kind` is its
    own, or the action that plays it."""
    push(state, PLAYED, card)
    state[TOP], state[TRAIT], state[BEFORE] = card, trait_of(kind), state[IN_FORCE]
    if trait_of(kind) < WILD:
        state[IN_FORCE] = kind // 15
