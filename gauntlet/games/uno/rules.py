"""UNO as RLCard 1.2.0 plays it, compiled: one implementation for play and for playouts.

A state is a flat int64 array: the fields named below, then the pile, the played cards and the
hands, each a stack of cards preceded by its size. An action is RLCard's number: 15 x colour + trait
for a card (colours red, green, blue, yellow; traits 0 to 9, skip, reverse, draw two, wild, wild
draw four; the colour of a wild is the one it names), and 60 to draw. A card is the number of its
kind, numbered the same way, plus 64 for the second copy. So all 108 cards differ; a wild card's own
colour only distinguishes the four wild cards.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gauntlet.games.compiling import Compiler, below, derive, lowest, shuffle

_compiler = Compiler(Path(__file__).parent)
compiled = _compiler.compiled
inlined = _compiler.inlined
cached = _compiler.cached
allocating = _compiler.allocating

SKIP, REVERSE, DRAW_TWO, WILD, WILD_DRAW_FOUR = range(10, 15)
DRAW = 60
ACTIONS = 61
PLY_CAP = 5000
"""A game that reaches this many plies ends without a winner."""

SEATS, SEED, TO_MOVE, DIRECTION, PLY, WINNER = range(6)
TOP, COLOUR, TOP_BY, AUTO, SHUFFLES, COLOURS = range(6, 12)
LOOSE, ORDER, TRAIT = 12, 13, 14
"""Fields. WINNER: -1 while there is none. TOP: the card to match. COLOUR: the colour to match.
TOP_BY: who played it, -1 if it was turned up. AUTO: 1 if the last move was a draw that played
itself. SHUFFLES, COLOURS: how often the pile was shuffled and a colour was drawn at random. LOOSE:
how many cards at the bottom of the pile are still to be shuffled, by the key ORDER. TRAIT: that of
TOP, which is known from the action before the card is found; stored separately because the next
turn waits for it."""

LANES = 8
"""Number of cards of a hand examined per iteration, without a bounds check."""

CARDS = 108
STACK = 1 + CARDS + LANES
PILE = 15
PLAYED = PILE + STACK
HANDS = PLAYED + STACK

PLAIN = (1 << WILD) - 1
EVERY_COLOUR = 1 | 1 << 15 | 1 << 30 | 1 << 45
WILDS = EVERY_COLOUR << WILD
WILD_DRAW_FOURS = EVERY_COLOUR << WILD_DRAW_FOUR

SHUFFLE_EVENT, COLOUR_EVENT = range(2)

DECK = np.array(
    [
        15 * colour + trait + 64 * copy
        for colour in range(4)
        for trait in range(15)
        for copy in range(1 if trait == 0 or trait >= WILD else 2)
    ]
)
assert len(DECK) == CARDS


@inlined
def kind_of(card: int) -> int:
    return card & 63


@inlined
def trait_of(card: int) -> int:
    return (card & 63) % 15


@inlined
def hand_of(seat: int) -> int:
    """Return the offset of the hand of `seat` in a state."""
    return HANDS + STACK * (seat & 15)


@inlined
def mover(state: np.ndarray) -> int:
    """Return the seat to move. The mask is a no-op that tells the compiler that the index is not
    negative."""
    return int(state[TO_MOVE] & 15)


@inlined
def size_of(state: np.ndarray, stack: int) -> int:
    return int(state[stack] & 127)


@inlined
def push(state: np.ndarray, stack: int, card: int) -> None:
    size = size_of(state, stack) + 1
    state[stack] = size
    state[stack + size] = card


@allocating
def blank(seats: int) -> np.ndarray:
    """Return a zeroed state for `seats` players."""
    return np.zeros(HANDS + STACK * seats, np.int64)


@inlined
def copy(source: np.ndarray, target: np.ndarray) -> None:
    """As `target[:] = source`, which is several times slower and would need an allocating
    function."""
    for at in range(len(source)):
        target[at] = source[at]


@compiled
def deal(state: np.ndarray, seats: int, seed: int) -> None:
    """Set `state` to the initial state of the deal `seed`, from -2**63 to 2**63 - 1.

    Seven cards each from the end of the pile, seat 0 first; then a card is turned up. A wild draw
    four goes back into the pile, a wild takes a random colour, a skip skips seat 0, a reverse lets
    the last seat begin, and a draw two is drawn by seat 0, who still begins.
    """
    deal_lazily(state, seats, seed)
    settle(state)


@compiled
def deal_lazily(state: np.ndarray, seats: int, seed: int) -> None:
    """As `deal`, but the pile is shuffled from its end on as cards are drawn: the same cards, with
    less work when a game leaves most of them there."""
    for field in range(PILE):
        state[field] = 0
    for stack in range(PILE, len(state), STACK):
        state[stack] = 0
    state[SEATS], state[SEED], state[DIRECTION] = seats, seed, 1
    state[WINNER] = state[TOP_BY] = -1
    loose_pile(state)
    for seat in range(seats):
        draw_cards(state, seat, 7)
    card = next_card(state)
    while trait_of(card) == WILD_DRAW_FOUR:
        reshuffle(state)
        card = next_card(state)
    trait = trait_of(card)
    colour = chance_colour(state) if trait == WILD else kind_of(card) // 15
    lay(state, card, trait, colour, -1)
    if trait == SKIP:
        state[TO_MOVE] = 1
    elif trait == REVERSE:
        state[DIRECTION] = -1
        state[TO_MOVE] = seats - 1
    elif trait == DRAW_TWO:
        draw_cards(state, 0, 2)


@inlined
def over(state: np.ndarray) -> bool:
    return bool(state[WINNER] >= 0 or state[PLY] >= PLY_CAP)


@inlined
def legal(state: np.ndarray) -> int:
    """Return the legal actions of the seat to move, as a mask with bit `action` set."""
    return legal_mask(held_by(state, state[TO_MOVE]), state[COLOUR], state[TRAIT])


@inlined
def held_by(state: np.ndarray, seat: int) -> int:
    """Return the kinds of cards in a hand, as a mask."""
    kinds = 0
    hand = hand_of(seat)
    size = size_of(state, hand)
    for start in range(0, size, LANES):
        for number in range(LANES):
            kind = kind_of(state[hand + 1 + start + number])
            kinds |= int(start + number < size) << kind
    return kinds


@inlined
def legal_mask(kinds: int, colour: int, trait: int) -> int:
    """Return the legal actions of a hand, a mask of kinds, on a colour and a top card's trait."""
    fitting = PLAIN << (15 * colour)
    if trait < WILD:
        fitting |= EVERY_COLOUR << trait
    actions = kinds & fitting | (WILDS if kinds & WILDS else 0)
    if actions == 0 and kinds & WILD_DRAW_FOURS:
        actions = WILD_DRAW_FOURS
    return actions if actions else 1 << DRAW


