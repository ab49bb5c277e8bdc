"""Two Rooms' rules: who is in which room, who talks to whom, who hears it, and who wins; its
scripted players and the evaluation of a state.

Six people are numbered 0 to 5. A round is one question by each, room 0 first, and then one hostage
per room. Claims are how scripted players interpret what is asked and answered. They sample deals
consistent with what a person knows by their likelihood, since people tend to say who they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

import numpy as np

from gauntlet.games.base import TextSpec
from gauntlet.games.playouts import check_known_policy

BLUE, RED = 0, 1
PEOPLE = 6
ROOMS = (0, 1)
MIXING = 20
"""With paper bugs the rooms start with one team each, followed by this many random swaps."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question, and its answer once it is given."""

    asker: int
    target: int
    question: str
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class State:
    """roles: the role of each person, 0 to 2 for blue and 3 to 5 for red. president, bomber:
    people. leaders: of each room. rooms: for every round so far the room of each person, the last
    entry now. talk: all exchanges in order. chosen: the hostage that room 0 gives, once chosen."""

    roles: tuple[int, ...]
    president: int
    bomber: int
    leaders: tuple[int, int]
    rooms: tuple[tuple[int, ...], ...]
    talk: tuple[Exchange, ...] = ()
    chosen: int | None = None


def team(state: State, person: int) -> int:
    return state.roles[person] // (PEOPLE // 2)


def within(rooms: Sequence[int], room: int) -> list[int]:
    return [person for person, place in enumerate(rooms) if place == room]


def askers(rooms: Sequence[int]) -> list[int]:
    """Return the order in which a round's questions are asked."""
    return [*within(rooms, 0), *within(rooms, 1)]


def number(state: State) -> int:
    """Return the round, from 0; the number of rounds once all are played."""
    return len(state.rooms) - 1


def questions_asked(state: State) -> int:
    """Return how many questions of this round were asked."""
    return len(state.talk) - PEOPLE * number(state)


def unanswered(state: State) -> bool:
    return bool(state.talk) and state.talk[-1].answer is None


def trading(state: State) -> bool:
    """Return whether hostages are being chosen."""
    return questions_asked(state) == PEOPLE and not unanswered(state)


def acting(state: State) -> int:
    """Return the person to act in a game that is not over."""
    if unanswered(state):
        return state.talk[-1].target
    if trading(state):
        return state.leaders[0 if state.chosen is None else 1]
    return askers(state.rooms[-1])[questions_asked(state)]


def room_mates(state: State, person: int) -> list[int]:
    """Return whom a person may ask, or, as a leader, send: the others in its room."""
    here = within(state.rooms[-1], state.rooms[-1][person])
    return [other for other in here if other != person]


def with_question(state: State, target: int, question: str) -> State:
    exchange = Exchange(acting(state), target, question)
    return replace(state, talk=(*state.talk, exchange))


def with_answer(state: State, answer: str) -> State:
    return replace(state, talk=(*state.talk[:-1], replace(state.talk[-1], answer=answer)))


def with_hostage(state: State, person: int) -> State:
    """Record a hostage; once both rooms have chosen, the two change rooms."""
    if state.chosen is None:
        return replace(state, chosen=person)
    moving = (state.chosen, person)
    now = tuple(1 - place if who in moving else place for who, place in enumerate(state.rooms[-1]))
    return replace(state, rooms=(*state.rooms, now), chosen=None)


def together(state: State) -> bool:
    """Return whether president and bomber are in one room, in which case red wins at the end."""
    return state.rooms[-1][state.president] == state.rooms[-1][state.bomber]


