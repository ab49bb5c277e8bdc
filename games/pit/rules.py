"""How a turn of Pit goes: wait, offer a lot, or take an offer of as many cards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from games.pit.cards import (
    BEAR,
    BULL,
    COMMODITIES,
    DECK,
    LOTS,
    PENALTY,
    SIZES,
    VALUES,
    Hand,
    cornered,
    hand_of,
    lots_of,
    minus,
    plus,
)
from games.pit.state import NAMES, TEAMS, TRADERS, State, Trade

WAIT = 0
OFFER = 1  # + lot
TRADE = OFFER + len(LOTS)  # + len(LOTS) * trader + lot
LAST = TRADE + len(LOTS) * len(TRADERS) - 1


@dataclass(frozen=True, slots=True)
class Terms:
    """goal: points of a team that end the match. corner: cards of a commodity that make one.
    turns, deal_turns: the most of a match, and of a deal."""

    goal: int
    corner: int
    turns: int
    deal_turns: int


def begun(seed: int, first: int, terms: Terms) -> State:
    return _dealt(seed, first, 1, terms)


def _dealt(seed: int, first: int, deal: int, terms: Terms) -> State:
    """A deal in which nobody holds a corner from the start; two traders get a card more."""
    rng = np.random.default_rng((seed, deal))
    opener = (first + deal - 1) % 4
    while True:
        cards = rng.permutation(DECK).tolist()
        hands = tuple(hand_of(cards[(who - opener) % 4 :: 4]) for who in TRADERS)
        if all(cornered(hand, terms.corner) is None for hand in hands):
            break
    return State(seed, first, deal, 0, 0, opener, hands, (None,) * 4)


def over(state: State, terms: Terms) -> bool:
    return max(state.points) >= terms.goal or state.turns >= terms.turns


def options(state: State) -> tuple[int, ...]:
    """What the trader whose turn it is may do."""
    hand, mover = state.hands[state.mover], state.mover
    found = (WAIT, *_offers(hand, state.offers[mover]))
    for who, lot in enumerate(state.offers):
        if lot is not None and who != mover:
            found += _trades(hand, who, size(lot))
    return found


def size(lot: int) -> int:
    """How many cards a lot is; one that is not seen is told by it."""
    return SIZES[lot] if lot >= 0 else -lot


@cache
def _offers(hand: Hand, own: int | None) -> tuple[int, ...]:
    return tuple(OFFER + lot for lot in lots_of(hand) if lot != own)


@cache
def _trades(hand: Hand, who: int, cards: int) -> tuple[int, ...]:
    first = TRADE + len(LOTS) * who
    return tuple(first + lot for lot in lots_of(hand) if SIZES[lot] == cards)


def act(state: State, move: int, terms: Terms) -> State:
    """The state after one of the `options`."""
    mover = state.mover
    state = state._replace(turns=state.turns + 1, turn=state.turn + 1, mover=(state.mover + 1) % 4)
    if move == WAIT:
        return _on(state, f"{NAMES[mover]} waited", terms)
    if move < TRADE:
        lot = move - OFFER
        offers = tuple(lot if who == mover else old for who, old in enumerate(state.offers))
        clause = f"{NAMES[mover]} offered {cards(SIZES[lot])}"
        return _on(state._replace(offers=offers), clause, terms)
    other, lot = divmod(move - TRADE, len(LOTS))
    return _traded(state, mover, other, lot, terms)


def cards(count: int) -> str:
    return f"{count} card{'s' * (count > 1)}"


def _traded(state: State, one: int, other: int, given: int, terms: Terms) -> State:
    """Both lots change hands, and neither trader has an offer any more. Who took the offer is the
    first to corner."""
    taken = state.offers[other]
    assert taken is not None
    hands, offers = list(state.hands), list(state.offers)
    hands[one] = plus(minus(hands[one], given), taken)
    hands[other] = plus(minus(hands[other], taken), given)
    offers[one] = offers[other] = None
    trades = (*state.trades, Trade(one, other, given, taken))
    clause = f"{NAMES[one]} traded {cards(SIZES[given])} with {NAMES[other]}"
    state = state._replace(hands=tuple(hands), offers=tuple(offers), trades=trades)
    for who in (one, other):
        kind = cornered(hands[who], terms.corner)
        if kind is not None:
            return _cornered(_told(state, clause), who, kind, terms)
    return _on(state, clause, terms)


def _cornered(state: State, winner: int, kind: int, terms: Terms) -> State:
    """Points for the corner, twice as many if the bull is more than it needs. Who has the bear, and
    who has the bull without a corner, pays."""
    hand = state.hands[winner]
    double = hand[BULL] > 0 and hand[kind] >= terms.corner
    gained = VALUES[kind] * (1 + double)
    points = list(state.points)
    points[TEAMS[winner]] += gained
    way = " with a bull to spare" if double else " with the bull" if hand[BULL] else ""
    parts = [f"{NAMES[winner]} cornered {COMMODITIES[kind]}{way} and gets {gained} points"]
    for card, name in ((BULL, "bull"), (BEAR, "bear")):
        holder = next(who for who in TRADERS if state.hands[who][card])
        if holder != winner:
            points[TEAMS[holder]] -= PENALTY
            parts.append(f"{NAMES[holder]} loses {PENALTY} for the {name}")
    both = (points[0], points[1])
    parts.append(f"it stands {both[0]} to {both[1]}")
    return _next(state._replace(points=both), "; ".join(parts), terms)


def _on(state: State, clause: str, terms: Terms) -> State:
    """After a turn without a corner."""
    state = _told(state, clause)
    if state.turn < terms.deal_turns or over(state, terms):
        return state
    return _next(state, "the deal closed without a corner", terms)


def _next(state: State, clause: str, terms: Terms) -> State:
    """The next deal, if the match is not over."""
    state = _told(state, clause)
    if over(state, terms):
        return state
    fresh = _dealt(state.seed, state.first, state.deal + 1, terms)
    return fresh._replace(turns=state.turns, points=state.points, history=state.history)


def _told(state: State, clause: str) -> State:
    return state._replace(history=(*state.history, clause))
