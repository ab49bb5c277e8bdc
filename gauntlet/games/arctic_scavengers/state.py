"""Arctic Scavengers' state, its cards as in GameBench's code, and what a seat sees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np

DIG, DRAW, HUNT, FIGHT = range(4)
"""What a card can be used for."""
ACTIONS = ("dig", "draw", "hunt", "fight")

NOT = -1
"""The value for an action that a card cannot do; 0 means only with a tool."""

Hand = tuple[int, ...]
"""Cards by kind, sorted."""


class Card(NamedTuple):
    """A kind of card.

    people: in its owner's tribe. values: by action, NOT if it cannot do it. adds: whether its
    values count only next to a card that acts itself. medicine: its value as payment for hiring.
    food, cure: the price of a mercenary, in food and medicine.
    """

    name: str
    people: int = 0
    values: tuple[int, int, int, int] = (NOT, NOT, NOT, NOT)
    adds: bool = False
    medicine: int = 0
    food: int = 0
    cure: int = 0

    @property
    def is_tool(self) -> bool:
        """Whether it adds and has no people: an acting card may use one such card."""
        return self.adds and not self.people


CARDS = (
    Card("Refugee", 1, (0, NOT, 0, NOT)),
    Card("Scavenger", 1, (1, 1, 1, 1), food=1),
    Card("Brawler", 1, (1, NOT, NOT, 2), food=2),
    Card("Hunter", 1, (NOT, NOT, 2, 1), cure=1),
    Card("Saboteur", 1, (1, NOT, NOT, 1), food=1, cure=1),
    Card("Scout", 1, (NOT, 2, NOT, 2), food=2, cure=1),
    Card("Group Leaders", 2, (2, 2, 2, 2), adds=True, food=2, cure=2),
    Card("Sniper Team", 2, food=2, cure=2),
    Card("Thugs", 3, (1, NOT, NOT, 3), food=6),
    Card("Tribe Family", 5, (NOT, NOT, 0, 0)),
    Card("Wolf Pack", 0, (NOT, NOT, 3, 2), adds=True),
    Card("Grenade", 0, (NOT, NOT, NOT, 3), adds=True),
    Card("Sled Team", 2, (NOT, 2, NOT, 1)),
    Card("Field Crew", 4, (2, NOT, 2, 2)),
    Card("Junk"),
    Card("Multitool", 0, (1, NOT, 1, 1), adds=True),
    Card("Net", 0, (NOT, NOT, 2, 1), adds=True),
    Card("Spear", 0, (NOT, NOT, 1, 2), adds=True),
    Card("Pickaxe", 0, (1, NOT, NOT, 2), adds=True),
    Card("Shovel", 0, (2, NOT, NOT, 1), adds=True),
    Card("Medkit", medicine=2),
    Card("Pills", medicine=1),
)
KIND = {card.name: kind for kind, card in enumerate(CARDS)}

JUNK, SNIPER, SABOTEUR = KIND["Junk"], KIND["Sniper Team"], KIND["Saboteur"]


def _starting_hand(counts: dict[str, int]) -> Hand:
    return tuple(sorted(KIND[name] for name, count in counts.items() for _ in range(count)))


START = _starting_hand({"Refugee": 4, "Scavenger": 3, "Brawler": 1, "Spear": 1, "Shovel": 1})
JUNKYARD = _starting_hand(
    {
        "Junk": 7,
        "Multitool": 4,
        "Net": 4,
        "Spear": 4,
        "Pickaxe": 4,
        "Shovel": 4,
        "Medkit": 6,
        "Pills": 9,
    }
)
CONTESTED = _starting_hand(
    {"Wolf Pack": 1, "Grenade": 1, "Sled Team": 1, "Field Crew": 1, "Tribe Family": 1}
)
PILES = _starting_hand(
    {
        "Scavenger": 14,
        "Brawler": 8,
        "Hunter": 8,
        "Saboteur": 8,
        "Scout": 8,
        "Group Leaders": 5,
        "Sniper Team": 5,
        "Thugs": 5,
    }
)
"""All mercenaries for hire."""


def people(cards: Iterable[int]) -> int:
    return sum(CARDS[kind].people for kind in cards)


def medicine(cards: Iterable[int]) -> int:
    """Return the total value of the medicine among some cards."""
    return sum(CARDS[kind].medicine for kind in cards)


def total(cards: Iterable[int], action: int) -> int:
    """Return the sum of the cards' values for an action, over those that can do it."""
    return sum(max(CARDS[kind].values[action], 0) for kind in cards)


@lru_cache(maxsize=1 << 16)
def strength(hand: Hand, loose: bool) -> int:
    """Return the fight value of a hand. Each fighting card may use one tool and one pair of group
    leaders, the best first; if `loose`, all values of all cards count."""
    if loose:
        return total(hand, FIGHT)
    values = [(CARDS[kind], CARDS[kind].values[FIGHT]) for kind in hand]
    fighters = [value for card, value in values if not card.adds and value != NOT]
    tools = sorted((value for card, value in values if card.is_tool and value != NOT), reverse=True)
    leaders = [value for card, value in values if card.adds and card.people]
    most = len(fighters)
    return sum(fighters) + sum(tools[:most]) + sum(leaders[:most])


