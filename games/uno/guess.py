"""From what a seat sees back to a state: one of those that it could be in."""

from __future__ import annotations

import numpy as np

from games.uno import rules
from games.uno.rules import WILD
from games.uno.state import View


def known(view: View) -> np.ndarray:
    """A state that `view` could be of; what its seat cannot see lies in order of the deck."""
    array = rules.blank(len(view.sizes))
    array[rules.SEATS], array[rules.TO_MOVE] = len(view.sizes), view.seat
    array[rules.DIRECTION], array[rules.COLOUR] = view.direction, view.colour
    array[rules.TOP] = view.trait if view.trait >= WILD else 15 * view.colour + view.trait
    array[rules.TRAIT] = view.trait
    array[rules.WINNER] = array[rules.TOP_BY] = -1
    left = rules.DECK.tolist()
    fill(array, rules.PLAYED, took(left, view.played))
    fill(array, rules.hand_of(view.seat), took(left, view.hand))
    for seat, size in enumerate(view.sizes):
        if seat != view.seat:
            fill(array, rules.hand_of(seat), [left.pop() for _ in range(size)])
    fill(array, rules.PILE, left)
    return array


def took(left: list[int], counts: tuple[int, ...]) -> list[int]:
    """Takes cards from `left`: as many of each kind as `counts` says, wilds of any colour."""
    taken = []
    wanted = list(counts)
    for card in tuple(left):
        kind = card & 63
        kind = kind % 15 if kind % 15 >= WILD else kind
        if wanted[kind]:
            wanted[kind] -= 1
            left.remove(card)
            taken.append(card)
    return taken


def fill(array: np.ndarray, stack: int, cards: list[int]) -> None:
    array[stack] = len(cards)
    array[stack + 1 : stack + 1 + len(cards)] = cards
