"""Pit's cards and states, and its turns: wait, offer a lot, or trade for one of equal size.

A hand is six counts: the four commodities, the bull and the bear. A lot is what a trade passes on:
one to four cards of one commodity, which may include the bull or the bear, or one of these two
alone. It is given by its index in `LOTS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import comb, prod
from typing import NamedTuple

import numpy as np

COMMODITIES = ("barley", "corn", "soybeans", "wheat")
VALUES = (85, 75, 55, 100)
"""Points for a corner of each."""
EACH = 9
"""Cards of each commodity."""
BULL, BEAR = 4, 5
PENALTY = 20
"""Points that a bear costs, and a bull that did not help."""
LARGEST = 4
"""Maximum number of cards in a lot."""

Hand = tuple[int, ...]

DECK = (*(kind for kind in range(4) for _ in range(EACH)), BULL, BEAR)


def _lots() -> tuple[Hand, ...]:
    lots = []
    for extra in (None, BULL, BEAR):
        for kind in range(4):
            for cards in range(1, LARGEST + 1 - (extra is not None)):
                lot = [0] * 6
                lot[kind] = cards
                if extra is not None:
                    lot[extra] = 1
                lots.append(tuple(lot))
    return (*lots, (0, 0, 0, 0, 1, 0), (0, 0, 0, 0, 0, 1))


LOTS = _lots()
SIZES = tuple(map(sum, LOTS))


@cache
def lots_of(hand: Hand) -> tuple[int, ...]:
    """Return the lots that can be taken from a hand."""
    return tuple(
        index
        for index, lot in enumerate(LOTS)
        if all(wanted <= held for wanted, held in zip(lot, hand, strict=True))
    )


def plus(hand: Hand, lot: int) -> Hand:
    return tuple(held + cards for held, cards in zip(hand, LOTS[lot], strict=True))


def minus(hand: Hand, lot: int) -> Hand:
    return tuple(held - cards for held, cards in zip(hand, LOTS[lot], strict=True))


def hand_of(cards: Sequence[int]) -> Hand:
    """Return the counts of these cards."""
    counts = [0] * 6
    for card in cards:
        counts[card] += 1
    return tuple(counts)


@cache
def cornered(hand: Hand, corner: int) -> int | None:
    """Return the commodity that the hand corners, the most valuable of several, with the bull
    counting as one card; None if there is none, or if the hand has the bear."""
    if hand[BEAR]:
        return None
    full = [kind for kind in range(4) if hand[kind] + hand[BULL] >= corner]
    return max(full, key=VALUES.__getitem__, default=None)


def format_cards(hand: Hand) -> str:
    """Return a hand or a lot as text: "3 wheat, 1 corn and the bear"."""
    parts = [f"{count} {COMMODITIES[kind]}" for kind, count in _sorted(hand)]
    parts += ["the bull"] * hand[BULL] + ["the bear"] * hand[BEAR]
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


def _sorted(hand: Hand) -> list[tuple[int, int]]:
    """Return the commodities of the hand with their counts, the most first."""
    held = [(kind, hand[kind]) for kind in range(4) if hand[kind]]
    return sorted(held, key=lambda item: -item[1])


TRADERS = range(4)
NAMES = ("trader A", "trader B", "trader C", "trader D")
TEAMS = (0, 1, 0, 1)


class Trade(NamedTuple):
    """What two traders gave each other. A lot is an index of `LOTS`, or `-cards` if unseen."""

    taker: int
    other: int
    lot: int
    taken: int


class State(NamedTuple):
    """A state between two turns.

    seed: determines the deals to come. first: who begins the first deal. deal: its number, from 1.
    turns, turn: turns taken in the match, and in this deal. mover: the trader to move. hands: of
    each trader. offers: the lot that each offers, None without. points: of the two teams. trades:
    of this deal, in order.
    """

    seed: int
    first: int
    deal: int
    turns: int
    turn: int
    mover: int
    hands: tuple[Hand, ...]
    offers: tuple[int | None, ...]
    points: tuple[int, int] = (0, 0)
    trades: tuple[Trade, ...] = ()
    history: tuple[str, ...] = ()


class View(NamedTuple):
    """What a trader sees: a state without seed, with () for the hands of others, and negative
    numbers for unknown lots."""

    trader: int
    sizes: tuple[int, ...]
    state: State


def seen_by(state: State, trader: int) -> View:
    """Return what the trader sees. Numbers of cards are public."""
    masked = state._replace(
        seed=0,
        hands=tuple(hand if who == trader else () for who, hand in enumerate(state.hands)),
        offers=tuple(
            lot if lot is None or who == trader else -SIZES[lot]
            for who, lot in enumerate(state.offers)
        ),
        trades=tuple(
            t if trader in (t.taker, t.other) else Trade(*t[:2], -SIZES[t.lot], -SIZES[t.taken])
            for t in state.trades
        ),
    )
    return View(trader, tuple(map(sum, state.hands)), masked)


def sample_state(view: View, corner: int, rng: np.random.Generator) -> State:
    """Return a state that looks the same to the trader. A hidden offer is drawn in proportion to
    the frequency of such lots among the unseen cards, the rest is dealt uniformly; nobody holds a
    corner."""
    public = view.state
    while True:
        hands, offers = _deal_unseen(view, rng)
        if all(cornered(hand, corner) is None for hand in hands):
            break
    trades = tuple(
        Trade(*t[:2], _random_lot(t.lot, rng), _random_lot(t.taken, rng)) if t.lot < 0 else t
        for t in public.trades
    )
    seed = int(rng.integers(2**63))
    return public._replace(seed=seed, hands=hands, offers=offers, trades=trades)


def _deal_unseen(
    view: View, rng: np.random.Generator
) -> tuple[tuple[Hand, ...], tuple[int | None, ...]]:
    """Return hands and offers that fit: the offered lots first, then the rest of the cards."""
    my_hand, offers = view.state.hands[view.trader], list(view.state.offers)
    pool = [have - held for have, held in zip(_ALL, my_hand, strict=True)]
    for trader, lot in enumerate(offers):
        if lot is not None and lot < 0:
            offers[trader] = found = _draw_lot(-lot, tuple(pool), rng)
            pool = [left - cards for left, cards in zip(pool, LOTS[found], strict=True)]
    rest = rng.permutation([kind for kind, left in enumerate(pool) for _ in range(left)]).tolist()
    hands = []
    for trader in TRADERS:
        lot = offers[trader]
        offered = LOTS[lot] if lot is not None else (0,) * 6
        if trader == view.trader:
            hands.append(my_hand)
            continue
        count = view.sizes[trader] - sum(offered)
        dealt, rest = hand_of(rest[:count]), rest[count:]
        hands.append(tuple(one + two for one, two in zip(offered, dealt, strict=True)))
    return tuple(hands), tuple(offers)


_ALL = hand_of(DECK)


def _draw_lot(size: int, pool: Hand, rng: np.random.Generator) -> int:
    """Return a lot of this size, in proportion to its frequency among the cards of the pool."""
    lots = [lot for lot in lots_of(tuple(pool)) if SIZES[lot] == size]
    ways = [prod(map(comb, pool, LOTS[lot])) for lot in lots]
    return int(lots[int(rng.choice(len(lots), p=np.array(ways) / sum(ways)))])


def _random_lot(lot: int, rng: np.random.Generator) -> int:
    """Return a lot of as many cards as this unseen one."""
    return _draw_lot(-lot, _ALL, rng)


WAIT = 0
OFFER = 1  # + lot
TRADE = OFFER + len(LOTS)  # + len(LOTS) * trader + lot
LAST = TRADE + len(LOTS) * len(TRADERS) - 1


@dataclass(frozen=True, slots=True)
class Terms:
    """goal: team points that end the match. corner: cards of a commodity that make one.
    turns, deal_turns: maximum per match, and per deal."""

    goal: int
    corner: int
    turns: int
    deal_turns: int


def initial_state(seed: int, first: int, terms: Terms) -> State:
    return _new_deal(seed, first, 1, terms)


def _new_deal(seed: int, first: int, deal: int, terms: Terms) -> State:
    """Return a deal in which nobody starts with a corner; two traders get one card more."""
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
    """Return the legal actions of the trader to move."""
    hand, mover = state.hands[state.mover], state.mover
    actions = (WAIT, *_offers(hand, state.offers[mover]))
    for who, lot in enumerate(state.offers):
        if lot is not None and who != mover:
            actions += _trades(hand, who, size(lot))
    return actions


def size(lot: int) -> int:
    """Return the number of cards in a lot, also if it is unseen."""
    return SIZES[lot] if lot >= 0 else -lot


@cache
def _offers(hand: Hand, own_lot: int | None) -> tuple[int, ...]:
    return tuple(OFFER + lot for lot in lots_of(hand) if lot != own_lot)


@cache
def _trades(hand: Hand, who: int, cards: int) -> tuple[int, ...]:
    first = TRADE + len(LOTS) * who
    return tuple(first + lot for lot in lots_of(hand) if SIZES[lot] == cards)


def act(state: State, move: int, terms: Terms) -> State:
    """Return the state after one of the `options`."""
    mover = state.mover
    state = state._replace(turns=state.turns + 1, turn=state.turn + 1, mover=(state.mover + 1) % 4)
    if move == WAIT:
        return _continue(state, f"{NAMES[mover]} waited", terms)
    if move < TRADE:
        lot = move - OFFER
        offers = tuple(lot if who == mover else old for who, old in enumerate(state.offers))
        clause = f"{NAMES[mover]} offered {cards(SIZES[lot])}"
        return _continue(state._replace(offers=offers), clause, terms)
    other, lot = divmod(move - TRADE, len(LOTS))
    return _trade(state, mover, other, lot, terms)


def cards(count: int) -> str:
    return f"{count} card{'s' * (count > 1)}"


def _trade(state: State, taker: int, other: int, lot: int, terms: Terms) -> State:
    """Exchange both lots and remove both traders' offers. The trader who took the offer corners
    first."""
    other_lot = state.offers[other]
    assert other_lot is not None
    hands, offers = list(state.hands), list(state.offers)
    hands[taker] = plus(minus(hands[taker], lot), other_lot)
    hands[other] = plus(minus(hands[other], other_lot), lot)
    offers[taker] = offers[other] = None
    trades = (*state.trades, Trade(taker, other, lot, other_lot))
    clause = f"{NAMES[taker]} traded {cards(SIZES[lot])} with {NAMES[other]}"
    state = state._replace(hands=tuple(hands), offers=tuple(offers), trades=trades)
    for trader in (taker, other):
        kind = cornered(hands[trader], terms.corner)
        if kind is not None:
            return _cornered(_add_history(state, clause), trader, kind, terms)
    return _continue(state, clause, terms)


def _cornered(state: State, winner: int, kind: int, terms: Terms) -> State:
    """Score the corner, doubled if the bull is not needed for it. A seat with the bear, or the bull
    without a corner, pays."""
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


def _continue(state: State, clause: str, terms: Terms) -> State:
    """Continue after a turn without a corner."""
    state = _add_history(state, clause)
    if state.turn < terms.deal_turns or over(state, terms):
        return state
    return _next(state, "the deal closed without a corner", terms)


def _next(state: State, clause: str, terms: Terms) -> State:
    """Start the next deal, unless the match is over."""
    state = _add_history(state, clause)
    if over(state, terms):
        return state
    fresh = _new_deal(state.seed, state.first, state.deal + 1, terms)
    return fresh._replace(turns=state.turns, points=state.points, history=state.history)


def _add_history(state: State, clause: str) -> State:
    return state._replace(history=(*state.history, clause))
