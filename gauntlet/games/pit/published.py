"""Pit as the published code of GameBench plays it (games/pit/pit.py there), with its texts and
scripted players.

Two agents have two virtual traders each, and see and play only the first's hand; a trade changes
the hands of both traders on either side. Commodity and number of an offer are public, and any
number of any one commodity is given in return. An offer is checked against the hand when it is
made, not when it is taken, so hands may hold negative counts. A corner is exactly six cards, or
exactly five and a bull; all four hands are checked for it after every turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp
from typing import NamedTuple

import numpy as np

from gauntlet.games.base import Fact
from gauntlet.games.pit.rules import BEAR, BULL, COMMODITIES, DECK, PENALTY, VALUES, Hand, hand_of

NAMES = (*COMMODITIES, "bull", "bear")
KINDS = range(6)
HANDS = range(4)
MOST = 4
"""Maximum number of cards in an offer."""
ROOM = 40
"""Exceeds the number of cards of a kind that a hand can hold."""
TAKE = len(KINDS) * MOST  # + ROOM * kind + cards - 1; an offer is MOST * kind + cards - 1

Lot = tuple[int, int]
"""A kind, and how many cards."""


class State(NamedTuple):
    """A state between two turns.

    dealt: the four hands as dealt, the first two of seat 0. change: what trades have since changed
    in both hands of seat 0; those of seat 1 changed by the opposite. offers, points: of each seat.
    """

    seed: int
    deal: int
    turns: int
    mover: int
    dealt: tuple[Hand, ...]
    change: Hand = (0,) * 6
    offers: tuple[Lot | None, Lot | None] = (None, None)
    points: tuple[int, int] = (0, 0)
    history: tuple[str, ...] = ()


def initial_state(seed: int) -> State:
    return State(seed, 1, 0, 0, _shuffled(seed, 1))


def _shuffled(seed: int, deal: int) -> tuple[Hand, ...]:
    cards = np.random.default_rng((seed, deal)).permutation(DECK).tolist()
    return tuple(hand_of(cards[hand::4]) for hand in HANDS)


def hand(state: State, number: int) -> Hand:
    sign = 1 if number < 2 else -1
    return tuple(
        cards + sign * more for cards, more in zip(state.dealt[number], state.change, strict=True)
    )


def own_hand(state: State, seat: int) -> Hand:
    """Return the hand that the seat sees and plays."""
    return hand(state, 2 * seat)


def options(state: State) -> tuple[int, ...]:
    """Return every offer, whether or not the hand has the cards; and if the other offers, every
    number of every kind in the hand."""
    offers = tuple(range(TAKE))
    if state.offers[1 - state.mover] is None:
        return offers
    held = own_hand(state, state.mover)
    return (*offers, *(TAKE + ROOM * kind + n for kind in KINDS for n in range(held[kind])))


def act(state: State, move: int) -> State:
    """Return the state after one of the `options`. After a trade, hands are checked for corners
    twice, the second time as redealt."""
    mover = state.mover
    state = state._replace(turns=state.turns + 1, mover=1 - mover)
    if move < TAKE:
        kind, cards = move // MOST, move % MOST + 1
        return _corners(_offered(state, mover, kind, cards))
    kind, cards = divmod(move - TAKE, ROOM)
    return _corners(_corners(_exchange(state, mover, kind, cards + 1)))


def _offered(state: State, seat: int, kind: int, cards: int) -> State:
    clause = f"player {seat} offered {cards} {NAMES[kind]}"
    if own_hand(state, seat)[kind] < cards:
        return _add_history(state, f"{clause} without having them")
    offers = tuple((kind, cards) if who == seat else state.offers[who] for who in range(2))
    return _add_history(state._replace(offers=(offers[0], offers[1])), clause)


def _exchange(state: State, seat: int, kind: int, cards: int) -> State:
    """Both hands of each side change."""
    offer = state.offers[1 - seat]
    assert offer is not None
    change = list(state.change)
    gives = 1 if seat == 0 else -1
    change[offer[0]] += gives * offer[1]
    change[kind] -= gives * cards
    offers = (state.offers[0], None) if seat == 0 else (None, state.offers[1])
    clause = (
        f"player {seat} took {offer[1]} {NAMES[offer[0]]} from player {1 - seat} for "
        f"{cards} {NAMES[kind]}"
    )
    return _add_history(state._replace(change=tuple(change), offers=offers), clause)


def _corners(state: State) -> State:
    """Score every corner, hand by hand; all cards are redealt after each, and later hands are the
    new ones."""
    for number in HANDS:
        held = hand(state, number)
        for kind, cards in enumerate(held):
            if is_corner(held, kind):
                value = VALUES[kind] if kind < BULL else 0
                double = bool(held[BULL]) and cards == 6
                gained = value * (1 + double) - PENALTY * held[BEAR]
                state = _cornered(state, number // 2, kind, gained)
    return state


def is_corner(held: Hand, kind: int) -> bool:
    return held[kind] == 6 or (held[kind] == 5 and held[BULL] != 0)


def _cornered(state: State, seat: int, kind: int, gained: int) -> State:
    points = [*state.points]
    points[seat] += gained
    first, second = points
    clause = (
        f"player {seat} cornered {NAMES[kind]} and gets {gained} points; it stands {first} to "
        f"{second}"
    )
    state = state._replace(
        deal=state.deal + 1,
        dealt=_shuffled(state.seed, state.deal + 1),
        change=(0,) * 6,
        points=(first, second),
    )
    return _add_history(state, clause)


def _add_history(state: State, clause: str) -> State:
    return state._replace(history=(*state.history, clause))


def seen_by(state: State, seat: int) -> State:
    """Return the state without its seed, and of the dealt hands only the one that the seat sees."""
    shown = tuple(cards if which == 2 * seat else () for which, cards in enumerate(state.dealt))
    return state._replace(seed=0, dealt=shown)


def redeal(state: State, seat: int, rng: np.random.Generator) -> State:
    """Return a state that looks the same to the seat: the other three hands are dealt uniformly."""
    dealt_hand = state.dealt[2 * seat]
    left = [have - held for have, held in zip(hand_of(DECK), dealt_hand, strict=True)]
    rest = rng.permutation([kind for kind in KINDS for _ in range(left[kind])]).tolist()
    dealt = []
    for number in HANDS:
        size = 10 if number < 2 else 9
        dealt.append(dealt_hand if number == 2 * seat else hand_of(rest[:size]))
        rest = rest if number == 2 * seat else rest[size:]
    return state._replace(seed=int(rng.integers(2**63)), dealt=tuple(dealt))


STEP = 0.9
"""One card nearer to a corner multiplies the prospects by e to this."""
AHEAD = 250.0
"""Points that each seat may still expect at the start."""


def option(state: State, move: int) -> str:
    if move < TAKE:
        return f"offer {move % MOST + 1} {NAMES[move // MOST]}"
    offer = state.offers[1 - state.mover]
    assert offer is not None
    kind, cards = divmod(move - TAKE, ROOM)
    return f"take {offer[1]} {NAMES[offer[0]]} for {cards + 1} {NAMES[kind]}"


def facts(state: State, seat: int, goal: int, turns: int) -> tuple[Fact, ...]:
    mine, theirs = state.offers[seat], state.offers[1 - seat]
    return (
        Fact("Points", f"you {state.points[seat]}, opponent {state.points[1 - seat]}; {goal} win"),
        Fact("Turns left", str(turns - state.turns)),
        Fact("Offered to you", _lot(theirs)),
        Fact("Your offer", _lot(mine)),
        Fact("Your hand", _hand_text(own_hand(state, seat)), own=True),
    )


def _lot(lot: tuple[int, int] | None) -> str:
    return "nothing" if lot is None else f"{lot[1]} {NAMES[lot[0]]}"


def _hand_text(held: Hand) -> str:
    return ", ".join(f"{cards} {NAMES[kind]}" for kind, cards in enumerate(held) if cards) or "none"


def summary(goal: int) -> str:
    return (
        "Two players trade cards to corner the market in a commodity. The match ends when one has "
        f"{goal} points; a player's score is its share of all points."
    )


def headings(turns: int) -> Mapping[str, str]:
    values = ", ".join(f"{name} {VALUES[kind]}" for kind, name in enumerate(COMMODITIES))
    return {
        "Cards": "There are nine cards each of barley, corn, soybeans and wheat, a bull and a "
        "bear, dealt to four hands. Each player has two hands and sees one of them.",
        "Turns": "Players take turns. On a turn a player offers one to four cards of one kind, "
        "which replaces its last offer, or takes what the other offers and gives any number of "
        "cards of one kind in return. An offer of cards that the player lacks does nothing.",
        "Trades": "A trade changes both hands of each player alike, so a hand may come to hold "
        "less than nothing. Offers stand until taken, even if the cards are gone.",
        "Corner": "After every turn each hand with exactly six cards of a commodity, or exactly "
        f"five and the bull, brings its player points: {values}. Six and the bull count twice.",
        "Bear": f"A bear in the hand that corners costs {PENALTY} points.",
        "Deals": "After a corner all cards are dealt anew. The match ends at the latest after "
        f"{turns} turns. Points below 0 count as 0 in the score.",
    }


def ranked(state: State, seat: int, moves: tuple[int, ...]) -> list[int]:
    """Return the greedy player's rank of each option: best is taking one card more of what it has
    most of for one card of another commodity of which it has more, if that makes at most six; else
    offering cards that it does not collect."""
    held = own_hand(state, seat)
    target = max(range(4), key=lambda kind: (held[kind] <= 6, held[kind], VALUES[kind]))
    offer = state.offers[1 - seat]
    good = offer is not None and offer[0] == target and held[target] + offer[1] <= 6
    ranks = []
    for move in moves:
        kind, cards = divmod(move, MOST) if move < TAKE else divmod(move - TAKE, ROOM)
        spare = kind != target and kind < BULL and held[kind] > cards
        if move < TAKE:
            ranks.append(1 if spare else 0)
        else:
            ranks.append(2 if good and spare and cards == 0 else -1)
    return ranks


def worth(state: State, seat: int, goal: int, turns: int) -> float:
    """Return the share of all points that the seat can expect at the end, 0 to 1; the match is not
    over."""
    prospects = [_prospects(hand(state, which)) for which in HANDS]
    every = sum(map(sum, prospects)) + 0.1
    points = [float(score) for score in state.points]
    for which, chances in enumerate(prospects):
        bear = PENALTY * hand(state, which)[BEAR]
        points[which // 2] += sum(
            chance * (value - bear) / every
            for chance, value in zip(chances, (*VALUES, 0, 0), strict=True)
        )
    left = min(1 - state.turns / turns, 1 - max(points) / goal)
    ahead = AHEAD * max(0.02, left)
    mine, theirs = (max(0.0, points[side]) + ahead for side in (seat, 1 - seat))
    return mine / (mine + theirs)


def _prospects(held: Hand) -> tuple[float, ...]:
    """Return the prospects by kind: higher the fewer cards it is from a corner."""
    bull = bool(held[BULL])
    return tuple(
        exp(-STEP * min(abs(6 - held[kind]), abs(5 - held[kind]) if bull else 99)) for kind in KINDS
    )


def show_state(state: State) -> str:
    first, second = state.points
    lines = [f"deal {state.deal}, turn {state.turns + 1}; points {first} to {second}"]
    for which in HANDS:
        seat, number = divmod(which, 2)
        lines.append(f"player {seat}, hand {number + 1}: {_hand_text(hand(state, which))}")
    lines += [f"player {seat} offers {_lot(state.offers[seat])}" for seat in range(2)]
    return "\n".join(lines)
