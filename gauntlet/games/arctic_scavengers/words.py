"""Arctic Scavengers as text: rules, facts, options and history clauses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gauntlet.games.arctic_scavengers.state import (
    ACTIONS,
    CARDS,
    CONTESTED,
    DIG,
    DRAW,
    GATHER,
    HIRE,
    HUNT,
    JUNK,
    JUNKYARD,
    LOOK,
    NOT,
    PILES,
    RESPOND,
    SKIRMISH,
    START,
    STOP,
    TRASH,
    Action,
    Hand,
    View,
    card_list,
    medicine,
    people,
    strength,
    striker,
    total,
)
from gauntlet.games.base import Fact

TITLE = "Arctic Scavengers"
VERBS = {DIG: "dig", DRAW: "draw", HUNT: "hunt"}
OTHERS = {DIG: "digs", DRAW: "draws", HUNT: "hunts"}


def summary(rounds: int, loose: bool) -> str:
    end = (
        "After the last round the tribe with more people in its hand wins, player 1 if there are "
        "as many."
        if loose
        else "After the last round the tribe with more people on all its cards wins; as many are a "
        "draw."
    )
    return (
        f"Two tribes of survivors, each a deck of cards, play {rounds} rounds. In a round each "
        "draws five cards, uses some of them to hunt, dig and hire, and keeps the others for a "
        f"skirmish over a contested card. {end}"
    )


def headings(peaceful: int, loose: bool) -> Mapping[str, str]:
    tools = "any number of tools" if loose else "one tool and one Group Leaders"
    return {
        "Round": "Both shuffle their cards, draw five, and have the rest as reserve. One gathers, "
        "then the other, then both skirmish. Player 0 begins round 1, player 1 round 2, and so on.",
        "Gather": "Once a round each: dig, draw, hunt, hire; and trash cards. Cards used leave the "
        "hand and do not fight.",
        "Values": "Add up the values of all cards used. Those with a + add to a card without, "
        f"which may use {tools}.",
        "Dig": "Look at as many cards of the junkyard, keep "
        f"{'one' if loose else 'one or none'}, put the others at its bottom.",
        "Draw": "Draw as many cards from the reserve into the hand.",
        "Hire": "Hunting gives food for this round. "
        + ("A mercenary is free." if loose else "A mercenary costs food and medicine cards."),
        "Trash": "Put a card of the hand into the junkyard for good.",
        **({} if loose else {"Strikes": STRIKES}),
        "Skirmish": _without_skirmish(peaceful)
        + "Hands are shown. "
        + (
            "A Saboteur may discard all cards of the other hand that are not people. "
            if loose
            else "Each Sniper Team may discard a card with people of the other hand, each Saboteur "
            "one without. "
        )
        + "The higher fight value wins the contested card; if equal, the hand with more people. "
        + (
            "All fight values count."
            if loose
            else "Each card that fights may use one tool and one Group Leaders; others add nothing."
        ),
        "Mercenaries": _list(PILES, costs=not loose),
        "Junkyard": f"{JUNKYARD.count(JUNK)} Junk, {sum(_cures(JUNKYARD))} medicine (1 or 2 each), "
        f"{sum(_adds(JUNKYARD))} tools (up to +2), and what is trashed.",
        "Contested": f"One each, in random order: {_list(CONTESTED)}",
        "First cards": f"{card_list(START)}.",
    }


STRIKES = (
    "Who holds a Sniper Team while the other uses a card with people to dig, draw or hunt, or a "
    "Saboteur while the other uses a card without, may give it up for the round to discard that "
    "card; the action then fails and can be tried again."
)


def _cures(cards: Iterable[int]) -> list[bool]:
    return [CARDS[kind].medicine > 0 for kind in cards]


def _adds(cards: Iterable[int]) -> list[bool]:
    return [CARDS[kind].adds for kind in cards]


def _without_skirmish(rounds: int) -> str:
    if rounds < 2:
        return "The first round has none. " * rounds
    return f"The first {rounds} rounds have none. "


def _list(cards: Iterable[int], costs: bool = False) -> str:
    return "; ".join(_card(kind, costs) for kind in sorted(set(cards))) + "."


def _card(kind: int, costs: bool = False) -> str:
    """Return a card's name and everything it can do."""
    card = CARDS[kind]
    parts = [f"{card.people} people"] if card.people > 1 else ["1 person"] if card.people else []
    sign = "+" if card.adds else ""
    values = zip(ACTIONS, card.values, strict=True)
    parts += [f"{action} {sign}{value}" for action, value in values if value != NOT]
    parts += [f"medicine {card.medicine}"] if card.medicine else []
    if costs:
        parts.append(f"costs {price(kind)}")
    return f"{card.name} ({', '.join(parts) or 'useless'})"


def price(kind: int) -> str:
    card = CARDS[kind]
    parts = [f"{card.food} food"] * bool(card.food) + [f"{card.cure} medicine"] * bool(card.cure)
    return " + ".join(parts)


