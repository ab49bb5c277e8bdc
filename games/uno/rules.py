"""UNO as RLCard 1.2.0 plays it, compiled: the one implementation, for play and for playouts.

A state is one flat int64 array: the fields named below, then the pile, the played cards and the
hands, each a stack of cards led by its size. An action is RLCard's number: 15 x colour + trait
for a card (colours red, green, blue, yellow; traits 0 to 9, skip, reverse, draw two, wild, wild
draw four; the colour of a wild is the one it names), and 60 to draw. A card is the number of its
kind, counted alike, plus 64 for the second copy. So all 108 cards differ; a wild card's own
colour only tells the four wild cards apart.
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
"""A game that lasts this many plies ends without a winner."""

SEATS, SEED, TO_MOVE, DIRECTION, PLY, WINNER = range(6)
TOP, COLOUR, TOP_BY, AUTO, SHUFFLES, COLOURS = range(6, 12)
LOOSE, ORDER, TRAIT = 12, 13, 14
"""Fields. WINNER: -1 while there is none. TOP: the card to match. COLOUR: the colour to match.
TOP_BY: who played it, -1 if it was turned up. AUTO: 1 if the last move was a draw that played
itself. SHUFFLES, COLOURS: how often the pile was shuffled and chance named a colour.
LOOSE: how many cards at the bottom of the pile are still to be shuffled, by the key ORDER.
TRAIT: that of TOP, known from an action before its card is found: the next turn waits for it."""

LANES = 8
"""How many cards of a hand are looked at side by side, without asking where the hand ends."""

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
    """Where the hand of `seat` lies in a state."""
    return HANDS + STACK * (seat & 15)


@inlined
def mover(state: np.ndarray) -> int:
    """The seat to move. It is below 16 anyway, but the compiler then knows that it indexes from
    the front."""
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
    """Room for a state of `seats` players."""
    return np.zeros(HANDS + STACK * seats, np.int64)


@inlined
def copy(source: np.ndarray, target: np.ndarray) -> None:
    """As `target[:] = source`, which takes several times as long and would need an
    allocating function."""
    for at in range(len(source)):
        target[at] = source[at]


@compiled
def deal(state: np.ndarray, seats: int, seed: int) -> None:
    """Makes `state` the first state of the deal `seed`, from -2**63 to 2**63 - 1.

    Seven cards each from the end of the pile, seat 0 first; then a card is turned up. A wild
    draw four goes back into the pile, a wild takes a random colour, a skip passes over seat 0, a
    reverse lets the last seat begin, and a draw two is drawn by seat 0, who still begins.
    """
    deal_lazily(state, seats, seed)
    settle(state)


@compiled
def deal_lazily(state: np.ndarray, seats: int, seed: int) -> None:
    """As `deal`, but the pile is shuffled from its end on while cards are drawn from it: the same
    cards, and less to do where a game leaves most of them there."""
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
    """The legal actions of the seat to move, as a mask with bit `action` set."""
    return allowed(held_by(state, state[TO_MOVE]), state[COLOUR], state[TRAIT])


@inlined
def held_by(state: np.ndarray, seat: int) -> int:
    """The kinds of cards in a hand, as a mask."""
    held = 0
    hand = hand_of(seat)
    size = size_of(state, hand)
    for start in range(0, size, LANES):
        for number in range(LANES):
            kind = kind_of(state[hand + 1 + start + number])
            held |= int(start + number < size) << kind
    return held


@inlined
def allowed(held: int, colour: int, trait: int) -> int:
    """The legal actions of a hand, a mask of kinds, on a colour and a top card's trait."""
    fitting = PLAIN << (15 * colour)
    if trait < WILD:
        fitting |= EVERY_COLOUR << trait
    actions = held & fitting | (WILDS if held & WILDS else 0)
    if actions == 0 and held & WILD_DRAW_FOURS:
        actions = WILD_DRAW_FOURS
    return actions if actions else 1 << DRAW


@inlined
def step(state: np.ndarray, action: int) -> None:
    """Makes a legal action, in place."""
    state[PLY] += 1
    state[AUTO] = 0
    take_effect(state, draw(state) if action == DRAW else play(state, action))


@inlined
def play(state: np.ndarray, action: int) -> int:
    """Plays a card from the hand; the trait that is to take effect."""
    seat, trait = state[TO_MOVE], trait_of(action)
    lay(state, take(state, hand_of(seat), action), trait, kind_of(action) // 15, seat)
    if state[hand_of(seat)] == 0:
        state[WINNER] = seat
    return trait


@inlined
def draw(state: np.ndarray) -> int:
    """Draws one card; the trait that is to take effect, 0 if none. A wild plays itself in a random
    colour and without effect on the next player; a card of the top card's colour plays itself; any
    other is kept."""
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
    """What a card just played does to the order of play and to the next seat."""
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
    """Gives `seat` cards from the pile, or what there is where even a reshuffle leaves fewer."""
    if state[PILE] < count:
        reshuffle(state)
    for _ in range(min(count, state[PILE])):
        push(state, hand_of(seat), next_card(state))


@inlined
def lay(state: np.ndarray, card: int, trait: int, colour: int, seat: int) -> None:
    """Puts `card` on top of the played cards; `trait` is its own, and `colour` the one to match
    from now on."""
    push(state, PLAYED, card)
    state[TOP], state[TRAIT], state[COLOUR], state[TOP_BY] = card, trait, colour, seat


@inlined
def take(state: np.ndarray, hand: int, action: int) -> int:
    """Removes the first card in `hand` that `action` plays and closes the gap."""
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
    """Where the first card lies in a hand that `action` plays."""
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
    """The kinds that an action can play, as a mask."""
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
    """The next colour that chance names in this deal."""
    count = state[COLOURS]
    state[COLOURS] += 1
    return below(4, derive(state[SEED], COLOUR_EVENT, count), 0)


@compiled
def reshuffle(state: np.ndarray) -> None:
    """Shuffles all cards that are in nobody's hand, the top card included, into a new pile.

    The order is that of a whole deck shuffled for this event, less the cards in hands. So two
    cards that are both in the new pile lie in the same order however play went.
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
    """Takes the next card from the pile."""
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
    """Makes the whole deck the pile, shuffled by the next shuffle of this deal."""
    loose_pile(state)
    settle(state)


@inlined
def loose_pile(state: np.ndarray) -> None:
    """As `whole_pile`, still to be shuffled."""
    for place in range(CARDS):
        state[PILE + 1 + place] = DECK[place]
    state[PILE] = state[LOOSE] = CARDS
    state[ORDER] = np.int64(derive(state[SEED], SHUFFLE_EVENT, state[SHUFFLES]))
    state[SHUFFLES] += 1


@inlined
def loosen(state: np.ndarray, key: np.uint64) -> None:
    """Has the pile shuffled by this key, as its cards are drawn."""
    state[LOOSE], state[ORDER] = state[PILE], np.int64(key)


@compiled
def settle(state: np.ndarray) -> None:
    """Shuffles what is loose in the pile."""
    shuffle(state, PILE + 1, state[LOOSE], np.uint64(state[ORDER]))
    state[LOOSE] = 0
