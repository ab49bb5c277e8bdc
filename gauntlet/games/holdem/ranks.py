"""Poker hand evaluation, compiled: the best five of five to seven cards.

A card is 4 x rank + suit, ranks from 0 (a two) to 12 (an ace). A hand is a bit mask with bit 16 x
suit + rank set for each card, so every suit has its own lane. Its worth is category << 26 | first
<< 13 | kickers, where `first` is the set of ranks that form the category (for a straight its
highest) and `kickers` the set of the other ranks that count. Of two rank sets of equal size the one
with the higher rank is the larger number, so the higher worth wins and equal worths tie.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gauntlet.games.compiling import Compiler

_compiler = Compiler(Path(__file__).parent)
compiled = _compiler.compiled
inlined = _compiler.inlined
allocating = _compiler.allocating

HIGH_CARD, PAIR, TWO_PAIR, THREE, STRAIGHT, FLUSH, FULL_HOUSE, FOUR, STRAIGHT_FLUSH = range(9)
CATEGORY, FIRST = 26, 13
"""Bit offsets of these within a worth."""

LANE = (1 << 13) - 1
TOP = np.array([0, *(1 << (ranks.bit_length() - 1) for ranks in range(1, 1 << 13))])
"""The highest rank of a set of ranks, as a set; empty for the empty set."""
COUNT = np.array([ranks.bit_count() for ranks in range(1 << 13)])
"""Number of ranks in a set."""


@inlined
def bit(card: int) -> int:
    """Return the card as a one-card hand."""
    return 1 << 16 * (card & 3) + (card >> 2)


@inlined
def worth(hand: int, size: int) -> int:
    """Return the worth of the best five cards of a hand of `size` cards, 5 to 7."""
    a, b, c, d = hand & LANE, hand >> 16 & LANE, hand >> 32 & LANE, hand >> 48 & LANE
    flush = flushed(a, b, c, d)
    if flush:
        return worth_of_flush(flush)
    ranks = a | b | c | d
    twice = size - COUNT[ranks]
    if twice < 3:
        high = top_straight(ranks)
        if high:
            return STRAIGHT << CATEGORY | high << FIRST
        if twice == 0:
            return HIGH_CARD << CATEGORY | drop_lowest(ranks, size - 5)
        even = ranks ^ a ^ b ^ c ^ d
        if even:
            category = PAIR if twice == 1 else TWO_PAIR
            return category << CATEGORY | even << FIRST | drop_lowest(ranks ^ even, size - 5)
        three = ((a & b) | (c & d)) & ((a & c) | (b & d))
        return THREE << CATEGORY | three << FIRST | drop_lowest(ranks ^ three, size - 5)
    return worth_of_many(a, b, c, d)


@inlined
def flushed(a: int, b: int, c: int, d: int) -> int:
    """Return the ranks of the suit with five or more cards; 0 if there is none."""
    if COUNT[a] > 4:
        return a
    if COUNT[b] > 4:
        return b
    if COUNT[c] > 4:
        return c
    return d if COUNT[d] > 4 else 0


@inlined
def worth_of_flush(ranks: int) -> int:
    """Five or more cards of a suit leave no room for four of a kind or a full house."""
    high = top_straight(ranks)
    if high:
        return STRAIGHT_FLUSH << CATEGORY | high << FIRST
    return FLUSH << CATEGORY | drop_lowest(ranks, COUNT[ranks] - 5)


@inlined
def worth_of_many(a: int, b: int, c: int, d: int) -> int:
    """For four ranks or fewer: no flush and no straight."""
    ranks, even = a | b | c | d, (a | b | c | d) ^ a ^ b ^ c ^ d
    four = a & b & c & d
    if four:
        return int(FOUR << CATEGORY | four << FIRST | TOP[ranks ^ four])
    three = ((a & b) | (c & d)) & ((a & c) | (b & d))
    if three:
        high = TOP[three]
        return int(FULL_HOUSE << CATEGORY | high << FIRST | TOP[even | (three ^ high)])
    pairs = drop_lowest(even, 1)
    return int(TWO_PAIR << CATEGORY | pairs << FIRST | TOP[ranks ^ pairs])


@inlined
def top_straight(ranks: int) -> int:
    """Return the highest rank of the highest straight, as a set; an ace also counts below the
    two."""
    low = ranks << 1 | ranks >> 12
    return int(TOP[low & low >> 1 & low >> 2 & low >> 3 & low >> 4] << 3)


@inlined
def drop_lowest(ranks: int, lowest: int) -> int:
    """Remove the `lowest` lowest ranks from a set; `lowest` is 0 to 2."""
    if lowest > 0:
        ranks &= ranks - 1
    if lowest > 1:
        ranks &= ranks - 1
    return ranks


@allocating
def worths(hands: np.ndarray, size: int) -> np.ndarray:
    """Return the worths of many hands of one size: int64 in, int64 out."""
    values = np.empty(len(hands), np.int64)
    for at in range(len(hands)):
        values[at] = worth(hands[at], size)
    return values


@allocating
def share(first: int, second: int, board: int, left: int) -> float:
    """Return the expected share of the pot that `first` wins against `second` at showdown, ties
    counting half: exact, over all ways to complete a board that lacks `left` cards, 0 to 5.

    first, second: hands of two cards; board: a hand of 5 - left cards.
    """
    live = np.array([bit(card) for card in range(52) if not (first | second | board) & bit(card)])
    chosen, won, boards = np.arange(left), 0, 0
    while True:
        full_board = board
        for place in range(left):
            full_board |= live[chosen[place]]
        mine, theirs = worth(first | full_board, 7), worth(second | full_board, 7)
        won += 2 if mine > theirs else 1 if mine == theirs else 0
        boards += 1
        place = left - 1
        while place >= 0 and chosen[place] == len(live) - left + place:
            place -= 1
        if place < 0:
            return won / (2 * boards)
        chosen[place] += 1
        for later in range(place + 1, left):
            chosen[later] = chosen[later - 1] + 1
