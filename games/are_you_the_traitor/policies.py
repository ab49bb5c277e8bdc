"""The scripted players: whom they ask, what they say, when they accuse whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from games.are_you_the_traitor.belief import ASKING, answers
from games.are_you_the_traitor.state import (
    ACCUSE,
    ASK,
    EVIL_WIZARD,
    KEY_HOLDER,
    STOP,
    TRAITOR,
    UNKNOWN,
    View,
)
from games.are_you_the_traitor.talk import KEY, QUESTIONS, claimed, sentence, topic
from games.playouts import check_known

TOLD = {
    "random": "asks, answers, stops and accuses at random",
    "greedy": "asks about what its role wants to know, lies about what it hides, and says STOP as "
    "soon as somebody's words give them away",
}
"""What each does, by name."""


def check(policy: str) -> None:
    """Raises ValueError for a policy that is not known."""
    check_known("the traitor game", policy, TOLD)


def greedy(view: View, names: Sequence[int]) -> tuple[float, ...]:
    """The chance of each option. names: whom each option of ASK and ACCUSE is about; for STOP the
    options are to pass, where that is allowed, and to stop."""
    if view.phase == ASK:
        return _even(_worth_asking(view, names))
    if view.phase == STOP:
        if view.forced:
            return (1.0,)
        return (0.0, 1.0) if given_away(view) else (1.0, 0.0)
    if view.phase == ACCUSE:
        found = given_away(view) or possible(view, names)
        return _even([name in found for name in names])
    return (1.0,)


def say(view: View, rng: np.random.Generator) -> str:
    """The words of a greedy player for its question or its answer."""
    if view.phase == ASK:
        return QUESTIONS[_drawn(ASKING[view.role], rng)]
    habit = answers(view.role, topic(view.talk[-1].question), view.known)
    claims = list(habit)
    return sentence(claims[_drawn(list(habit.values()), rng)], view.known[view.role])


def given_away(view: View) -> set[int]:
    """Whom a plain sign shows to be the role's target.

    Who names another as holder of the key knows it, so is the traitor, and the named one has it. A
    wizard that asks about the key is the evil one, so the other is good.
    """
    if view.role == TRAITOR:
        return set()
    if view.role == KEY_HOLDER:
        asked = {said.asker for said in view.talk if topic(said.question) == KEY}
        evil = asked & set(view.wizards)
        return set(view.wizards) - evil if len(evil) == 1 else set()
    found = set()
    for said in view.talk:
        claim = claimed(said.answer, said.asked)
        if claim and claim[1] == KEY_HOLDER and claim[0] != said.asked:
            found.add(claim[0] if view.role == EVIL_WIZARD else said.asked)
    return found & possible(view, found)


def possible(view: View, names: Iterable[int]) -> set[int]:
    """Those of the names that can be the role's target by what it knows for sure."""
    known = {name for name in view.known if name != UNKNOWN}
    wizards = set(view.wizards)
    return {
        name
        for name in names
        if name not in known and (name in wizards) == (view.role == KEY_HOLDER)
    }


def _worth_asking(view: View, names: Sequence[int]) -> list[bool]:
    """Wizards and the guard ask those who are no wizards, the others the wizards."""
    wanted = view.role in (TRAITOR, KEY_HOLDER)
    return [(name in view.wizards) == wanted for name in names]


def _even(chosen: Sequence[bool]) -> tuple[float, ...]:
    return tuple(one / sum(chosen) for one in chosen)


def _drawn(chances: Sequence[float], rng: np.random.Generator) -> int:
    passed = np.cumsum(chances) <= rng.random() * sum(chances)
    return min(int(passed.sum()), len(chances) - 1)
