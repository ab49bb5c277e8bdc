"""Which cards of a hand may be used together for an action."""

from __future__ import annotations

from functools import lru_cache
from itertools import product

from games.arctic_scavengers.cards import CARDS, NOT, Hand, medicine, total

Use = tuple[int, ...]
"""The cards that are used, sorted."""


@lru_cache(maxsize=1 << 15)
def uses(hand: Hand, action: int, loose: bool) -> tuple[Use, ...]:
    """All sets of cards with which a hand can dig, draw or hunt, the fewest cards first.

    At least one card acts itself. A card that acts may use one tool, and one pair of group leaders;
    where `loose`, any number. A card that adds nothing is left out: one of value 0 acts only where
    it is needed to use a tool.
    """
    fit = sorted({kind for kind in hand if CARDS[kind].values[action] != NOT})
    counts = (range(hand.count(kind) + 1) for kind in fit)
    found = [
        tuple(kind for kind, count in zip(fit, chosen, strict=True) for _ in range(count))
        for chosen in product(*counts)
    ]
    return tuple(
        sorted(
            (use for use in found if _allowed(use, action, loose)), key=lambda use: (len(use), use)
        )
    )


def _allowed(use: Use, action: int, loose: bool) -> bool:
    acting = [kind for kind in use if not CARDS[kind].adds]
    if not acting or total(use, action) == 0:
        return False
    tools = sum(CARDS[kind].is_tool for kind in use)
    leaders = len(use) - len(acting) - tools
    idle = sum(CARDS[kind].values[action] == 0 for kind in acting)
    needed = min(1, tools + leaders) if loose else max(tools, leaders)
    fits = loose or max(tools, leaders) <= len(acting)
    return fits and idle <= max(0, needed - (len(acting) - idle))


@lru_cache(maxsize=1 << 12)
def payment(hand: Hand, cure: int) -> Use | None:
    """The medicine of a hand that pays a cost: as little too much as can be, then the fewest cards;
    None where there is not enough."""
    cards = tuple(kind for kind in hand if CARDS[kind].medicine)
    if medicine(cards) < cure:
        return None
    kinds = sorted(set(cards))
    choices = [
        tuple(kind for kind, count in zip(kinds, chosen, strict=True) for _ in range(count))
        for chosen in product(*(range(cards.count(kind) + 1) for kind in kinds))
    ]
    enough = (use for use in choices if medicine(use) >= cure)
    return min(enough, key=lambda use: (medicine(use), len(use)))
