"""Air, Land & Sea's state: cards, what one seat sees, who holds a theatre, legal actions.

There are eighteen cards, six per theatre, of strength 1 to 6. A card is a number: six times its
theatre plus its strength minus one. Names, strengths and abilities are those of the revised
edition, which GameBench plays (arXiv 2406.06613, appendix K).

Actions are numbers. A flip names a place, not a card, since the player may not know what lies
there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

THEATRES = ("air", "land", "sea")
AIR, LAND, SEA = range(3)
CARDS = range(18)
HAND = 6
"""Cards dealt to each player for a battle."""
DOWN = 2
"""Strength of a face-down card."""
RAISED = 4
"""Strength that Escalation and Cover Fire give."""

(SUPPORT, AIR_DROP, AIR_MANEUVER, AERODROME, CONTAINMENT, HEAVY_BOMBERS) = range(6)
(REINFORCE, AMBUSH, LAND_MANEUVER, COVER_FIRE, DISRUPT, HEAVY_TANKS) = range(6, 12)
(TRANSPORT, ESCALATION, SEA_MANEUVER, REDEPLOY, BLOCKADE, SUPER_BATTLESHIP) = range(12, 18)
MANEUVERS = (AIR_MANEUVER, LAND_MANEUVER, SEA_MANEUVER)
INSTANT = (*MANEUVERS, AIR_DROP, REINFORCE, AMBUSH, DISRUPT, TRANSPORT, REDEPLOY)
"""Cards with a one-time effect as soon as they lie face up."""


class Card(NamedTuple):
    """The face of a card; no text if it has no ability."""

    name: str
    text: str = ""


_FLIP = "once: flip an uncovered card in an adjacent theatre"
FACES = (
    Card("Support", "lasting: you have 3 more strength in each adjacent theatre"),
    Card("Air Drop", "once: you may deploy the next card you play to any theatre"),
    Card("Air Maneuver", _FLIP),
    Card("Aerodrome", "lasting: you may deploy cards of strength 3 or less to any theatre"),
    Card("Containment", "lasting: destroys any card that is played face down, by anyone"),
    Card("Heavy Bombers"),
    Card("Reinforce", "once: draw a card and play it face down to an adjacent theatre"),
    Card("Ambush", "once: flip any uncovered card"),
    Card("Land Maneuver", _FLIP),
    Card("Cover Fire", "lasting: the cards that it covers have strength 4"),
    Card("Disrupt", "once: first you, then the opponent flips an uncovered card of its own"),
    Card("Heavy Tanks"),
    Card("Transport", "once: you may move one of your cards to another theatre"),
    Card("Escalation", "lasting: your face-down cards have strength 4"),
    Card("Sea Maneuver", _FLIP),
    Card("Redeploy", "once: you may take back a face-down card of yours; if so, play a card"),
    Card(
        "Blockade",
        "lasting: destroys any card that is played, by anyone, to an adjacent theatre with 3 or "
        "more other cards",
    ),
    Card("Super Battleship"),
)
NAMES = tuple(face.name for face in FACES)


def theatre(card: int) -> int:
    """Return the theatre that the card matches."""
    return card // 6


def strength(card: int) -> int:
    """Return the strength printed on the card, 1 to 6."""
    return card % 6 + 1


HIDDEN = -1
"""A card that the seat does not see."""


class PlacedCard(NamedTuple):
    """A card in a theatre. seen: whether it ever lay face up. worth: its strength as last computed
    by the published code; 0 without paper bugs."""

    card: int
    up: bool
    seen: bool
    worth: int = 0


class LostCard(NamedTuple):
    """A destroyed card. seen: whether both seats know which it was."""

    card: int
    owner: int
    seen: bool


class Task(NamedTuple):
    """A pending ability.

    card: whose ability it is. owner: the seat that it serves. theatre: where the card lay when it
    took effect. step: how many steps are done. drawn: the card that Reinforce drew. waiting: how
    many abilities its first step triggered (Disrupt).
    """

    card: int
    owner: int
    theatre: int
    step: int = 0
    drawn: int | None = None
    waiting: int = 0


Column = tuple[PlacedCard, ...]
Side = tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class State:
    """A state, mid-battle or final.

    seed: determines the deals of later battles. order: the theatres from left to right. first: the
    seat that plays first and wins ties. turn: whose turn it is. hands: sorted. columns: by seat and
    theatre, the uncovered card last. deck: the next card to draw is the last. lost: cards destroyed
    in this battle. drop: seats whose next card may go anywhere (Air Drop). shown: by seat, cards
    that the other seat knows it holds, in hand or face down. tasks: pending abilities in order; the
    first waits for a choice.
    """

    seed: int
    battle: int
    order: tuple[int, int, int]
    first: int
    points: tuple[int, int]
    turn: int
    hands: tuple[tuple[int, ...], tuple[int, ...]]
    columns: tuple[Side, Side]
    deck: tuple[int, ...]
    lost: tuple[LostCard, ...] = ()
    drop: tuple[bool, bool] = (False, False)
    shown: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    tasks: tuple[Task, ...] = ()
    history: tuple[str, ...] = ()


def seen_by(state: State, seat: int) -> State:
    """Return the state with `HIDDEN` for every card that the seat does not see, and no seed."""
    other = 1 - seat
    hands, columns = list(state.hands), list(state.columns)
    hands[other] = (HIDDEN,) * len(hands[other])
    columns[other] = tuple(
        tuple(p if p.seen else p._replace(card=HIDDEN) for p in column) for column in columns[other]
    )
    return replace(
        state,
        seed=0,
        hands=(hands[0], hands[1]),
        columns=(columns[0], columns[1]),
        deck=(HIDDEN,) * len(state.deck),
        lost=tuple(
            one if one.seen or one.owner == seat else one._replace(card=HIDDEN)
            for one in state.lost
        ),
    )


def redeal(state: State, seat: int, rng: np.random.Generator) -> State:
    """Return a state that looks the same to the seat, with everything unseen dealt again. Cards
    that the other seat is known to hold go to its hand or its face-down cards."""
    other = 1 - seat
    known_cards = {p.card for side in state.columns for column in side for p in column}
    known_cards |= {one.card for one in state.lost} | {*state.hands[seat], *state.shown[other]}
    known_cards |= {task.drawn for task in state.tasks if task.drawn is not None}
    unseen = rng.permutation([card for card in CARDS if card not in known_cards]).tolist()
    places = sum(p.card == HIDDEN for column in state.columns[other] for p in column)
    places += sum(one.card == HIDDEN for one in state.lost)
    hand_size = len(state.hands[other]) + places - len(state.shown[other])
    cards = rng.permutation([*state.shown[other], *unseen[:hand_size]]).tolist()
    hands, columns = list(state.hands), list(state.columns)
    hands[other] = tuple(sorted(cards.pop() for _ in hands[other]))
    columns[other] = tuple(
        tuple(p._replace(card=cards.pop()) if p.card == HIDDEN else p for p in column)
        for column in columns[other]
    )
    lost = tuple(
        one._replace(card=cards.pop()) if one.card == HIDDEN else one for one in state.lost
    )
    return replace(
        state,
        seed=int(rng.integers(2**63)),
        hands=(hands[0], hands[1]),
        columns=(columns[0], columns[1]),
        deck=tuple(unseen[hand_size:]),
        lost=lost,
    )


Totals = tuple[tuple[int, ...], tuple[int, ...]]


def adjacent(order: tuple[int, int, int], at: int) -> tuple[int, ...]:
    """Return the theatres next to `at`, from left to right."""
    return (order[1],) if at != order[1] else (order[0], order[2])


def face_up(state: State, seat: int, card: int) -> int | None:
    """Return the theatre in which the card lies face up on the seat's side, if any."""
    for at, column in enumerate(state.columns[seat]):
        for placed in column:
            if placed.up and placed.card == card:
                return at
    return None


