"""Are You the Traitor?: the state, what a role sees, and the treasure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gauntlet.games.teams import Roles

TRAITOR, EVIL_WIZARD, GOOD_WIZARD, KEY_HOLDER, GUARD = range(5)
EVIL, GOOD = 0, 1
ROLES = Roles(
    ("the traitor", "the evil wizard", "the good wizard", "the key holder", "the guard"),
    (EVIL, EVIL, GOOD, GOOD, GOOD),
)
TEAMS = ("evil", "good")
TARGETS = {
    EVIL_WIZARD: KEY_HOLDER,
    GOOD_WIZARD: TRAITOR,
    KEY_HOLDER: GOOD_WIZARD,
    GUARD: TRAITOR,
}
"""Whom each role has to accuse. The traitor accuses nobody."""

NAMES = ("Ada", "Bo", "Cy", "Dee", "Eli")

ASK, ANSWER, STOP, ACCUSE = range(4)
"""What the acting role has to do."""

World = tuple[int, ...]
"""The name of each role, by number."""

UNKNOWN = -1


class Exchange(NamedTuple):
    """A question and its answer, "" if there is none yet; asker and asked by name."""

    asker: int
    asked: int
    question: str
    answer: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """A state.

    seed: determines all chance to come. round, exchange: from 0, exchanges counted per round.
    names: the name of each role. phase, actor: what has to be done, and the role that does it.
    order: the roles that may say STOP after the actor. talk: the exchanges of this round. piles:
    the treasure of each role, indices into `KINDS`. deck: the treasure to come, the next first.
    history: public events. winner: a team, or -1.
    """

    seed: int
    round: int
    exchange: int
    names: World
    phase: int
    actor: int
    order: tuple[int, ...]
    talk: tuple[Exchange, ...]
    piles: tuple[tuple[int, ...], ...]
    deck: tuple[int, ...]
    history: tuple[str, ...] = ()
    winner: int = -1


class View(NamedTuple):
    """What the acting role sees.

    role, phase: as in `State`. known: the name of each role it knows, else UNKNOWN. wizards: the
    names of both, lower number first. forced: whether it must say STOP. deck: the kinds of treasure
    to come, sorted. The rest is as in `State`.
    """

    role: int
    phase: int
    known: World
    wizards: tuple[int, int]
    forced: bool
    round: int
    exchange: int
    talk: tuple[Exchange, ...]
    piles: tuple[tuple[int, ...], ...]
    deck: tuple[int, ...]


def wizards(names: World) -> tuple[int, int]:
    """Return the names of the two wizards, which are public, lower number first."""
    first, second = sorted((names[EVIL_WIZARD], names[GOOD_WIZARD]))
    return first, second


def knowledge(names: World, role: int, informed: bool) -> World:
    """Return the name of each role that `role` knows, else UNKNOWN. Wizards know each other; an
    `informed` traitor knows who holds the key, and so who is the guard."""
    known_roles = {role}
    if role in (EVIL_WIZARD, GOOD_WIZARD):
        known_roles = {EVIL_WIZARD, GOOD_WIZARD}
    elif role == TRAITOR and informed:
        known_roles = {TRAITOR, KEY_HOLDER, GUARD}
    return tuple(name if one in known_roles else UNKNOWN for one, name in enumerate(names))


KINDS = (
    ("crown jewels", 2, 5),
    ("platinum pyramid", 5, 4),
    ("bag of gold", 12, 3),
    ("silver goblet", 11, 2),
    ("chest of copper", 5, 1),
    ("magic ring", 5, 1),
    ("gilded statue", 2, 0),
)
"""Name, number of cards and points of each kind."""

RING, STATUE = 5, 6
DECK = tuple(kind for kind, (_, cards, _) in enumerate(KINDS) for _ in range(cards))
MOST_POINTS = 15
"""With this goal a player reaches it before the deck is empty: five players with one point less
each hold 70, and of the 98 in the deck at most 5 go with the rings and 10 lie in the last two
cards."""

Piles = tuple[tuple[int, ...], ...]


def points(pile: tuple[int, ...]) -> int:
    return sum(KINDS[kind][2] for kind in pile)


def richest(piles: Piles, team: int) -> int:
    """Return the points of a team's richest role."""
    return max(points(pile) for role, pile in enumerate(piles) if ROLES.teams[role] == team)


def use_rings(piles: Piles, rng: np.random.Generator) -> tuple[Piles, tuple[str, ...]]:
    """Return the piles after each role with a ring uses one, in role order, and what happened.

    A ring takes a card from a random player of the other team that has any: a gilded statue if
    there is one, else a random card. The ring then leaves the game; it stays if nobody has a card
    to take. A role that had no ring at the start does not use one.
    """
    remaining = [list(pile) for pile in piles]
    lines = []
    for role in [role for role, pile in enumerate(piles) if RING in pile]:
        other_roles = [
            other
            for other in range(len(NAMES))
            if remaining[other] and ROLES.teams[other] != ROLES.teams[role]
        ]
        if RING not in remaining[role] or not other_roles:
            continue
        robbed = other_roles[int(rng.integers(len(other_roles)))]
        pile = remaining[robbed]
        kind = STATUE if STATUE in pile else pile[int(rng.integers(len(pile)))]
        pile.remove(kind)
        remaining[role].append(kind)
        remaining[role].remove(RING)
        lines.append(
            f"{ROLES.names[role]} uses a magic ring and takes a {KINDS[kind][0]} from "
            f"{ROLES.names[robbed]}"
        )
    return tuple(map(tuple, remaining)), tuple(lines)
