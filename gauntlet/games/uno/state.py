"""UNO's state, and what a seat sees of one.

A state's array is read out as plain numbers: hands, counts, legal actions. Conversely, a view is
turned into a state consistent with it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gauntlet.games.base import Action
from gauntlet.games.compiling import ArrayState
from gauntlet.games.uno import policies, rules
from gauntlet.games.uno.rules import DRAW, WILD


class State(ArrayState):
    """A state with the array of `games.uno.rules`."""

    __slots__ = ()


class View(NamedTuple):
    """What a seat sees, as numbers.

    sizes: cards held, by seat. hand, played: number of cards of each kind (15 x colour + trait),
    all wilds counted at 13 and all wild draw fours at 14; `played` holds the cards since the last
    reshuffle, including the top card. options: the legal actions, in the game's order.
    """

    seat: int
    direction: int
    colour: int
    trait: int
    sizes: tuple[int, ...]
    hand: tuple[int, ...]
    played: tuple[int, ...]
    options: tuple[Action, ...]


def possible_state(view: View) -> np.ndarray:
    """Return a state consistent with `view`; what its seat cannot see is in deck order."""
    array = rules.blank(len(view.sizes))
    array[rules.SEATS], array[rules.TO_MOVE] = len(view.sizes), view.seat
    array[rules.DIRECTION], array[rules.COLOUR] = view.direction, view.colour
    array[rules.TOP] = view.trait if view.trait >= WILD else 15 * view.colour + view.trait
    array[rules.TRAIT] = view.trait
    array[rules.WINNER] = array[rules.TOP_BY] = -1
    deck = rules.DECK.tolist()
    fill(array, rules.PLAYED, took(deck, view.played))
    fill(array, rules.hand_of(view.seat), took(deck, view.hand))
    for seat, size in enumerate(view.sizes):
        if seat != view.seat:
            fill(array, rules.hand_of(seat), [deck.pop() for _ in range(size)])
    fill(array, rules.PILE, deck)
    return array


def took(deck: list[int], counts: tuple[int, ...]) -> list[int]:
    """Take cards from `left`: `counts` of each kind, wilds of any colour."""
    cards = []
    needed = list(counts)
    for card in tuple(deck):
        kind = card & 63
        kind = kind % 15 if kind % 15 >= WILD else kind
        if needed[kind]:
            needed[kind] -= 1
            deck.remove(card)
            cards.append(card)
    return cards


def fill(array: np.ndarray, stack: int, cards: list[int]) -> None:
    array[stack] = len(cards)
    array[stack + 1 : stack + 1 + len(cards)] = cards


def hand(array: np.ndarray, seat: int) -> list[int]:
    """Return the kinds of the cards that `seat` holds, in the order of the hand."""
    start = rules.hand_of(seat)
    return [card & 63 for card in array[start + 1 : start + 1 + array.item(start)].tolist()]


def count(array: np.ndarray, stack: int) -> tuple[int, ...]:
    counts = np.empty(policies.KINDS, np.int64)
    policies.count_cards(array, stack, counts)
    return tuple(counts.tolist())


def card_order(kind: int) -> int:
    """Sort key by colour, then trait; wilds last, whatever their printed colour."""
    return 60 + kind % 15 if kind % 15 >= WILD else kind


def played_itself(array: np.ndarray) -> int | None:
    """Return the action of the card that was drawn in the last move and played itself, if any."""
    if not array.item(rules.AUTO):
        return None
    colour, top = array.item(rules.COLOUR), array.item(rules.TOP)
    return int(15 * colour + (top & 63) % 15)


@lru_cache(maxsize=65536)
def distinct(mask: int) -> tuple[Action, ...]:
    """Return the actions of a mask, in numerical order."""
    return tuple(action for action in range(rules.ACTIONS) if mask >> action & 1)


def listed_actions(mask: int, kinds: list[int]) -> tuple[Action, ...]:
    """Return the actions of a mask as RLCard lists them: in the order of the hand, a card held
    twice listed twice, but the four actions of a wild once."""
    actions: list[Action] = []
    for kind in kinds:
        trait = kind % 15
        if trait < WILD and mask >> kind & 1:
            actions.append(kind)
        elif trait >= WILD and mask >> trait & 1 and trait not in actions:
            actions += range(trait, DRAW, 15)
    return tuple(actions) or (DRAW,)
