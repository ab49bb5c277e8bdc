"""The cards of Arctic Scavengers, as GameBench's code has them, and sums over them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

DIG, DRAW, HUNT, FIGHT = range(4)
"""What a card may be good for."""
ACTIONS = ("dig", "draw", "hunt", "fight")

NOT = -1
"""The value of what a card cannot do; 0 is what it does only with a tool."""

Hand = tuple[int, ...]
"""Cards by kind, sorted."""


class Card(NamedTuple):
    """A kind of card.

    people: in the tribe of its owner. values: by what it is good for, NOT where it is not. adds:
    whether the values count only beside a card that acts itself. medicine: what it is worth when
    somebody is hired. food, cure: what a mercenary costs, in food and in medicine.
    """

    name: str
    people: int = 0
    values: tuple[int, int, int, int] = (NOT, NOT, NOT, NOT)
    adds: bool = False
    medicine: int = 0
    food: int = 0
    cure: int = 0

    @property
    def is_tool(self) -> bool:
        """Whether it adds and is nobody: a card that acts may use one such card."""
        return self.adds and not self.people


CARDS = (
    Card("Refugee", 1, (0, NOT, 0, NOT)),
    Card("Scavenger", 1, (1, 1, 1, 1), food=1),
    Card("Brawler", 1, (1, NOT, NOT, 2), food=2),
    Card("Hunter", 1, (NOT, NOT, 2, 1), cure=1),
    Card("Saboteur", 1, (1, NOT, NOT, 1), food=1, cure=1),
    Card("Scout", 1, (NOT, 2, NOT, 2), food=2, cure=1),
    Card("Group Leaders", 2, (2, 2, 2, 2), adds=True, food=2, cure=2),
    Card("Sniper Team", 2, food=2, cure=2),
    Card("Thugs", 3, (1, NOT, NOT, 3), food=6),
    Card("Tribe Family", 5, (NOT, NOT, 0, 0)),
    Card("Wolf Pack", 0, (NOT, NOT, 3, 2), adds=True),
    Card("Grenade", 0, (NOT, NOT, NOT, 3), adds=True),
    Card("Sled Team", 2, (NOT, 2, NOT, 1)),
    Card("Field Crew", 4, (2, NOT, 2, 2)),
    Card("Junk"),
    Card("Multitool", 0, (1, NOT, 1, 1), adds=True),
    Card("Net", 0, (NOT, NOT, 2, 1), adds=True),
    Card("Spear", 0, (NOT, NOT, 1, 2), adds=True),
    Card("Pickaxe", 0, (1, NOT, NOT, 2), adds=True),
    Card("Shovel", 0, (2, NOT, NOT, 1), adds=True),
    Card("Medkit", medicine=2),
    Card("Pills", medicine=1),
)
KIND = {card.name: kind for kind, card in enumerate(CARDS)}

JUNK, SNIPER, SABOTEUR = KIND["Junk"], KIND["Sniper Team"], KIND["Saboteur"]


def _dealt(counts: dict[str, int]) -> Hand:
    return tuple(sorted(KIND[name] for name, count in counts.items() for _ in range(count)))


START = _dealt({"Refugee": 4, "Scavenger": 3, "Brawler": 1, "Spear": 1, "Shovel": 1})
JUNKYARD = _dealt(
    {
        "Junk": 7,
        "Multitool": 4,
        "Net": 4,
        "Spear": 4,
        "Pickaxe": 4,
        "Shovel": 4,
        "Medkit": 6,
        "Pills": 9,
    }
)
CONTESTED = _dealt(
    {"Wolf Pack": 1, "Grenade": 1, "Sled Team": 1, "Field Crew": 1, "Tribe Family": 1}
)
PILES = _dealt(
    {
        "Scavenger": 14,
        "Brawler": 8,
        "Hunter": 8,
        "Saboteur": 8,
        "Scout": 8,
        "Group Leaders": 5,
        "Sniper Team": 5,
        "Thugs": 5,
    }
)
"""Every mercenary that can be hired."""


def people(cards: Iterable[int]) -> int:
    """How many people stand on some cards."""
    return sum(CARDS[kind].people for kind in cards)


def medicine(cards: Iterable[int]) -> int:
    """What the medicine among some cards is worth."""
    return sum(CARDS[kind].medicine for kind in cards)


def total(cards: Iterable[int], action: int) -> int:
    """The sum of the cards' values for an action, of all that are good for it."""
    return sum(max(CARDS[kind].values[action], 0) for kind in cards)


@lru_cache(maxsize=1 << 16)
def strength(hand: Hand, loose: bool) -> int:
    """The fight value of a hand. Each card that fights may use one tool and one pair of group
    leaders, and takes the best; where `loose`, all values of all cards count."""
    if loose:
        return total(hand, FIGHT)
    values = [(CARDS[kind], CARDS[kind].values[FIGHT]) for kind in hand]
    fighters = [value for card, value in values if not card.adds and value != NOT]
    tools = sorted((value for card, value in values if card.is_tool and value != NOT), reverse=True)
    leaders = [value for card, value in values if card.adds and card.people]
    most = len(fighters)
    return sum(fighters) + sum(tools[:most]) + sum(leaders[:most])


def striker(kind: int) -> int:
    """The kind of card that can strike this one."""
    return SNIPER if CARDS[kind].people else SABOTEUR


def named(cards: Iterable[int], between: str = ", ") -> str:
    """Some cards in words, equal ones counted: "2 Refugee, Spear"."""
    counts = Counter(cards)
    return (
        between.join(
            f"{count} {CARDS[kind].name}" if count > 1 else CARDS[kind].name
            for kind, count in sorted(counts.items())
        )
        or "none"
    )


def without(cards: Hand, gone: Iterable[int]) -> Hand:
    """The cards less some of them, in the same order."""
    left = list(cards)
    for kind in gone:
        left.remove(kind)
    return tuple(left)
