"""A state of Arctic Scavengers, what a seat sees of one, and what the other one's cards can be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from games.arctic_scavengers.cards import Hand, without

T = TypeVar("T")

GATHER, LOOK, RESPOND, SKIRMISH, OVER = range(5)
"""What has to be decided: how to use cards, which dug card to keep, whether to stop the other's
action, whom to snipe or sabotage."""


class Tribe(NamedTuple):
    """The cards of a seat. hand: sorted. reserve: in order, the next first. aside: used this round.
    secret: those dug up that the other seat has not seen, sorted, wherever they are."""

    hand: Hand
    reserve: tuple[int, ...]
    aside: Hand = ()
    secret: Hand = ()

    @property
    def cards(self) -> Hand:
        """All of them, sorted."""
        return tuple(sorted((*self.hand, *self.reserve, *self.aside)))


class Action(NamedTuple):
    """What a seat does in its turn to gather: the verb, the cards used, the mercenary hired."""

    verb: int
    cards: Hand = ()
    hired: int = -1


class State(NamedTuple):
    """A state.

    seed: settles all chance to come. round: from 0. phase, seat: what has to be decided by whom.
    second: whether the seat whose turn it is follows the other one. tribes: by seat. food: of the
    gathering seat. taken: the verbs that it has used. pending: what waits for the other seat's
    response. looking: dug cards on top of the junkyard. struck: the snipers and saboteurs that the
    acting seat has used in the skirmish. junkyard, contested: in order, the next first. piles: the
    mercenaries left, sorted. history: what was public. trashed: cards so far, which tells apart
    their chances.
    """

    seed: int
    tribes: tuple[Tribe, Tribe]
    junkyard: tuple[int, ...]
    contested: tuple[int, ...]
    piles: Hand
    round: int = 0
    phase: int = GATHER
    seat: int = 0
    second: bool = False
    food: int = 0
    taken: tuple[int, ...] = ()
    pending: Action | None = None
    looking: int = 0
    struck: Hand = ()
    trashed: int = 0
    history: tuple[str, ...] = ()

    @property
    def turn(self) -> int:
        """The seat whose turn it is; the other one may respond to it."""
        return 1 - self.seat if self.phase == RESPOND else self.seat


class View(NamedTuple):
    """What the acting seat sees: its own cards, with the reserve sorted; of the other's the hand
    where it lies open or as far as it is used, what is used, what else is known, and how many lie
    where; all cards that may be in the junkyard or among those the other has dug up."""

    own: Tribe
    shown: Hand
    aside: Hand
    known: Hand
    hand: int
    secret: int
    unseen: Hand
    top: tuple[int, ...]
    contested: Hand
    piles: Hand
    round: int
    phase: int
    second: bool
    food: int
    taken: tuple[int, ...]
    pending: Action | None
    struck: Hand
    trashed: int


def exchanged(pair: tuple[T, T], seat: int, new: T) -> tuple[T, T]:
    """The pair with the entry of a seat replaced."""
    return (new, pair[1]) if seat == 0 else (pair[0], new)


def with_tribe(state: State, seat: int, tribe: Tribe) -> State:
    """The state with other cards of a seat."""
    return state._replace(tribes=exchanged(state.tribes, seat, tribe))


def known(tribe: Tribe) -> Hand:
    """What the other seat knows a tribe to have."""
    return without(tribe.cards, tribe.secret)


def show(tribe: Tribe, cards: Iterable[int]) -> Tribe:
    """The tribe after it has shown cards of its hand. Beside those used this round, whatever of
    them was not known to be there is no secret any more."""
    if not tribe.secret:
        return tribe
    out = Counter((*tribe.aside, *cards))
    seen = Counter(known(tribe))
    new = out - seen
    return tribe._replace(secret=without(tribe.secret, new.elements())) if new else tribe


def seen_by(state: State, seat: int) -> View:
    """What `seat`, which is to act, sees."""
    own, other = state.tribes[seat], state.tribes[1 - seat]
    top = state.junkyard[: state.looking] if state.phase == LOOK else ()
    shown: Hand = ()
    if state.phase == SKIRMISH:
        shown = other.hand
    elif state.pending:
        shown = state.pending.cards
    return View(
        own=own._replace(reserve=tuple(sorted(own.reserve))),
        shown=shown,
        aside=other.aside,
        known=known(other),
        hand=len(other.hand),
        secret=len(other.secret),
        unseen=tuple(sorted((*state.junkyard[len(top) :], *other.secret))),
        top=top,
        contested=tuple(sorted(state.contested)),
        piles=state.piles,
        round=state.round,
        phase=state.phase,
        second=state.second,
        food=state.food,
        taken=state.taken,
        pending=state.pending,
        struck=state.struck,
        trashed=state.trashed,
    )


def guessed(view: View, seat: int, history: tuple[str, ...], rng: np.random.Generator) -> State:
    """A state that fits what `seat` sees: what the other has dug up, both reserves, the other's
    hand, the junkyard and the contested cards are dealt afresh."""
    unseen = shuffled(view.unseen, rng)
    secret, junkyard = unseen[: view.secret], (*view.top, *unseen[view.secret :])
    rest = shuffled(without((*view.known, *secret), (*view.aside, *view.shown)), rng)
    drawn = view.hand - len(view.shown)
    other = Tribe(
        tuple(sorted((*view.shown, *rest[:drawn]))),
        rest[drawn:],
        view.aside,
        tuple(sorted(secret)),
    )
    own = view.own._replace(reserve=shuffled(view.own.reserve, rng))
    return State(
        seed=int(rng.integers(2**63)),
        tribes=(own, other) if seat == 0 else (other, own),
        junkyard=junkyard,
        contested=shuffled(view.contested, rng),
        piles=view.piles,
        round=view.round,
        phase=view.phase,
        seat=seat,
        second=view.second,
        food=view.food,
        taken=view.taken,
        pending=view.pending,
        looking=len(view.top),
        struck=view.struck,
        trashed=view.trashed,
        history=history,
    )


def shuffled(cards: Sequence[int], rng: np.random.Generator) -> tuple[int, ...]:
    """The cards in a random order."""
    return tuple(rng.permutation(np.array(cards, np.int64)).tolist())
