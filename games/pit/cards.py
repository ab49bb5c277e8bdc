"""Pit's cards, hands and lots.

A hand is six counts: of the four commodities, of the bull and of the bear. A lot is what goes from
hand to hand in a trade: one to four cards of one commodity, among which the bull or the bear may be
hidden, or one of these two alone. It is told by its index in `LOTS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

COMMODITIES = ("barley", "corn", "soybeans", "wheat")
VALUES = (85, 75, 55, 100)
"""Points for a corner of each."""
EACH = 9
"""Cards of each commodity."""
BULL, BEAR = 4, 5
PENALTY = 20
"""Points that a bear costs, and a bull that did not help."""
LARGEST = 4
"""Cards in a lot, at most."""

Hand = tuple[int, ...]

DECK = (*(kind for kind in range(4) for _ in range(EACH)), BULL, BEAR)


def _lots() -> tuple[Hand, ...]:
    lots = []
    for beside in (None, BULL, BEAR):
        for kind in range(4):
            for cards in range(1, LARGEST + 1 - (beside is not None)):
                lot = [0] * 6
                lot[kind] = cards
                if beside is not None:
                    lot[beside] = 1
                lots.append(tuple(lot))
    return (*lots, (0, 0, 0, 0, 1, 0), (0, 0, 0, 0, 0, 1))


LOTS = _lots()
SIZES = tuple(map(sum, LOTS))


@cache
def lots_of(hand: Hand) -> tuple[int, ...]:
    """The lots that can be taken from a hand."""
    return tuple(
        index
        for index, lot in enumerate(LOTS)
        if all(wanted <= held for wanted, held in zip(lot, hand, strict=True))
    )


def plus(hand: Hand, lot: int) -> Hand:
    return tuple(held + cards for held, cards in zip(hand, LOTS[lot], strict=True))


def minus(hand: Hand, lot: int) -> Hand:
    return tuple(held - cards for held, cards in zip(hand, LOTS[lot], strict=True))


def hand_of(cards: Sequence[int]) -> Hand:
    """The counts of these cards."""
    counts = [0] * 6
    for card in cards:
        counts[card] += 1
    return tuple(counts)


@cache
def cornered(hand: Hand, corner: int) -> int | None:
    """The commodity of which the hand is a corner, the dearest of several: so many cards of it, the
    bull counting as one. None without, and with the bear in the hand."""
    if hand[BEAR]:
        return None
    full = [kind for kind in range(4) if hand[kind] + hand[BULL] >= corner]
    return max(full, key=VALUES.__getitem__, default=None)


def told(hand: Hand) -> str:
    """A hand or a lot in words: "3 wheat, 1 corn and the bear"."""
    parts = [f"{count} {COMMODITIES[kind]}" for kind, count in _sorted(hand)]
    parts += ["the bull"] * hand[BULL] + ["the bear"] * hand[BEAR]
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


def _sorted(hand: Hand) -> list[tuple[int, int]]:
    """The commodities that the hand has, the most first, and how many."""
    held = [(kind, hand[kind]) for kind in range(4) if hand[kind]]
    return sorted(held, key=lambda one: -one[1])
