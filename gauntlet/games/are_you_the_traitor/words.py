"""Are You the Traitor? as text: rules, facts and history clauses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gauntlet.games.are_you_the_traitor.state import (
    ACCUSE,
    ANSWER,
    ASK,
    EVIL,
    EVIL_WIZARD,
    GOOD_WIZARD,
    GUARD,
    KEY_HOLDER,
    KINDS,
    NAMES,
    ROLES,
    STOP,
    TARGETS,
    TEAMS,
    TRAITOR,
    Exchange,
    Piles,
    View,
    points,
)
from gauntlet.games.base import Fact

TITLE = "Are You the Traitor?"
SUMMARY = (
    "Five people argue about a magic key: on the evil team the traitor and the evil wizard, on the "
    "good team the good wizard, the key holder and the guard. In each round they question each "
    "other until one of them says STOP and accuses somebody; who is right wins treasure for the "
    "team, who is wrong gives it to the other team."
)


def headings(goal: int, exchanges: int, paper_bugs: bool) -> Mapping[str, str]:
    names = ", ".join(NAMES)
    dealt = (
        f"The five are called {names}; who has which name stays the same all game."
        if paper_bugs
        else f"In each round the five get the names {names} anew at random."
    )
    key = (
        "The others do not know who is who."
        if paper_bugs
        else "The traitor knows who holds the key, and so who is the guard. The key holder and the "
        "guard know of nobody else."
    )
    return {
        "Names": f"{dealt} All see which two names are wizards, not which of them is good.",
        "Who knows what": f"Everyone knows their own role. The wizards know each other. {key} A "
        "seat that plays several roles is told at each turn only what the acting role knows.",
        "Exchanges": "Somebody drawn at random asks another one a question, and gets an answer. "
        "Both may say what they like, true or not, and all hear it.",
        "STOP": "After each answer everybody but the traitor is asked, in a random order and "
        "unheard by the others, to pass or to say STOP. Whoever says STOP must accuse somebody. "
        f"After exchange {exchanges} of a round the last one asked may not pass.",
        "Targets": "The evil wizard must accuse the key holder, the good wizard and the guard the "
        "traitor, the key holder the good wizard. To accuse anybody else is wrong.",
        "Treasure": "Each role of the team that wins the round takes one card, worth in points: "
        + ", ".join(f"{name} {worth} ({cards} cards)" for name, cards, worth in KINDS)
        + ". All see all points.",
        "Rings and statues": "After each round everyone with a magic ring uses one up to take a "
        "card from a random player of the other team: a gilded statue if that player has one, "
        "else a random card.",
        "End": f"As soon as one role has {goal} points or more, its team wins the game. "
        + (
            "If both teams have such a role, the evil team wins."
            if paper_bugs
            else "If both teams have such a role, the richer one decides, and between equals the "
            "team that won the round."
        ),
    }


def facts(view: View, exchanges: int) -> tuple[Fact, ...]:
    first, second = view.wizards
    wizards = f"{NAMES[first]} and {NAMES[second]}, one good and one evil"
    fact_list = (
        Fact("You are", f"{NAMES[view.known[view.role]]}, {ROLES.names[view.role]}", own=True),
        Fact("Your team", TEAMS[ROLES.teams[view.role]], own=True),
        Fact("To do", _task(view), own=True),
        Fact("You know", _knowledge(view), own=True),
        Fact("Wizards", wizards),
        Fact("Round", f"{view.round + 1}, exchange {view.exchange + 1} of {exchanges}"),
        Fact("Said in this round", _talk(view.talk)),
        Fact("Points", scores(view.piles)),
    )
    if view.role == TRAITOR:
        return fact_list
    return (
        *fact_list[:3],
        Fact("Your target", ROLES.names[TARGETS[view.role]], own=True),
        *fact_list[3:],
    )


def _task(view: View) -> str:
    if view.phase == ASK:
        return "choose whom to ask, and ask"
    if view.phase == ANSWER:
        said = view.talk[-1]
        return f'answer {NAMES[said.asker]}, who asks "{said.question}"'
    if view.phase == STOP:
        return "say STOP, for you may not pass now" if view.forced else "pass or say STOP"
    return "accuse somebody"


def _knowledge(view: View) -> str:
    first, second = view.wizards
    other_names = [NAMES[name] for name in range(len(NAMES)) if name not in (first, second)]
    if view.role in (EVIL_WIZARD, GOOD_WIZARD):
        other = EVIL_WIZARD + GOOD_WIZARD - view.role
        return (
            f"{NAMES[view.known[other]]} is {ROLES.names[other]}; {', '.join(other_names)} are the "
            "traitor, the key holder and the guard, who is who is hidden"
        )
    if view.role == TRAITOR and view.known[KEY_HOLDER] >= 0:
        key, guard = NAMES[view.known[KEY_HOLDER]], NAMES[view.known[GUARD]]
        return f"{key} is the key holder and {guard} the guard"
    other_names.remove(NAMES[view.known[view.role]])
    roles = [role for role in (TRAITOR, KEY_HOLDER, GUARD) if role != view.role]
    return (
        f"{other_names[0]} and {other_names[1]} are {ROLES.names[roles[0]]} and "
        f"{ROLES.names[roles[1]]}, who is who is hidden"
    )


def _talk(talk: Iterable[Exchange]) -> str:
    lines = [line for said in talk for line in _lines(said)]
    return "\n".join(lines) or "nothing yet"


def _lines(exchange: Exchange) -> list[str]:
    asked = f"{NAMES[exchange.asker]} asked {NAMES[exchange.asked]}: {exchange.question.strip()}"
    answer = f"{NAMES[exchange.asked]} answered: {exchange.answer.strip()}"
    return [asked, answer] if exchange.answer else [asked]


def scores(piles: Piles) -> str:
    """Return the points of each role, evil ones first."""
    evil, good = (
        ", ".join(
            f"{name} {points(pile)}"
            for name, pile, side in zip(ROLES.names, piles, ROLES.teams, strict=True)
            if side == team
        )
        for team in (EVIL, 1 - EVIL)
    )
    return f"{evil}; {good}"


def options(view: View, names: Iterable[int]) -> tuple[str, ...]:
    """Return the names of the options; `names` are whom those of ASK and ACCUSE concern."""
    if view.phase == ANSWER:
        return (f"answer {NAMES[view.talk[-1].asker]}",)
    if view.phase == STOP:
        return ("say STOP",) if view.forced else ("pass", "say STOP")
    verb = "accuse" if view.phase == ACCUSE else "ask"
    return tuple(f"{verb} {NAMES[name]}" for name in names)


def dealt(number: int, first: int, second: int) -> str:
    return f"round {number + 1}: {NAMES[first]} and {NAMES[second]} are wizards"


def asks(exchange: Exchange) -> str:
    return f'{NAMES[exchange.asker]} asks {NAMES[exchange.asked]} "{exchange.question}"'


def responds(exchange: Exchange) -> str:
    return f'{NAMES[exchange.asked]} answers "{exchange.answer}"'


def accuses(accuser: str, accused: str, right: bool) -> str:
    return f"{accuser} says STOP and accuses {accused}, and is {'right' if right else 'wrong'}"


def takes(team: int, cards: Mapping[int, int]) -> str:
    """History clause: what the team that won a round takes, a kind by role."""
    told = ", ".join(f"{ROLES.names[role]} a {KINDS[kind][0]}" for role, kind in cards.items())
    return f"the {TEAMS[team]} team takes treasure: {told}"
