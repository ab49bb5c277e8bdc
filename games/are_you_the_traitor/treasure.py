"""The treasure: what there is, what it is worth, and what magic rings do."""

from __future__ import annotations

import numpy as np

from games.are_you_the_traitor.state import NAMES, ROLES

KINDS = (
    ("crown jewels", 2, 5),
    ("platinum pyramid", 5, 4),
    ("bag of gold", 12, 3),
    ("silver goblet", 11, 2),
    ("chest of copper", 5, 1),
    ("magic ring", 5, 1),
    ("gilded statue", 2, 0),
)
"""Name, cards and points of each kind."""

RING, STATUE = 5, 6
DECK = tuple(kind for kind, (_, cards, _) in enumerate(KINDS) for _ in range(cards))
MOST_POINTS = 15
"""With this goal a player has it before the deck is empty: five players with a point less each hold
70, and of the 98 in the deck at most 5 go with the rings and 10 lie in the last two cards."""

Piles = tuple[tuple[int, ...], ...]


def points(pile: tuple[int, ...]) -> int:
    """What a pile is worth."""
    return sum(KINDS[kind][2] for kind in pile)


def richest(piles: Piles, team: int) -> int:
    """The points of the richest player of a team."""
    return max(points(pile) for role, pile in enumerate(piles) if ROLES.teams[role] == team)


def use_rings(piles: Piles, rng: np.random.Generator) -> tuple[Piles, tuple[str, ...]]:
    """The piles after each role with a ring has used one, in the order of roles, and what happened.

    A ring takes a card from a random player of the other team that has any: a gilded statue where
    there is one, else any card. The ring is then out of the game. Where nobody has a card to take,
    it stays. Who had no ring before the first was used does not use one.
    """
    left = [list(pile) for pile in piles]
    told = []
    for role in [role for role, pile in enumerate(piles) if RING in pile]:
        others = [
            other
            for other in range(len(NAMES))
            if left[other] and ROLES.teams[other] != ROLES.teams[role]
        ]
        if RING not in left[role] or not others:
            continue
        robbed = others[int(rng.integers(len(others)))]
        pile = left[robbed]
        kind = STATUE if STATUE in pile else pile[int(rng.integers(len(pile)))]
        pile.remove(kind)
        left[role].append(kind)
        left[role].remove(RING)
        told.append(
            f"{ROLES.names[role]} uses a magic ring and takes a {KINDS[kind][0]} from "
            f"{ROLES.names[robbed]}"
        )
    return tuple(map(tuple, left)), tuple(told)
