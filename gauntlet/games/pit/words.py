"""Pit as text: rules, a trader's facts, and options."""

from __future__ import annotations

from collections.abc import Mapping

from gauntlet.games.base import Fact
from gauntlet.games.pit.players import target_commodity
from gauntlet.games.pit.rules import (
    BEAR,
    BULL,
    COMMODITIES,
    LOTS,
    NAMES,
    OFFER,
    PENALTY,
    TEAMS,
    TRADE,
    TRADERS,
    VALUES,
    WAIT,
    Hand,
    State,
    Terms,
    Trade,
    cards,
    format_cards,
    size,
)


def option(move: int) -> str:
    if move == WAIT:
        return "wait"
    if move < TRADE:
        return f"offer {format_cards(LOTS[move - OFFER])}"
    other, lot = divmod(move - TRADE, len(LOTS))
    return f"trade {format_cards(LOTS[lot])} with {NAMES[other]}"


def facts(state: State, trader: int, terms: Terms) -> tuple[Fact, ...]:
    """Return the facts that the trader to move sees. Lots of others are negative numbers."""
    team, offer = TEAMS[trader], state.offers[trader]
    partner = next(NAMES[who] for who in TRADERS if TEAMS[who] == team and who != trader)
    hand = state.hands[trader]
    turns_left = min(terms.deal_turns - state.turn, terms.turns - state.turns)
    offers = [
        f"{NAMES[who]} offers {cards(size(lot))}"
        for who, lot in enumerate(state.offers)
        if lot is not None and who != trader
    ]
    return (
        Fact("You are", f"{NAMES[trader]}; {partner} scores with you", own=True),
        Fact(
            "Points",
            f"your team {state.points[team]}, the other {state.points[1 - team]}; {terms.goal} win",
        ),
        Fact(
            "Turns left",
            f"{turns_left} in deal {state.deal}, {terms.turns - state.turns} in the match",
        ),
        Fact("Offers to you", "; ".join(offers) or "none"),
        Fact("Your offer", format_cards(LOTS[offer]) if offer is not None else "none", own=True),
        Fact("Your trades in this deal", _trades(state.trades, trader), own=True),
        Fact("Your hand", format_cards(hand), own=True),
        Fact("Your best corner", _best(hand, terms.corner), own=True),
    )


def _trades(trades: tuple[Trade, ...], trader: int) -> str:
    parts = []
    for trade in trades:
        lot, received = format_cards(LOTS[trade.lot]), format_cards(LOTS[trade.taken])
        if trade.taker == trader:
            parts.append(f"gave {NAMES[trade.other]} {lot} for {received}")
        elif trade.other == trader:
            parts.append(f"gave {NAMES[trade.taker]} {received} for {lot}")
    return "; ".join(parts) or "none"


def _best(hand: Hand, corner: int) -> str:
    kind = target_commodity(hand)
    missing = corner - hand[kind] - hand[BULL]
    bull = " with the bull" * bool(hand[BULL])
    bear = ", and the bear must go first" * bool(hand[BEAR])
    if missing <= 0:
        return f"{COMMODITIES[kind]}: complete{bull}{bear}"
    return f"{COMMODITIES[kind]}: {missing} more needed{bull}{bear}"


def summary(terms: Terms) -> str:
    return (
        "Four traders exchange cards without seeing what they get, each to corner the market in "
        "one commodity. Traders A and C are a team, B and D the other. The match ends when a team "
        f"has {terms.goal} points; a team's score is its share of all points."
    )


def headings(terms: Terms) -> Mapping[str, str]:
    values = ", ".join(f"{name} {VALUES[kind]}" for kind, name in enumerate(COMMODITIES))
    return {
        "Cards": "There are nine cards each of barley, corn, soybeans and wheat, a bull and a "
        "bear. All 38 are dealt: two traders have ten, two have nine. A trader sees only its own.",
        "Turns": "Traders take turns in the order A, B, C, D; each deal another begins. On a turn "
        "a trader waits, offers a lot, or trades with one whose offer stands.",
        "Lots": "A lot is one to four cards of one commodity. The bull or the bear may be one of "
        "them, or a lot by itself.",
        "Offers": "Of an offer others learn only the number of cards. It stands until it is taken, "
        "or its owner makes another or trades; an owner has one at a time.",
        "Trades": "To take an offer, a trader gives a lot of as many cards. The two lots change "
        "hands unseen by all others, whatever they are.",
        "Corner": f"A trader who holds {terms.corner} cards of a commodity after a trade corners "
        f"it and gets its points: {values}. The bull counts as any one card; with "
        f"{terms.corner} cards and the bull the points are doubled.",
        "Bear": "Who holds the bear cannot corner. At a corner its holder loses "
        f"{PENALTY} points, and so does who holds the bull without the corner.",
        "Deals": "After a corner, or without one after "
        f"{terms.deal_turns} turns, all cards are dealt anew. The match ends at the latest after "
        f"{terms.turns} turns. Points below 0 count as 0 in the score.",
    }


def show_state(state: State) -> str:
    lines = [
        f"deal {state.deal}, turn {state.turn + 1} of it, {state.turns + 1} of the match; points "
        f"{state.points[0]} to {state.points[1]}"
    ]
    for trader in TRADERS:
        lot = state.offers[trader]
        offer = "" if lot is None else f"; offers {format_cards(LOTS[lot])}"
        lines.append(f"{NAMES[trader]}: {format_cards(state.hands[trader])}{offer}")
    return "\n".join(lines)
