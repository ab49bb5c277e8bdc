"""Two Rooms and a Boom as text: rules, moves, and what each person sees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gauntlet.games.base import Fact
from gauntlet.games.teams import Roles
from gauntlet.games.two_rooms import rules
from gauntlet.games.two_rooms.rules import (
    BLUE,
    PEOPLE,
    RED,
    ROOMS,
    Exchange,
    State,
    acting,
    heard_exchanges,
    number,
    questions_asked,
    swapped,
    team,
    together,
    trading,
    unanswered,
    within,
)

TITLE = "Two Rooms and a Boom"
NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn")
TEAMS = ("blue", "red")
ROLES = Roles(
    names=("a player of blue",) * 3 + ("a player of red",) * 3,
    teams=(BLUE,) * 3 + (RED,) * 3,
)

SUMMARY = (
    "Two Rooms and a Boom: six people in two rooms are three of team blue, the president among "
    "them, and three of team red, the bomber among them. In the end red wins if the president and "
    "the bomber are in the same room; else blue wins. Find out who is who by talking to the people "
    "in your room."
)


def headings(rounds: int, paper_bugs: bool) -> dict[str, str]:
    cards = (
        "You know your own team and nobody else's; nobody is told who president and bomber are."
        if paper_bugs
        else "You know your own card, which tells your team and whether you are the president or "
        "the bomber. You know nobody else's, not even your partners'."
    )
    hearing = (
        "What is said is heard by these two, and by the leader of the room if it is of the asker's "
        "team."
        if paper_bugs
        else "Everybody in the room hears it, nobody in the other room does."
    )
    return {
        "Cards": f"{cards} Cards are never shown and never change.",
        "Rooms": "There are three people in each room. One of them, dealt at random, is its leader "
        "for the whole game and never leaves it.",
        "Rounds": f"The game has {rounds} round{'s' * (rounds > 1)}. In a round everybody asks one "
        "question, and then the hostages change rooms.",
        "Questions": "You ask one person in your room, in your own words, and that person answers. "
        f"Answers need not be true. {hearing}",
        "Hostages": "Each leader sends one of the two others in its room to the other room. Both "
        "choose without knowing the other's choice, and the two people change places.",
    }


def option(state: State, action: int) -> str:
    if unanswered(state):
        return f"answer {NAMES[action]}"
    return f"{'send' if trading(state) else 'ask'} {NAMES[action]}"


def history(state: State) -> tuple[str, ...]:
    """Return the public events: who asks is public, whom and what is not."""
    lines = []
    changed = list(swapped(state))
    for at, rooms in enumerate(state.rooms):
        talk = state.talk[at * PEOPLE : (at + 1) * PEOPLE]
        lines += [
            f"round {at + 1}: {NAMES[one.asker]} asked in room {rooms[one.asker]}" for one in talk
        ]
        if at < len(changed):
            lines.append(f"round {at + 1}: {_name_list(changed[at], ' and ')} changed rooms")
    return tuple(lines)


def facts(state: State, rounds: int, paper_bugs: bool) -> Iterator[Fact]:
    person, rooms = acting(state), state.rooms[-1]
    yield Fact("You are", _self(state, person, paper_bugs), own=True)
    step = "hostages" if trading(state) else f"question {max(1, _question(state))} of {PEOPLE}"
    yield Fact("Round", f"{number(state) + 1} of {rounds}, {step}")
    for room in ROOMS:
        here = within(rooms, room)
        yield Fact(f"Room {room}", ", ".join(_person_text(state, who, person) for who in here))
    yield Fact("To do", _to_do(state, person), own=True)
    exchanges = list(heard_exchanges(state, person, paper_bugs))
    claims = [
        (one.target, rules.claimed(one.answer))
        for _, one in exchanges
        if one.answer and one.target != person
    ]
    last = {who: kind for who, kind in claims if kind is not None}
    told = "; ".join(f"{NAMES[who]}: {rules.KINDS[last[who]]}" for who in sorted(last))
    yield Fact("They said to be", told or "nothing so far", own=True)
    lines = [
        f"round {at // PEOPLE + 1}: {_format_exchange(one)}" for at, one in exchanges if one.answer
    ]
    yield Fact("Heard so far", "\n".join(lines) or "nothing", own=True)


def _self(state: State, person: int, paper_bugs: bool) -> str:
    parts = [NAMES[person], TEAMS[team(state, person)]]
    if not paper_bugs and person in (state.president, state.bomber):
        parts.append("the president" if person == state.president else "the bomber")
    if person in state.leaders:
        parts.append(f"leader of room {state.leaders.index(person)}")
    return ", ".join(parts)


def _question(state: State) -> int:
    return questions_asked(state) + (not unanswered(state))


def _person_text(state: State, who: int, person: int) -> str:
    notes = ["you"] * (who == person) + ["leader"] * (who in state.leaders)
    return f"{NAMES[who]} ({', '.join(notes)})" if notes else NAMES[who]


def _to_do(state: State, person: int) -> str:
    if unanswered(state):
        exchange = state.talk[-1]
        return f'answer {NAMES[exchange.asker]}, who asks you: "{exchange.question}"'
    if trading(state):
        return f"send a hostage to room {1 - state.rooms[-1][person]}"
    return "ask somebody in your room a question"


def _format_exchange(exchange: Exchange) -> str:
    asker, target = NAMES[exchange.asker], NAMES[exchange.target]
    return f'{asker} asked {target}: "{exchange.question}" - "{exchange.answer}"'


def _name_list(people: Iterable[int], between: str = ", ") -> str:
    return between.join(NAMES[person] for person in people)


def show_state(state: State, rounds: int) -> str:
    lines = [
        f"room {room}: {', '.join(_carded(state, who) for who in within(state.rooms[-1], room))}"
        for room in ROOMS
    ]
    if number(state) == rounds:
        won = TEAMS[RED if together(state) else BLUE]
        return "\n".join([*lines, f"over, {won} has won"])
    lines.append(f"round {number(state) + 1} of {rounds}, {NAMES[acting(state)]} acts")
    if state.talk and not trading(state):
        exchange = state.talk[-1]
        lines.append(
            f'{NAMES[exchange.asker]} asked {NAMES[exchange.target]}: "{exchange.question}"'
            if exchange.answer is None
            else _format_exchange(exchange)
        )
    if state.chosen is not None:
        lines.append(f"room 0 sends {NAMES[state.chosen]}")
    return "\n".join(lines)


def _carded(state: State, person: int) -> str:
    cards = [TEAMS[team(state, person)]]
    cards += ["president"] * (person == state.president) + ["bomber"] * (person == state.bomber)
    cards += ["leader"] * (person in state.leaders)
    return f"{NAMES[person]} ({', '.join(cards)})"
