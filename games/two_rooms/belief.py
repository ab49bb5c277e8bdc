"""Deals that fit what one person knows, the likelier ones more often: people tend to say who they
are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from games.two_rooms.claims import ANSWER, KINDS, QUESTION, claimed
from games.two_rooms.rules import BLUE, PEOPLE, RED, Exchange, State, askers, team, within

PARTNER, OPPONENT = (0.91, 0.03), (0.4, 0.2)
"""The chance that somebody of the own team, and of the other, claims what it is, and each of the
three things that it is not."""


@dataclass(frozen=True)
class View:
    """What a person knows.

    role: its own. special: whether it is the president or the bomber, None where it is not told.
    kin: people who are known to be of its team (True) or not (False). leaders, rooms: as in State.
    talk: every exchange so far, None where it was not heard. chosen: whether room 0 has chosen.
    """

    person: int
    role: int
    special: bool | None
    kin: tuple[tuple[int, bool], ...]
    leaders: tuple[int, int]
    rooms: tuple[tuple[int, ...], ...]
    talk: tuple[Exchange | None, ...]
    chosen: bool


Deal = tuple[tuple[int, ...], int, int]
"""The team of each person, the president and the bomber."""


def deals(view: View) -> Iterator[Deal]:
    """All deals that fit."""
    own = view.role // (PEOPLE // 2)
    rest = [person for person in range(PEOPLE) if person != view.person]
    for partners in combinations(rest, PEOPLE // 2 - 1):
        alike = {view.person, *partners}
        if any((person in alike) != kin for person, kin in view.kin):
            continue
        teams = tuple(own if person in alike else 1 - own for person in range(PEOPLE))
        for president in within(teams, BLUE):
            for bomber in within(teams, RED):
                special = view.person in (president, bomber)
                if view.special is None or special == view.special:
                    yield teams, president, bomber


def claims_heard(view: View) -> list[tuple[int, int]]:
    """Who said to be what, the index in KINDS, of all others and in order."""
    answered = [
        (one.target, claimed(one.answer))
        for one in view.talk
        if one and one.answer and one.target != view.person
    ]
    return [(person, kind) for person, kind in answered if kind is not None]


def likelihood(deal: Deal, claims: Sequence[tuple[int, int]], person: int) -> float:
    """How likely these claims of others are to a person: partners mostly tell the truth, opponents
    also something else."""
    teams, president, bomber = deal
    chance = 1.0
    for who, kind in claims:
        true, false = PARTNER if teams[who] == teams[person] else OPPONENT
        chance *= true if kind == kind_of(who, teams, president, bomber) else false
    return chance


def kind_of(person: int, teams: Sequence[int], president: int, bomber: int) -> int:
    """The index in KINDS of what a person is."""
    if person == president:
        return KINDS.index("president")
    return KINDS.index("bomber") if person == bomber else teams[person]


def sampled(view: View, rng: np.random.Generator) -> State:
    """A state that fits: cards as likely as the claims make them; talk that was not heard and the
    other room's choice drawn at random."""
    fit, claims = list(deals(view)), claims_heard(view)
    weights = np.array([likelihood(deal, claims, view.person) for deal in fit])
    teams, president, bomber = fit[int(rng.choice(len(fit), p=weights / weights.sum()))]
    talk = tuple(one or _unheard(view, at, rng) for at, one in enumerate(view.talk))
    state = State(_roles(view, teams, rng), president, bomber, view.leaders, view.rooms, talk)
    return _with_choice(state, rng) if view.chosen else state


def _roles(view: View, teams: Sequence[int], rng: np.random.Generator) -> tuple[int, ...]:
    """Which of its team's roles each person is."""
    roles = [view.role] * PEOPLE
    for side in (BLUE, RED):
        half = range(side * PEOPLE // 2, (side + 1) * PEOPLE // 2)
        free = rng.permutation([role for role in half if role != view.role]).tolist()
        for person in within(teams, side):
            if person != view.person:
                roles[person] = free.pop()
    return tuple(roles)


def _unheard(view: View, at: int, rng: np.random.Generator) -> Exchange:
    """An exchange of the person whose turn it was with anybody who leaves it unheard."""
    rooms = view.rooms[at // PEOPLE]
    asker = askers(rooms)[at % PEOPLE]
    here = within(rooms, rooms[asker])
    target = rng.choice([one for one in here if one not in (asker, view.person)])
    question, answer = (str(rng.choice(spec.examples)) for spec in (QUESTION, ANSWER))
    return Exchange(asker, int(target), question, answer)


def _with_choice(state: State, rng: np.random.Generator) -> State:
    here = [one for one in within(state.rooms[-1], 0) if one != state.leaders[0]]
    return replace(state, chosen=int(rng.choice(here)))


def known_kin(state: State, person: int, quirks: bool) -> tuple[tuple[int, bool], ...]:
    """With quirks a leader is told of its own team's questions, and so knows the team of whoever
    asked somebody else in its room."""
    if not quirks or person not in state.leaders:
        return ()
    room = state.leaders.index(person)
    found = {
        one.asker: team(state, one.asker) == team(state, person)
        for at, one in enumerate(state.talk)
        if one.answer is not None
        and state.rooms[at // PEOPLE][one.asker] == room
        and person not in (one.asker, one.target)
    }
    return tuple(sorted(found.items()))