def strengths(state: State, seat: int, at: int) -> tuple[int, ...]:
    """Return the strength of each card of a column, in order, by the rules."""
    down = RAISED if face_up(state, seat, ESCALATION) is not None else DOWN
    values = [strength(p.card) if p.up else down for p in state.columns[seat][at]]
    for place, placed in enumerate(state.columns[seat][at]):
        if placed.up and placed.card == COVER_FIRE:
            values[:place] = [RAISED] * place
    return tuple(values)


def totals(state: State, paper_bugs: bool) -> Totals:
    """Return the strength of each seat in each theatre."""
    return _side(state, 0, paper_bugs), _side(state, 1, paper_bugs)


def _side(state: State, seat: int, paper_bugs: bool) -> tuple[int, ...]:
    support = face_up(state, seat, SUPPORT)
    helped = () if support is None else adjacent(state.order, support)
    return tuple(
        sum((p.worth for p in column) if paper_bugs else strengths(state, seat, at))
        + 3 * (at in helped)
        for at, column in enumerate(state.columns[seat])
    )


def holders(state: State, paper_bugs: bool) -> tuple[int, ...]:
    """Return the seat that holds each theatre; the first player wins ties."""
    my_totals, other = totals(state, paper_bugs)
    return tuple(
        state.first if mine == theirs else int(theirs > mine)
        for mine, theirs in zip(my_totals, other, strict=True)
    )