def hears(state: State, person: int, at: int, paper_bugs: bool) -> bool:
    """Return whether a person hears the exchange of this number: all in the room do. In the
    published code only the two of them do, and the room's leader if the question is from its own
    team."""
    exchange, rooms = state.talk[at], state.rooms[at // PEOPLE]
    room = rooms[exchange.asker]
    if not paper_bugs:
        return rooms[person] == room
    passed_on = person == state.leaders[room] and team(state, person) == team(state, exchange.asker)
    return passed_on or person in (exchange.asker, exchange.target)


def heard_exchanges(state: State, person: int, paper_bugs: bool) -> Iterator[tuple[int, Exchange]]:
    """Yield the exchanges that a person has heard, each with its number."""
    for at, exchange in enumerate(state.talk):
        if hears(state, person, at, paper_bugs):
            yield at, exchange


def swapped(state: State) -> Iterator[tuple[int, ...]]:
    """Yield the people who changed rooms after each round."""
    for before, after in zip(state.rooms, state.rooms[1:], strict=False):
        yield tuple(person for person in range(PEOPLE) if before[person] != after[person])


LINE = r"(?=.*\S)[^\x00-\x1f\x7f-\x9f\u2028\u2029]+"
"""One non-blank line."""
LONGEST = 120

QUESTION = TextSpec(
    "one line, a short question",
    (
        "Who are you?",
        "Which team are you on?",
        "Are you the president?",
        "Are you the bomber?",
    ),
    LINE,
    LONGEST,
)

KINDS = ("blue", "red", "president", "bomber")
"""What a person may be, or claim to be: the first two are neither president nor bomber."""
ADMIT = ("I am blue.", "I am red.", "I am the president.", "I am the bomber.")
"""How scripted players claim each."""

ANSWER = TextSpec("one line, a short answer", (*ADMIT, "I will not tell."), LINE, LONGEST)

_CLAIM = re.compile(
    r"\bI(?:['\N{RIGHT SINGLE QUOTATION MARK}]m| am)(?: on| of| in| a| the| team)* "
    r"(blue|red|president|bomber)\b",
    re.IGNORECASE,
)


def claimed(answer: str) -> int | None:
    """Return the index in KINDS of what the answer claims, the last of several claims; None without
    one."""
    found = _CLAIM.findall(answer)
    return KINDS.index(found[-1].lower()) if found else None


PARTNER, OPPONENT = (0.91, 0.03), (0.4, 0.2)
"""For a teammate and an opponent: the probability of claiming the truth, and of each of the three
false claims."""


@dataclass(frozen=True)
class View:
    """What a person knows.

    role: its own. special: whether it is the president or the bomber, None if unknown. kin: people
    known to be of its team (True) or not (False). leaders, rooms: as in State. talk: every exchange
    so far, None if not heard. chosen: whether room 0 has chosen.
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
    """Yield all consistent deals."""
    team = view.role // (PEOPLE // 2)
    rest = [person for person in range(PEOPLE) if person != view.person]
    for partners in combinations(rest, PEOPLE // 2 - 1):
        teammates = {view.person, *partners}
        if any((person in teammates) != kin for person, kin in view.kin):
            continue
        teams = tuple(team if person in teammates else 1 - team for person in range(PEOPLE))
        for president in within(teams, BLUE):
            for bomber in within(teams, RED):
                special = view.person in (president, bomber)
                if view.special is None or special == view.special:
                    yield teams, president, bomber


def claims_heard(view: View) -> list[tuple[int, int]]:
    """Return who claimed to be what, as an index in KINDS, for all others, in order."""
    answered = [
        (one.target, claimed(one.answer))
        for one in view.talk
        if one and one.answer and one.target != view.person
    ]
    return [(person, kind) for person, kind in answered if kind is not None]


def likelihood(deal: Deal, claims: Sequence[tuple[int, int]], person: int) -> float:
    """Return the likelihood of these claims of others for a person: teammates mostly tell the
    truth, opponents less often."""
    teams, president, bomber = deal
    chance = 1.0
    for who, kind in claims:
        true, false = PARTNER if teams[who] == teams[person] else OPPONENT
        chance *= true if kind == kind_of(who, teams, president, bomber) else false
    return chance


def kind_of(person: int, teams: Sequence[int], president: int, bomber: int) -> int:
    """Return the index in KINDS of what a person is."""
    if person == president:
        return KINDS.index("president")
    return KINDS.index("bomber") if person == bomber else teams[person]


def sample_state(view: View, rng: np.random.Generator) -> State:
    """Return a consistent state: cards drawn by the likelihood of the claims; unheard talk and the
    other room's choice drawn at random."""
    fit, claims = list(deals(view)), claims_heard(view)
    weights = np.array([likelihood(deal, claims, view.person) for deal in fit])
    teams, president, bomber = fit[int(rng.choice(len(fit), p=weights / weights.sum()))]
    talk = tuple(one or _unheard(view, at, rng) for at, one in enumerate(view.talk))
    state = State(_roles(view, teams, rng), president, bomber, view.leaders, view.rooms, talk)
    return _with_choice(state, rng) if view.chosen else state


def _roles(view: View, teams: Sequence[int], rng: np.random.Generator) -> tuple[int, ...]:
    """Return which of its team's roles each person has."""
    roles = [view.role] * PEOPLE
    for side in (BLUE, RED):
        half = range(side * PEOPLE // 2, (side + 1) * PEOPLE // 2)
        free = rng.permutation([role for role in half if role != view.role]).tolist()
        for person in within(teams, side):
            if person != view.person:
                roles[person] = free.pop()
    return tuple(roles)


def _unheard(view: View, at: int, rng: np.random.Generator) -> Exchange:
    """Return a random exchange by the person whose turn it was, with someone such that the viewer
    does not hear it."""
    rooms = view.rooms[at // PEOPLE]
    asker = askers(rooms)[at % PEOPLE]
    here = within(rooms, rooms[asker])
    target = rng.choice([one for one in here if one not in (asker, view.person)])
    question, answer = (str(rng.choice(spec.examples)) for spec in (QUESTION, ANSWER))
    return Exchange(asker, int(target), question, answer)


def _with_choice(state: State, rng: np.random.Generator) -> State:
    here = [one for one in within(state.rooms[-1], 0) if one != state.leaders[0]]
    return replace(state, chosen=int(rng.choice(here)))


def known_kin(state: State, person: int, paper_bugs: bool) -> tuple[tuple[int, bool], ...]:
    """With paper bugs a leader hears its own team's questions, and so learns the team of those
    who asked somebody else in its room."""
    if not paper_bugs or person not in state.leaders:
        return ()
    room = state.leaders.index(person)
    kin = {
        exchange.asker: team(state, exchange.asker) == team(state, person)
        for at, exchange in enumerate(state.talk)
        if exchange.answer is not None
        and state.rooms[at // PEOPLE][exchange.asker] == room
        and person not in (exchange.asker, exchange.target)
    }
    return tuple(sorted(kin.items()))


TOLD = {
    "random": "asks, answers and sends at random",
    "greedy": "asks whoever has not told yet who it is and answers with the truth; a leader who is "
    "president or bomber sends whom it least wants in its room by what each last said to be, any "
    "other leader anybody",
}
"""What each policy does, by name."""
ANOTHER = 2
"""A hostage who is neither the president, 0, nor the bomber, 1."""
Places = tuple[tuple[int, bool], tuple[int, bool]]
BLUES, REDS, PRESIDENT, BOMBER = range(len(KINDS))
SENT: tuple[dict[int | None, int], ...] = (
    {BOMBER: 3, REDS: 2, None: 1, PRESIDENT: 1, BLUES: 0},
    {REDS: 3, BLUES: 2, BOMBER: 2, None: 1, PRESIDENT: 0},
)
"""How much a president, or a bomber, who leads a room wants to send away the person with
each claim."""


def check(policy: str) -> None:
    """Raises ValueError for an unknown policy."""
    check_known_policy("two rooms", policy, TOLD)


def asking(view: View, targets: Sequence[int]) -> tuple[float, ...]:
    """Return the greedy player's probability to ask each."""
    said = dict(claims_heard(view))
    best = [target for target in targets if target not in said] or list(targets)
    return tuple((target in best) / len(best) for target in targets)


def sending(view: View, hostages: Sequence[int]) -> tuple[float, ...]:
    """Return the greedy leader's probability to send each."""
    said = dict(claims_heard(view))
    liked = SENT[view.role // (PEOPLE // 2)] if view.special else {}
    wishes = [liked.get(said.get(hostage), 0) for hostage in hostages]
    best = [wish == max(wishes) for wish in wishes]
    return tuple(one / sum(best) for one in best)


def truth(view: View) -> str:
    team = view.role // (PEOPLE // 2)
    return ADMIT[(PRESIDENT, BOMBER)[team] if view.special else team]


def question(view: View) -> str:
    return QUESTION.examples[0]


def worth(state: State, team: int, rounds: int) -> float:
    """Return a team's probability to win if all leaders send random hostages from now on; a hostage
    already chosen goes."""
    president, bomber = (
        (state.rooms[-1][who], who in state.leaders) for who in (state.president, state.bomber)
    )
    chosen = None
    if state.chosen is not None:
        chosen = {state.president: 0, state.bomber: 1}.get(state.chosen, ANOTHER)
    chance = _meeting((president, bomber), chosen, rounds - number(state))
    return 1 - chance if team == BLUE else chance


@cache
def _meeting(places: Places, chosen: int | None, meetings_left: int) -> float:
    """Return the probability that president and bomber end in one room after `left` more swaps.

    places: for both, the room, and whether they lead it. chosen: which of them room 0 has chosen,
    or ANOTHER.
    """
    if meetings_left == 0:
        return float(places[0][0] == places[1][0])
    first = _hostages(places, 0) if chosen is None else [chosen]
    chances = [
        _meeting(_swapped(places, (one, other)), None, meetings_left - 1)
        for one in first
        for other in _hostages(places, 1)
    ]
    return sum(chances) / len(chances)


def _hostages(places: Places, room: int) -> list[int]:
    """Return whom the leader of a room may send."""
    known = [who for who, (place, leads) in enumerate(places) if place == room and not leads]
    return known + [ANOTHER] * (PEOPLE // 2 - 1 - len(known))


def _swapped(places: Places, moving: tuple[int, int]) -> Places:
    first, second = (
        (1 - place if who in moving else place, leads) for who, (place, leads) in enumerate(places)
    )
    return first, second