def facts(view: View, seat: int, rounds: int, peaceful: int, loose: bool) -> tuple[Fact, ...]:
    mine, other = view.own, 1 - seat
    peace = "no skirmish" if view.round < peaceful else "a skirmish at its end"
    fact_list = [
        Fact("To do", _task(view), own=True),
        Fact("Round", f"{view.round + 1} of {rounds}, with {peace}"),
        Fact("People", _people(view, other)),
        Fact("Your hand", _hand(mine.hand), own=True),
        Fact("Your hand in a skirmish", _strength(mine.hand, loose), own=True),
    ]
    if view.phase == LOOK:
        fact_list.append(Fact("Dug up", _hand(view.top), own=True))
    if view.phase == SKIRMISH:
        fact_list.append(Fact(f"Hand of player {other}", _hand(view.shown)))
        fact_list.append(Fact(f"Player {other} in this skirmish", _strength(view.shown, loose)))
    else:
        who = "keeps" if view.second and view.phase != RESPOND else "has"
        fact_list.append(Fact(f"Player {other}", f"{who} {_cards(view.hand)} in hand"))
    if view.phase in (GATHER, LOOK):
        fact_list.append(Fact("Food", f"{view.food}, and medicine {medicine(mine.hand)} in hand"))
        fact_list.append(Fact("Done this round", _verb_list(view.taken)))
    return (
        *fact_list,
        Fact("Your reserve", card_list(mine.reserve), own=True),
        Fact("Your used cards", card_list(mine.aside), own=True),
        Fact("Contested cards left", card_list(view.contested)),
        Fact("Mercenaries left", card_list(view.piles)),
    )


def _task(view: View) -> str:
    if view.phase == RESPOND and view.pending:
        return f"let the other player {_infinitive(view.pending)}, or stop it"
    return {
        GATHER: "use cards, or stop and keep the rest of the hand for the skirmish",
        LOOK: "choose a dug card to keep",
        SKIRMISH: "strike a card of the other hand, or hold",
    }[view.phase]


def _people(view: View, other: int) -> str:
    least = "at least " * bool(view.secret)
    return f"you {people(view.own.cards)}, player {other} {least}{people(view.known)}"


def _hand(cards: Hand) -> str:
    parts = []
    for kind in sorted(set(cards)):
        count = cards.count(kind)
        parts.append(f"{count} {_card(kind)}" if count > 1 else _card(kind))
    return "; ".join(parts) or "empty"


def _strength(hand: Hand, loose: bool) -> str:
    count = people(hand)
    return f"fight {strength(hand, loose)}, {count} {'person' if count == 1 else 'people'}"


def _cards(count: int) -> str:
    return f"{count} card{'s' * (count != 1)}"


def _verb_list(taken: Sequence[int]) -> str:
    return ", ".join((VERBS | {HIRE: "hire"})[verb] for verb in taken) or "nothing"


def _infinitive(action: Action) -> str:
    used = card_list(action.cards, " + ")
    if action.verb == HIRE:
        return f"hire {CARDS[action.hired].name}" + f" with {used}" * bool(used)
    return f"{VERBS[action.verb]} {total(action.cards, action.verb)} with {used}"


def option(action: Action, loose: bool) -> str:
    if action.verb == STOP:
        return "stop gathering"
    if action.verb == TRASH:
        return f"trash {card_list(action.cards)}"
    if action.verb != HIRE:
        return _infinitive(action)
    food = CARDS[action.hired].food
    paid = [f"{food} food"] * bool(food) + [card_list(action.cards, " + ")] * bool(action.cards)
    return f"hire {CARDS[action.hired].name}" + f" for {' + '.join(paid)}" * (not loose)


def strike(kind: int) -> str:
    return f"{'snipe' if CARDS[kind].people else 'sabotage'} {CARDS[kind].name}"


def keep(kind: int | None) -> str:
    return "keep none" if kind is None else f"keep {CARDS[kind].name}"


def begins(number: int, seat: int) -> str:
    return f"round {number + 1}: player {seat} begins"


def does(seat: int, action: Action) -> str:
    if action.verb == TRASH:
        return f"player {seat} trashes {card_list(action.cards)}"
    told = _infinitive(action)
    verb = told.partition(" ")[0]
    return f"player {seat} {verb}s{told.removeprefix(verb)}"


def keeps(seat: int, any_card: bool) -> str:
    return f"player {seat} keeps {'a' if any_card else 'no'} dug card"


def stops(seat: int, kind: int) -> str:
    return f"player {seat} stops that: a {CARDS[striker(kind)].name} strikes {CARDS[kind].name}"


def strikes(seat: int, kind: int) -> str:
    return f"player {seat}'s {CARDS[striker(kind)].name} strikes {CARDS[kind].name}"


def rests(seat: int, cards: int) -> str:
    return f"player {seat} stops with {_cards(cards)} in hand"


def peace(number: int) -> str:
    return f"round {number + 1} has no skirmish"


def brings(seat: int, hand: Hand) -> str:
    return f"player {seat} brings {card_list(hand)}"


def decided(scores: Sequence[tuple[int, int]], card: int) -> str:
    (fight, count), (other, other_count) = scores
    reason = f"fight {fight} to {other}"
    if fight == other:
        reason += f", people {count} to {other_count}"
    if scores[0] == scores[1]:
        return f"{reason}: {CARDS[card].name} goes into the junkyard"
    return f"{reason}: player {int(scores[1] > scores[0])} wins {CARDS[card].name}"
