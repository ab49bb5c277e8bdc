"""A state of Air, Land & Sea, and what one seat sees of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from games.air_land_sea.cards import CARDS

HIDDEN = -1
"""A card that the seat does not see."""


class Placed(NamedTuple):
    """A card in a theatre. seen: whether it ever lay face up. worth: its strength as the published
    code has last reckoned it; 0 without quirks."""

    card: int
    up: bool
    seen: bool
    worth: int = 0


class Lost(NamedTuple):
    """A card that was destroyed. seen: whether both seats know which it was."""

    card: int
    owner: int
    seen: bool


class Task(NamedTuple):
    """An ability to be carried out.

    card: whose ability. owner: the seat that it is of. theatre: where the card lay when it came
    into effect. step: how far it has come. drawn: the card that Reinforce drew. waiting: how many
    abilities its first step has called up (Disrupt).
    """

    card: int
    owner: int
    theatre: int
    step: int = 0
    drawn: int | None = None
    waiting: int = 0


Column = tuple[Placed, ...]
Side = tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class State:
    """A state, in the middle of a battle or over.

    seed: settles the deals of later battles. order: the theatres from left to right. first: the
    seat that plays first and wins ties. turn: whose turn it is. hands: sorted. columns: by seat and
    theatre, the uncovered card last. deck: the card to be drawn next is the last. lost: what was
    destroyed in this battle. drop: seats whose next card may go anywhere (Air Drop). shown: by
    seat, cards that the other knows it to hold, in hand or face down. tasks: abilities in the order
    in which they are carried out; the first waits for a choice.
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
    lost: tuple[Lost, ...] = ()
    drop: tuple[bool, bool] = (False, False)
    shown: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    tasks: tuple[Task, ...] = ()
    history: tuple[str, ...] = ()


def seen_by(state: State, seat: int) -> State:
    """The state with `HIDDEN` for every card that the seat does not see, and no seed."""
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


def redealt(seen: State, seat: int, rng: np.random.Generator) -> State:
    """A state that looks like this to the seat: what it does not see is dealt anew. Cards that the
    other seat is known to hold go to its hand or its face-down cards."""
    other = 1 - seat
    known = {p.card for side in seen.columns for column in side for p in column}
    known |= {one.card for one in seen.lost} | {*seen.hands[seat], *seen.shown[other]}
    known |= {task.drawn for task in seen.tasks if task.drawn is not None}
    unseen = rng.permutation([card for card in CARDS if card not in known]).tolist()
    places = sum(p.card == HIDDEN for column in seen.columns[other] for p in column)
    places += sum(one.card == HIDDEN for one in seen.lost)
    held = len(seen.hands[other]) + places - len(seen.shown[other])
    cards = rng.permutation([*seen.shown[other], *unseen[:held]]).tolist()
    hands, columns = list(seen.hands), list(seen.columns)
    hands[other] = tuple(sorted(cards.pop() for _ in hands[other]))
    columns[other] = tuple(
        tuple(p._replace(card=cards.pop()) if p.card == HIDDEN else p for p in column)
        for column in columns[other]
    )
    lost = tuple(one._replace(card=cards.pop()) if one.card == HIDDEN else one for one in seen.lost)
    return replace(
        seen,
        seed=int(rng.integers(2**63)),
        hands=(hands[0], hands[1]),
        columns=(columns[0], columns[1]),
        deck=tuple(unseen[held:]),
        lost=lost,
    )
