"""The scripted players: whom they ask, what they say and infer, whom they accuse.

Each role has topics it prefers to ask about, and its answers depend on what it knows. The same
habits generate what greedy players say and the likelihood of the talk in each world (Bayes).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import permutations

import numpy as np

from gauntlet.games.are_you_the_traitor.state import (
    ACCUSE,
    ASK,
    EVIL_WIZARD,
    GOOD_WIZARD,
    GUARD,
    KEY_HOLDER,
    NAMES,
    STOP,
    TARGETS,
    TRAITOR,
    UNKNOWN,
    Exchange,
    View,
    World,
)
from gauntlet.games.base import TextSpec
from gauntlet.games.playouts import check_known_policy

Claim = tuple[int, int] | None
"""A name and the role claimed for it; None if no claim is made."""

SELF, KEY, TREASON, WIZARDS = range(4)
"""The topic of a question."""

QUESTIONS = (
    "Who are you?",
    "Who holds the key?",
    "Who is the traitor?",
    "Which wizard is the good one?",
)
"""A question about each topic."""

SILENCE = "I would rather not say."
ROLE_WORDS = {
    KEY_HOLDER: r"key",
    TRAITOR: r"traitor",
    GOOD_WIZARD: r"good (?:wizard|one)",
    EVIL_WIZARD: r"evil (?:wizard|one)",
    GUARD: r"guard",
}
SPEAKER = len(NAMES)
LINE = (
    r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f\u2028\u2029]*"
)
"""One non-blank line."""
MOST = 200
SUBJECT = "|".join(("I", *NAMES))
CLAIM = re.compile(
    rf"\b(?P<who>{SUBJECT})(?:'m|\s+(?:am|is|holds?|has|have|must be))\b(?P<what>[^.,;!?]*)"
)
NOT = re.compile(r"\b(?:not|never|no)\b|n't", re.IGNORECASE)


@cache
def question_spec() -> TextSpec:
    return TextSpec("a question that all will hear, in one line", QUESTIONS, LINE, MOST)


@cache
def answer_spec() -> TextSpec:
    """Return the spec of an answer. Its examples are everything that scripted players say."""
    own_claims = [sentence((SPEAKER, role), SPEAKER) for role in (GUARD, KEY_HOLDER, GOOD_WIZARD)]
    other_claims = [
        sentence((name, role), SPEAKER)
        for role in (KEY_HOLDER, TRAITOR, GOOD_WIZARD)
        for name in range(len(NAMES))
    ]
    return TextSpec(
        "an answer that all will hear, true or not, in one line",
        (SILENCE, *own_claims, *other_claims),
        LINE,
        MOST,
    )


def sentence(claim: Claim, speaker: int) -> str:
    """Return a claim as text."""
    if claim is None:
        return SILENCE
    name, role = claim
    is_self = name == speaker
    holder = "I" if is_self else NAMES[name]
    if role == KEY_HOLDER:
        return f"{holder} hold{'s' * (not is_self)} the key."
    what = {GUARD: "guard", TRAITOR: "traitor", GOOD_WIZARD: "good wizard"}[role]
    return f"{holder} {'am' if is_self else 'is'} the {what}."


@lru_cache(maxsize=4096)
def topic(question: str) -> int:
    """Return the topic of a question, by the words in it."""
    words = question.casefold()
    for about, word in ((KEY, "key"), (TREASON, "traitor"), (WIZARDS, "wizard")):
        if word in words:
            return about
    return SELF


@lru_cache(maxsize=4096)
def claimed(answer: str, speaker: int) -> Claim:
    """Return the first plain statement in an answer that somebody has a role ("I am the guard",
    "Dee must be the traitor"); negated statements do not count."""
    for match in CLAIM.finditer(answer):
        if NOT.search(match["what"]):
            continue
        for role, word in ROLE_WORDS.items():
            if re.search(rf"\b{word}", match["what"], re.IGNORECASE):
                return (speaker if match["who"] == "I" else NAMES.index(match["who"])), role
    return None


ASKING = {
    TRAITOR: (0.3, 0.1, 0.3, 0.3),
    EVIL_WIZARD: (0.2, 0.55, 0.1, 0.15),
    GOOD_WIZARD: (0.2, 0.05, 0.6, 0.15),
    KEY_HOLDER: (0.2, 0.0, 0.2, 0.6),
    GUARD: (0.2, 0.05, 0.55, 0.2),
}
"""How often each role asks about itself, the key, the traitor, the wizards."""

SLIP = 0.1
"""Probability of saying something outside the habits: not only greedy players talk."""


def answers(role: int, about: int, known_names: World) -> dict[Claim, float]:
    """Return the distribution of a role's answers. known_names: the names that it knows.

    Both wizards claim to be the good one. The guard claims to hold the key, to draw suspicion to
    itself; the key holder passes for a guard; the traitor blames the guard and lets slip who holds
    the key.
    """
    my_name = known_names[role]
    if role in (EVIL_WIZARD, GOOD_WIZARD):
        return {(my_name, GOOD_WIZARD): 1.0} if about in (SELF, WIZARDS) else {None: 1.0}
    if about == WIZARDS:
        return {None: 1.0}
    if role == KEY_HOLDER:
        return {(my_name, GUARD): 1.0} if about == SELF else {None: 1.0}
    if role == GUARD:
        return (
            {(my_name, KEY_HOLDER): 0.5, (my_name, GUARD): 0.5} if about != TREASON else {None: 1.0}
        )
    if known_names[KEY_HOLDER] == UNKNOWN or about == SELF:
        return {(my_name, GUARD): 1.0}
    if about == KEY:
        return {(known_names[KEY_HOLDER], KEY_HOLDER): 0.5, (my_name, KEY_HOLDER): 0.5}
    return {(known_names[GUARD], TRAITOR): 0.7, None: 0.3}


@cache
def worlds(wizards: tuple[int, int]) -> tuple[World, ...]:
    """Return the twelve assignments of names to roles in which these two are the wizards."""
    other_names = [name for name in range(len(NAMES)) if name not in wizards]
    return tuple(
        (traitor, evil, good, key, guard)
        for evil, good in permutations(wizards)
        for traitor, key, guard in permutations(other_names)
    )


@lru_cache(maxsize=4096)
def likelihoods(
    wizards: tuple[int, int], talk: tuple[Exchange, ...], informed: bool
) -> tuple[float, ...]:
    """Return the likelihood of the talk in each world, up to a common factor."""
    if not talk:
        return (1.0,) * len(worlds(wizards))
    before = likelihoods(wizards, talk[:-1], informed)
    return tuple(
        chance * _chance(world, talk[-1], informed)
        for world, chance in zip(worlds(wizards), before, strict=True)
    )


def _chance(world: World, exchange: Exchange, informed: bool) -> float:
    asker, asked_role = world.index(exchange.asker), world.index(exchange.asked)
    about = topic(exchange.question)
    chance = SLIP / 4 + (1 - SLIP) * ASKING[asker][about]
    if exchange.answer:
        sees = world if asked_role != TRAITOR or informed else _blind(world)
        habit = answers(asked_role, about, sees).get(claimed(exchange.answer, exchange.asked), 0.0)
        chance *= SLIP / 4 + (1 - SLIP) * habit
    return chance


def _blind(world: World) -> World:
    return (world[TRAITOR], *(UNKNOWN,) * 4)


def beliefs(
    known_names: World, wizards: tuple[int, int], talk: tuple[Exchange, ...], informed: bool
) -> tuple[tuple[World, ...], tuple[float, ...]]:
    """Return the worlds consistent with what a role knows, and the probability of each given the
    talk."""
    pairs = [
        (world, weight)
        for world, weight in zip(worlds(wizards), likelihoods(wizards, talk, informed), strict=True)
        if all(own in (UNKNOWN, name) for own, name in zip(known_names, world, strict=True))
    ]
    total = sum(weight for _, weight in pairs)
    return tuple(world for world, _ in pairs), tuple(weight / total for _, weight in pairs)


def suspects(
    role: int,
    known_names: World,
    wizards: tuple[int, int],
    talk: tuple[Exchange, ...],
    informed: bool,
) -> tuple[float, ...]:
    """Return the probability of each name to be the target of `role`."""
    chances = [0.0] * len(NAMES)
    for world, chance in zip(*beliefs(known_names, wizards, talk, informed), strict=True):
        chances[world[TARGETS[role]]] += chance
    return tuple(chances)


TOLD = {
    "random": "asks, answers, stops and accuses at random",
    "greedy": "asks about what its role wants to know, lies about what it hides, and says STOP as "
    "soon as somebody's words give them away",
}
"""What each policy does, by name."""


def check(policy: str) -> None:
    """Raises ValueError for an unknown policy."""
    check_known_policy("the traitor game", policy, TOLD)


def greedy(view: View, names: Sequence[int]) -> tuple[float, ...]:
    """Return the probability of each option. names: whom each option of ASK and ACCUSE concerns;
    for STOP the options are to pass, if allowed, and to stop."""
    if view.phase == ASK:
        return _shares(_worth_asking(view, names))
    if view.phase == STOP:
        if view.forced:
            return (1.0,)
        return (0.0, 1.0) if given_away(view) else (1.0, 0.0)
    if view.phase == ACCUSE:
        found = given_away(view) or possible(view, names)
        return _shares([name in found for name in names])
    return (1.0,)


def say(view: View, rng: np.random.Generator) -> str:
    """Return the text of a greedy player's question or answer."""
    if view.phase == ASK:
        return QUESTIONS[_draw(ASKING[view.role], rng)]
    habit = answers(view.role, topic(view.talk[-1].question), view.known)
    claims = list(habit)
    return sentence(claims[_draw(list(habit.values()), rng)], view.known[view.role])