@inlined
def step(state: np.ndarray, action: int) -> None:
    """Make a legal action, in place."""
    state[PLY] += 1
    state[AUTO] = 0
    take_effect(state, draw(state) if action == DRAW else play(state, action))


@inlined
def play(state: np.ndarray, action: int) -> int:
    """Play a card from the hand; return the trait that takes effect."""
    seat, trait = state[TO_MOVE], trait_of(action)
    lay(state, take(state, hand_of(seat), action), trait, kind_of(action) // 15, seat)
    if state[hand_of(seat)] == 0:
        state[WINNER] = seat
    return trait


@inlined
def draw(state: np.ndarray) -> int:
    """Draw one card; return the trait that takes effect, 0 if none. A wild plays itself in a random
    colour without effect on the next player; a card of the colour to match plays itself; any other
    is kept."""
    if state[PILE] == 0:
        reshuffle(state)
    if state[PILE] == 0:
        return 0
    seat = state[TO_MOVE]
    card = next_card(state)
    wild = trait_of(card) >= WILD
    if not wild and kind_of(card) // 15 != state[COLOUR]:
        push(state, hand_of(seat), card)
        return 0
    state[AUTO] = 1
    lay(state, card, trait_of(card), chance_colour(state) if wild else state[COLOUR], seat)
    return WILD if wild else trait_of(card)


@inlined
def take_effect(state: np.ndarray, trait: int) -> None:
    """Apply the effect of a card just played on the order of play and the next seat."""
    state[DIRECTION] = -state[DIRECTION] if trait == REVERSE else state[DIRECTION]
    pass_turn(state)
    if trait == DRAW_TWO:
        draw_cards(state, state[TO_MOVE], 2)
    elif trait == WILD_DRAW_FOUR:
        draw_cards(state, state[TO_MOVE], 4)
    if trait in (SKIP, DRAW_TWO, WILD_DRAW_FOUR):
        pass_turn(state)


@inlined
def pass_turn(state: np.ndarray) -> None:
    seat, seats = state[TO_MOVE] + state[DIRECTION], state[SEATS]
    if seat < 0:
        seat = seats - 1
    elif seat == seats:
        seat = 0
    state[TO_MOVE] = seat


@compiled
def draw_cards(state: np.ndarray, seat: int, count: int) -> None:
    """Give `seat` cards from the pile, or what there is if even a reshuffle leaves fewer."""
    if state[PILE] < count:
        reshuffle(state)
    for _ in range(min(count, state[PILE])):
        push(state, hand_of(seat), next_card(state))


@inlined
def lay(state: np.ndarray, card: int, trait: int, colour: int, seat: int) -> None:
    """Put `card` on top of the played cards; `trait` is its own, and `colour` the one to match from
    now on."""
    push(state, PLAYED, card)
    state[TOP], state[TRAIT], state[COLOUR], state[TOP_BY] = card, trait, colour, seat


@inlined
def take(state: np.ndarray, hand: int, action: int) -> int:
    """Remove the first card in `hand` that `action` plays and close the gap."""
    place = place_of(state, hand, action)
    card = state[place]
    size = size_of(state, hand)
    for start in range(place - hand, size, LANES):
        gap = hand + (start & 127)
        for number in range(LANES):
            state[gap + number] = state[gap + number + 1]
    state[hand] = size - 1
    return int(card)


@inlined
def place_of(state: np.ndarray, hand: int, action: int) -> int:
    """Return the place of the first card in a hand that `action` plays."""
    kinds = kinds_of(action)
    for start in range(1, CARDS, LANES):
        fitting = 0
        for number in range(LANES):
            fitting |= (kinds >> kind_of(state[hand + start + number]) & 1) << number
        if fitting:
            return int(hand + (start + lowest(fitting) & 127))
    return hand


@inlined
def kinds_of(action: int) -> int:
    """Return the kinds that an action can play, as a mask."""
    kinds = 1 << kind_of(action)
    if kinds & WILDS:
        kinds = WILDS
    if kinds & WILD_DRAW_FOURS:
        kinds = WILD_DRAW_FOURS
    return kinds


@inlined
def plays(action: int, card: int) -> bool:
    trait = action % 15
    return trait == trait_of(card) if trait >= WILD else action == kind_of(card)


@inlined
def chance_colour(state: np.ndarray) -> int:
    """Return the next random colour of this deal."""
    count = state[COLOURS]
    state[COLOURS] += 1
    return below(4, derive(state[SEED], COLOUR_EVENT, count), 0)


@compiled
def reshuffle(state: np.ndarray) -> None:
    """Shuffle all cards that are in nobody's hand, including the top card, into a new pile.

    The order is that of a whole deck shuffled for this event, minus the cards in hands. So two
    cards in the new pile are in the same order however play went.
    """
    first = second = 0
    for seat in range(state[SEATS]):
        hand = hand_of(seat)
        for place in range(hand + 1, hand + 1 + state[hand]):
            if state[place] < 64:
                first |= 1 << kind_of(state[place])
            else:
                second |= 1 << kind_of(state[place])
    whole_pile(state)
    state[PILE] = state[PLAYED] = 0
    for place in range(PILE + 1, PILE + 1 + CARDS):
        held = first if state[place] < 64 else second
        if not held >> kind_of(state[place]) & 1:
            push(state, PILE, state[place])


@inlined
def next_card(state: np.ndarray) -> int:
    """Take the next card from the pile."""
    size = size_of(state, PILE)
    card = state[PILE + size]
    if state[LOOSE] == size:
        other = PILE + 1 + below(size, np.uint64(state[ORDER]), size - 1)
        last, card = card, state[other]
        state[other], state[PILE + size] = last, card
        state[LOOSE] = size - 1
    state[PILE] = size - 1
    return int(card)


@inlined
def whole_pile(state: np.ndarray) -> None:
    """Make the whole deck the pile, shuffled by the next shuffle of this deal."""
    loose_pile(state)
    settle(state)


@inlined
def loose_pile(state: np.ndarray) -> None:
    """As `whole_pile`, not yet shuffled."""
    for place in range(CARDS):
        state[PILE + 1 + place] = DECK[place]
    state[PILE] = state[LOOSE] = CARDS
    state[ORDER] = np.int64(derive(state[SEED], SHUFFLE_EVENT, state[SHUFFLES]))
    state[SHUFFLES] += 1


@inlined
def loosen(state: np.ndarray, key: np.uint64) -> None:
    """Mark the pile to be shuffled by this key as its cards are drawn."""
    state[LOOSE], state[ORDER] = state[PILE], np.int64(key)


@compiled
def settle(state: np.ndarray) -> None:
    """Shuffle the loose part of the pile."""
    shuffle(state, PILE + 1, state[LOOSE], np.uint64(state[ORDER]))
    state[LOOSE] = 0