def deployable(state: State, seat: int, card: int) -> tuple[int, ...]:
    """Return the theatres to which the seat may play the card face up."""
    if state.drop[seat]:
        return (0, 1, 2)
    if strength(card) <= 3 and face_up(state, seat, AERODROME) is not None:
        return (0, 1, 2)
    return (theatre(card),)


def destroyer(state: State, at: int, up: bool) -> int | None:
    """Return the card that destroys one played to a theatre, face up or down; None if none does."""
    if not up and any(face_up(state, seat, CONTAINMENT) is not None for seat in (0, 1)):
        return CONTAINMENT
    for seat in (0, 1):
        blockade = face_up(state, seat, BLOCKADE)
        if blockade is not None and at in adjacent(state.order, blockade):
            full = sum(len(state.columns[side][at]) for side in (0, 1)) >= 3
            return BLOCKADE if full else None
    return None


def uncovered(state: State, seat: int, at: int) -> PlacedCard | None:
    """Return the seat's top card in a theatre."""
    column = state.columns[seat][at]
    return column[-1] if column else None


DEPLOY = 0  # + 3 * card + theatre
IMPROVISE = DEPLOY + 3 * len(CARDS)  # + 3 * card + theatre
WITHDRAW = IMPROVISE + 3 * len(CARDS)
FLIP = WITHDRAW + 1  # + 3 * seat + theatre
MOVE = FLIP + 6  # + 3 * card + theatre
RETURN = MOVE + 3 * len(CARDS)  # + card
NOTHING = RETURN + len(CARDS)
LAY = NOTHING + 1  # + theatre
LAST = LAY + 2


def decider(state: State, paper_bugs: bool) -> int:
    """Return the seat that chooses; in the published code the owner of Disrupt makes both
    choices."""
    if not state.tasks:
        return state.turn
    task = state.tasks[0]
    return task.owner if paper_bugs else flipper(task)


def flipper(task: Task) -> int:
    """Return the seat whose card Disrupt flips; the owner for any other ability."""
    return 1 - task.owner if task.card == DISRUPT and task.step == 1 else task.owner


def options(state: State) -> tuple[int, ...]:
    """Return the legal actions; () if the current ability leaves nothing to choose."""
    if not state.tasks:
        return (*_plays(state, state.turn), WITHDRAW)
    return tuple(_ability(state, state.tasks[0]))


def _plays(state: State, seat: int) -> tuple[int, ...]:
    hand = state.hands[seat]
    up = [DEPLOY + 3 * card + at for card in hand for at in deployable(state, seat, card)]
    return (*up, *(IMPROVISE + 3 * card + at for card in hand for at in range(3)))


def _ability(state: State, task: Task) -> Iterator[int]:
    if task.card in MANEUVERS:
        yield from _flips(state, (0, 1), adjacent(state.order, task.theatre))
    elif task.card == AMBUSH:
        yield from _flips(state, (0, 1), state.order)
    elif task.card == DISRUPT:
        yield from _flips(state, (flipper(task),), state.order)
    elif task.card == REINFORCE and task.drawn is not None:
        yield from (LAY + at for at in adjacent(state.order, task.theatre))
    elif task.card == TRANSPORT:
        yield from _moves(state, task.owner)
    elif task.card == REDEPLOY and task.step == 0:
        yield from _returns(state, task.owner)
    elif task.card == REDEPLOY:
        yield from _plays(state, task.owner)


def _flips(state: State, seats: tuple[int, ...], theatres: tuple[int, ...]) -> Iterator[int]:
    for seat in seats:
        for at in theatres:
            if uncovered(state, seat, at):
                yield FLIP + 3 * seat + at


def _moves(state: State, seat: int) -> Iterator[int]:
    for at in state.order:
        for placed in state.columns[seat][at]:
            yield from (MOVE + 3 * placed.card + to for to in state.order if to != at)
    if any(state.columns[seat]):
        yield NOTHING


def _returns(state: State, seat: int) -> Iterator[int]:
    down = [p.card for column in state.columns[seat] for p in column if not p.up]
    yield from (RETURN + card for card in down)
    if down:
        yield NOTHING