def striker(kind: int) -> int:
    """Return the kind of card that can strike this one."""
    return SNIPER if CARDS[kind].people else SABOTEUR


def card_list(cards: Iterable[int], separator: str = ", ") -> str:
    """Return some cards as text, equal ones counted: "2 Refugee, Spear"."""
    counts = Counter(cards)
    return (
        separator.join(
            f"{count} {CARDS[kind].name}" if count > 1 else CARDS[kind].name
            for kind, count in sorted(counts.items())
        )
        or "none"
    )


def remove_cards(cards: Hand, removed: Iterable[int]) -> Hand:
    """Return the cards without some of them, in the same order."""
    remaining = list(cards)
    for kind in removed:
        remaining.remove(kind)
    return tuple(remaining)


HIRE, TRASH, STOP = range(3, 6)

BLOCK = 1000
"""Exceeds the number of ways to use a hand for one verb: actions are numbered by verb and way."""

__all__ = ["BLOCK", "DIG", "DRAW", "HIRE", "HUNT", "STOP", "TRASH"]


T = TypeVar("T")

GATHER, LOOK, RESPOND, SKIRMISH, OVER = range(5)
"""What has to be decided: how to use cards, which dug card to keep, whether to stop the other's
action, what to snipe or sabotage."""


class Tribe(NamedTuple):
    """The cards of a seat. hand: sorted. reserve: in order, the next first. aside: used this round.
    secret: dug cards that the other seat has not seen, sorted, wherever they are."""

    hand: Hand
    reserve: tuple[int, ...]
    aside: Hand = ()
    secret: Hand = ()

    @property
    def cards(self) -> Hand:
        """All cards, sorted."""
        return tuple(sorted((*self.hand, *self.reserve, *self.aside)))


class Action(NamedTuple):
    """An action of the gathering seat: the verb, the cards used, the mercenary hired."""

    verb: int
    cards: Hand = ()
    hired: int = -1


class State(NamedTuple):
    """A state.

    seed: determines all chance to come. round: from 0. phase, seat: what has to be decided, by
    whom. second: whether the acting seat goes second. tribes: by seat. food: of the gathering seat.
    taken: the verbs it has used. pending: the action that waits for the other seat's response.
    looking: number of dug cards on top of the junkyard. struck: the snipers and saboteurs that the
    acting seat has used in the skirmish. junkyard, contested: in order, the next first. piles: the
    mercenaries left, sorted. history: public events. trashed: cards trashed so far, which separates
    their random streams.
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
        """The seat whose turn it is; the other one may respond."""
        return 1 - self.seat if self.phase == RESPOND else self.seat


class View(NamedTuple):
    """What the acting seat sees: its own cards, with the reserve sorted; of the other seat, the
    shown part of the hand, the used cards, the other known cards, and the counts of hand and secret
    cards; and all cards that may be in the junkyard or among those the other has dug up."""

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
    return (new, pair[1]) if seat == 0 else (pair[0], new)


def with_tribe(state: State, seat: int, tribe: Tribe) -> State:
    return state._replace(tribes=exchanged(state.tribes, seat, tribe))


def known_cards(tribe: Tribe) -> Hand:
    """Return the cards that the other seat knows a tribe to have."""
    return remove_cards(tribe.cards, tribe.secret)


def show(tribe: Tribe, cards: Iterable[int]) -> Tribe:
    """Return the tribe after it has shown cards of its hand. Together with those used this round,
    any that were not known to be there are no longer secret."""
    if not tribe.secret:
        return tribe
    out = Counter((*tribe.aside, *cards))
    seen = Counter(known_cards(tribe))
    new = out - seen
    return tribe._replace(secret=remove_cards(tribe.secret, new.elements())) if new else tribe


def seen_by(state: State, seat: int) -> View:
    tribe, other = state.tribes[seat], state.tribes[1 - seat]
    top = state.junkyard[: state.looking] if state.phase == LOOK else ()
    shown: Hand = ()
    if state.phase == SKIRMISH:
        shown = other.hand
    elif state.pending:
        shown = state.pending.cards
    return View(
        own=tribe._replace(reserve=tuple(sorted(tribe.reserve))),
        shown=shown,
        aside=other.aside,
        known=known_cards(other),
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


def sample_state(
    view: View, seat: int, history: tuple[str, ...], rng: np.random.Generator
) -> State:
    """Return a state consistent with what `seat` sees: the other's dug cards and hand, both
    reserves, the junkyard and the contested cards are dealt again."""
    unseen = shuffled(view.unseen, rng)
    secret, junkyard = unseen[: view.secret], (*view.top, *unseen[view.secret :])
    rest = shuffled(remove_cards((*view.known, *secret), (*view.aside, *view.shown)), rng)
    drawn_count = view.hand - len(view.shown)
    other = Tribe(
        tuple(sorted((*view.shown, *rest[:drawn_count]))),
        rest[drawn_count:],
        view.aside,
        tuple(sorted(secret)),
    )
    tribe = view.own._replace(reserve=shuffled(view.own.reserve, rng))
    return State(
        seed=int(rng.integers(2**63)),
        tribes=(tribe, other) if seat == 0 else (other, tribe),
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
    return tuple(rng.permutation(np.array(cards, np.int64)).tolist())
