"""How the scripted players talk, and what their talk tells about who is who.

A role asks about some topics more than about others, and its answers hang on what it knows. The
same habits say what greedy players say, and how likely a world makes what was said (Bayes).
"""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import permutations

from games.are_you_the_traitor.state import (
    EVIL_WIZARD,
    GOOD_WIZARD,
    GUARD,
    KEY_HOLDER,
    NAMES,
    TARGETS,
    TRAITOR,
    UNKNOWN,
    Exchange,
    World,
)
from games.are_you_the_traitor.talk import KEY, SELF, TREASON, WIZARDS, Claim, claimed, topic

ASKING = {
    TRAITOR: (0.3, 0.1, 0.3, 0.3),
    EVIL_WIZARD: (0.2, 0.55, 0.1, 0.15),
    GOOD_WIZARD: (0.2, 0.05, 0.6, 0.15),
    KEY_HOLDER: (0.2, 0.0, 0.2, 0.6),
    GUARD: (0.2, 0.05, 0.55, 0.2),
}
"""How often each role asks about itself, the key, the traitor, the wizards."""

SLIP = 0.1
"""How often somebody says what no habit says: others than greedy players talk too."""


def answers(role: int, about: int, known: World) -> dict[Claim, float]:
    """What a role says when it is asked, and how often. known: the names that it knows.

    Wizards both say that they are the good one. The guard draws suspicion of the key to itself, the
    key holder passes for a guard, the traitor blames the guard and lets slip who holds the key.
    """
    own = known[role]
    if role in (EVIL_WIZARD, GOOD_WIZARD):
        return {(own, GOOD_WIZARD): 1.0} if about in (SELF, WIZARDS) else {None: 1.0}
    if about == WIZARDS:
        return {None: 1.0}
    if role == KEY_HOLDER:
        return {(own, GUARD): 1.0} if about == SELF else {None: 1.0}
    if role == GUARD:
        return {(own, KEY_HOLDER): 0.5, (own, GUARD): 0.5} if about != TREASON else {None: 1.0}
    if known[KEY_HOLDER] == UNKNOWN or about == SELF:
        return {(own, GUARD): 1.0}
    if about == KEY:
        return {(known[KEY_HOLDER], KEY_HOLDER): 0.5, (own, KEY_HOLDER): 0.5}
    return {(known[GUARD], TRAITOR): 0.7, None: 0.3}


@cache
def worlds(wizards: tuple[int, int]) -> tuple[World, ...]:
    """The twelve ways in which names and roles can go together where these two are the wizards."""
    others = [name for name in range(len(NAMES)) if name not in wizards]
    return tuple(
        (traitor, evil, good, key, guard)
        for evil, good in permutations(wizards)
        for traitor, key, guard in permutations(others)
    )


@lru_cache(maxsize=4096)
def likelihoods(
    wizards: tuple[int, int], talk: tuple[Exchange, ...], told: bool
) -> tuple[float, ...]:
    """How likely each of the worlds makes the talk, up to a common factor."""
    if not talk:
        return (1.0,) * len(worlds(wizards))
    before = likelihoods(wizards, talk[:-1], told)
    return tuple(
        chance * _chance(world, talk[-1], told)
        for world, chance in zip(worlds(wizards), before, strict=True)
    )


def _chance(world: World, said: Exchange, told: bool) -> float:
    asker, asked = world.index(said.asker), world.index(said.asked)
    about = topic(said.question)
    chance = SLIP / 4 + (1 - SLIP) * ASKING[asker][about]
    if said.answer:
        sees = world if asked != TRAITOR or told else _blind(world)
        habit = answers(asked, about, sees).get(claimed(said.answer, said.asked), 0.0)
        chance *= SLIP / 4 + (1 - SLIP) * habit
    return chance


def _blind(world: World) -> World:
    return (world[TRAITOR], *(UNKNOWN,) * 4)


def believed(
    known: World, wizards: tuple[int, int], talk: tuple[Exchange, ...], told: bool
) -> tuple[tuple[World, ...], tuple[float, ...]]:
    """The worlds that fit what a role knows, and the chance of each by the talk."""
    pairs = [
        (world, weight)
        for world, weight in zip(worlds(wizards), likelihoods(wizards, talk, told), strict=True)
        if all(own in (UNKNOWN, name) for own, name in zip(known, world, strict=True))
    ]
    total = sum(weight for _, weight in pairs)
    return tuple(world for world, _ in pairs), tuple(weight / total for _, weight in pairs)


def suspects(
    role: int,
    known: World,
    wizards: tuple[int, int],
    talk: tuple[Exchange, ...],
    told: bool,
) -> tuple[float, ...]:
    """The chance of each name to be whom `role` has to accuse."""
    chances = [0.0] * len(NAMES)
    for world, chance in zip(*believed(known, wizards, talk, told), strict=True):
        chances[world[TARGETS[role]]] += chance
    return tuple(chances)
