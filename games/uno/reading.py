"""What lies in a state's array, read out as plain numbers: hands, counts, legal actions."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from games.base import Action
from games.uno import policies, rules
from games.uno.rules import DRAW, WILD


def hand(array: np.ndarray, seat: int) -> list[int]:
    """The kinds of the cards that `seat` holds, in the order of the hand."""
    start = rules.hand_of(seat)
    return [card & 63 for card in array[start + 1 : start + 1 + array.item(start)].tolist()]


def count(array: np.ndarray, stack: int) -> tuple[int, ...]:
    counts = np.empty(policies.KINDS, np.int64)
    policies.count_cards(array, stack, counts)
    return tuple(counts.tolist())


def card_order(kind: int) -> int:
    """By colour, then trait; wilds behind the colours, whatever colour they were printed with."""
    return 60 + kind % 15 if kind % 15 >= WILD else kind


def played_itself(array: np.ndarray) -> int | None:
    """The action as which a card played itself when it was drawn in the last move."""
    if not array.item(rules.AUTO):
        return None
    colour, top = array.item(rules.COLOUR), array.item(rules.TOP)
    return int(15 * colour + (top & 63) % 15)


@lru_cache(maxsize=65536)
def distinct(mask: int) -> tuple[Action, ...]:
    """The actions of a mask, in order of number."""
    return tuple(action for action in range(rules.ACTIONS) if mask >> action & 1)


def listed(mask: int, kinds: list[int]) -> tuple[Action, ...]:
    """The actions of a mask as RLCard lists them: in the order of the hand, a card held twice
    listed twice, but the four actions of a wild once."""
    actions: list[Action] = []
    for kind in kinds:
        trait = kind % 15
        if trait < WILD and mask >> kind & 1:
            actions.append(kind)
        elif trait >= WILD and mask >> trait & 1 and trait not in actions:
            actions += range(trait, DRAW, 15)
    return tuple(actions) or (DRAW,)
