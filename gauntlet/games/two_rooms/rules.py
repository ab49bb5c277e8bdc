"""Two Rooms' rules: who is in which room, who talks to whom, who hears it, and who wins.

Six people are numbered 0 to 5. A round is one question by each, room 0 first, and then one hostage
per room. Claims are how scripted players interpret what is asked and answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gauntlet.games.base import TextSpec

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