def given_away(view: View) -> set[int]:
    """Return the names that a clear sign reveals as the role's target.

    A seat that names another as the key holder knows who it is: it is the traitor, and the named
    seat holds the key. A wizard that asks about the key is the evil one, so the other is good.
    """
    if view.role == TRAITOR:
        return set()
    if view.role == KEY_HOLDER:
        asked = {said.asker for said in view.talk if topic(said.question) == KEY}
        evil = asked & set(view.wizards)
        return set(view.wizards) - evil if len(evil) == 1 else set()
    names = set()
    for exchange in view.talk:
        claim = claimed(exchange.answer, exchange.asked)
        if claim and claim[1] == KEY_HOLDER and claim[0] != exchange.asked:
            names.add(claim[0] if view.role == EVIL_WIZARD else exchange.asked)
    return names & possible(view, names)


def possible(view: View, names: Iterable[int]) -> set[int]:
    """Return the names that can be the role's target given what it knows for sure."""
    known_names = {name for name in view.known if name != UNKNOWN}
    wizards = set(view.wizards)
    return {
        name
        for name in names
        if name not in known_names and (name in wizards) == (view.role == KEY_HOLDER)
    }


def _worth_asking(view: View, names: Sequence[int]) -> list[bool]:
    """Wizards and the guard ask non-wizards; the others ask the wizards."""
    wanted = view.role in (TRAITOR, KEY_HOLDER)
    return [(name in view.wizards) == wanted for name in names]


def _shares(chosen: Sequence[bool]) -> tuple[float, ...]:
    return tuple(one / sum(chosen) for one in chosen)


def _draw(chances: Sequence[float], rng: np.random.Generator) -> int:
    passed = np.cumsum(chances) <= rng.random() * sum(chances)
    return min(int(passed.sum()), len(chances) - 1)
