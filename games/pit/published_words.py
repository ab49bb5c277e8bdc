"""The published Pit in words, and its scripted players."""

from __future__ import annotations

from collections.abc import Mapping
from math import exp

from games.base import Fact
from games.pit.cards import BEAR, BULL, COMMODITIES, PENALTY, VALUES, Hand
from games.pit.published import (
    HANDS,
    KINDS,
    MOST,
    NAMES,
    ROOM,
    TAKE,
    State,
    hand,
    own,
)

STEP = 0.9
"""A card nearer to a corner multiplies the prospects by e to this."""
AHEAD = 250.0
"""Points that each seat may still expect at the start."""


def option(state: State, move: int) -> str:
    """The name of an action."""
    if move < TAKE:
        return f"offer {move % MOST + 1} {NAMES[move // MOST]}"
    offer = state.offers[1 - state.mover]
    assert offer is not None
    kind, cards = divmod(move - TAKE, ROOM)
    return f"take {offer[1]} {NAMES[offer[0]]} for {cards + 1} {NAMES[kind]}"


def facts(state: State, seat: int, goal: int, turns: int) -> tuple[Fact, ...]:
    """What the seat, whose turn it is, is told."""
    mine, theirs = state.offers[seat], state.offers[1 - seat]
    return (
        Fact("Points", f"you {state.points[seat]}, opponent {state.points[1 - seat]}; {goal} win"),
        Fact("Turns left", str(turns - state.turns)),
        Fact("Offered to you", _lot(theirs)),
        Fact("Your offer", _lot(mine)),
        Fact("Your hand", _held(own(state, seat)), own=True),
    )


def _lot(lot: tuple[int, int] | None) -> str:
    return "nothing" if lot is None else f"{lot[1]} {NAMES[lot[0]]}"


def _held(held: Hand) -> str:
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
    """How much the greedy player likes each option: to take a card more of what it has most of for
    one card of what it has least of, if that does not make more than six; else to offer four or
    fewer of what it does not collect."""
    held = own(state, seat)
    wanted = max(range(4), key=lambda kind: (held[kind] <= 6, held[kind], VALUES[kind]))
    offer = state.offers[1 - seat]
    good = offer is not None and offer[0] == wanted and held[wanted] + offer[1] <= 6
    ranks = []
    for move in moves:
        kind, cards = divmod(move, MOST) if move < TAKE else divmod(move - TAKE, ROOM)
        spare = kind != wanted and kind < BULL and held[kind] > cards
        if move < TAKE:
            ranks.append(1 if spare else 0)
        else:
            ranks.append(2 if good and spare and cards == 0 else -1)
    return ranks


def worth(state: State, seat: int, goal: int, turns: int) -> float:
    """What the seat may hope to have of all points at the end, before it is over: 0 to 1."""
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
    """By kind: the fewer cards it is from a corner, the more."""
    bull = bool(held[BULL])
    return tuple(
        exp(-STEP * min(abs(6 - held[kind]), abs(5 - held[kind]) if bull else 99)) for kind in KINDS
    )


def whole(state: State) -> str:
    """The state with all its hands, drawn for a person."""
    first, second = state.points
    lines = [f"deal {state.deal}, turn {state.turns + 1}; points {first} to {second}"]
    for which in HANDS:
        seat, number = divmod(which, 2)
        lines.append(f"player {seat}, hand {number + 1}: {_held(hand(state, which))}")
    lines += [f"player {seat} offers {_lot(state.offers[seat])}" for seat in range(2)]
    return "\n".join(lines)
