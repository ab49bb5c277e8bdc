"""A state of Pit, and what one trader sees of it."""

from __future__ import annotations

from math import comb, prod
from typing import NamedTuple

import numpy as np

from games.pit.cards import DECK, LOTS, SIZES, Hand, cornered, hand_of, lots_of

TRADERS = range(4)
NAMES = ("trader A", "trader B", "trader C", "trader D")
TEAMS = (0, 1, 0, 1)


class Trade(NamedTuple):
    """What two traders gave each other. A lot is an index of `LOTS`, or `-cards` where unseen."""

    one: int
    other: int
    given: int
    taken: int


class State(NamedTuple):
    """A state between two turns.

    seed: settles the deals to come. first: who begins the first deal. deal: its number, from 1.
    turns, turn: turns taken in the match, and in this deal. mover: the trader whose turn it is.
    hands: of each trader. offers: the lot that each offers, None without. points: of the two teams.
    trades: of this deal, in their order.
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
    """What a trader sees: a state with no seed, () for the hands of others, and for lots that it
    does not know less than 0."""

    trader: int
    sizes: tuple[int, ...]
    state: State


def seen_by(state: State, trader: int) -> View:
    """What the trader sees. Numbers of cards are public."""
    masked = state._replace(
        seed=0,
        hands=tuple(hand if who == trader else () for who, hand in enumerate(state.hands)),
        offers=tuple(
            lot if lot is None or who == trader else -SIZES[lot]
            for who, lot in enumerate(state.offers)
        ),
        trades=tuple(
            t if trader in (t.one, t.other) else Trade(*t[:2], -SIZES[t.given], -SIZES[t.taken])
            for t in state.trades
        ),
    )
    return View(trader, tuple(map(sum, state.hands)), masked)


def redealt(view: View, corner: int, rng: np.random.Generator) -> State:
    """A state that looks like this to the trader. An offer of so many cards is drawn as likely as
    such lots are among the cards unseen, the rest is dealt alike; nobody holds a corner."""
    seen = view.state
    while True:
        hands, offers = _dealt(view, rng)
        if all(cornered(hand, corner) is None for hand in hands):
            break
    trades = tuple(
        Trade(*t[:2], _any(t.given, rng), _any(t.taken, rng)) if t.given < 0 else t
        for t in seen.trades
    )
    seed = int(rng.integers(2**63))
    return seen._replace(seed=seed, hands=hands, offers=offers, trades=trades)


def _dealt(view: View, rng: np.random.Generator) -> tuple[tuple[Hand, ...], tuple[int | None, ...]]:
    """Hands and offers that fit: the offered lots first, then the rest of the cards."""
    own, offers = view.state.hands[view.trader], list(view.state.offers)
    pool = [have - held for have, held in zip(_ALL, own, strict=True)]
    for who, lot in enumerate(offers):
        if lot is not None and lot < 0:
            offers[who] = found = _drawn(-lot, tuple(pool), rng)
            pool = [left - cards for left, cards in zip(pool, LOTS[found], strict=True)]
    rest = rng.permutation([kind for kind, left in enumerate(pool) for _ in range(left)]).tolist()
    hands = []
    for who in TRADERS:
        lot = offers[who]
        laid = LOTS[lot] if lot is not None else (0,) * 6
        if who == view.trader:
            hands.append(own)
            continue
        count = view.sizes[who] - sum(laid)
        dealt, rest = hand_of(rest[:count]), rest[count:]
        hands.append(tuple(one + two for one, two in zip(laid, dealt, strict=True)))
    return tuple(hands), tuple(offers)


_ALL = hand_of(DECK)


def _drawn(size: int, pool: Hand, rng: np.random.Generator) -> int:
    """A lot of this size, as likely as it is among the cards of the pool."""
    lots = [lot for lot in lots_of(tuple(pool)) if SIZES[lot] == size]
    ways = [prod(map(comb, pool, LOTS[lot])) for lot in lots]
    return int(lots[int(rng.choice(len(lots), p=np.array(ways) / sum(ways)))])


def _any(lot: int, rng: np.random.Generator) -> int:
    """A lot of as many cards as this unseen one."""
    return _drawn(-lot, _ALL, rng)
