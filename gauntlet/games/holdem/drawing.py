"""Draws hold'em's table: the board, the pot, both players' cards, stacks and bets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from markupsafe import Markup

from gauntlet.common.markup import tag
from gauntlet.games.base import Action, Observation
from gauntlet.games.drawing import entry, marks, picture, seat, sign
from gauntlet.games.holdem import rules, words
from gauntlet.games.holdem.game import Holdem
from gauntlet.games.holdem.rules import (
    AWARD,
    BACK,
    BETS,
    BOARD,
    DEALER,
    HAND,
    LOG,
    SHOWN,
    STACKS,
    STREET,
    TO_MOVE,
    State,
    View,
    faceup,
)

STYLE = Path(__file__).with_suffix(".css")

SUITS = (("clubs", "\u2663"), ("diamonds", "\u2666"), ("hearts", "\u2665"), ("spades", "\u2660"))
RANKS = (
    *("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("jack", "queen", "king", "ace"),
)


def draw_state(game: Holdem, state: State) -> Markup:
    return _table(game, state.array, None)


def draw_view(game: Holdem, observation: Observation) -> Markup:
    view: View = observation.view
    array = np.array(view.cells)
    actions = [action(array, one, number) for number, one in enumerate(view.options)]
    return _table(game, array, view.seat, tag("div", *actions, class_="d-actions"))


def _table(game: Holdem, array: np.ndarray, you: int | None, *below: Markup) -> Markup:
    """array: a state's, or a seat's view of it, with -1 for cards it does not see."""
    street, over = array.item(STREET), bool(rules.over(array))
    up = 5 if over and array.item(SHOWN) else faceup(street)
    board = [
        card(number, coming=place >= up) for place, number in enumerate(array[BOARD:LOG].tolist())
    ]
    middle = tag(
        "div",
        entry("board", tag("span", *board, class_="d-hand")),
        entry("pot", chips(rules.pot(array))),
        entry("street", tag("b", words.STREETS[street])),
        entry("hand", tag("b", f"{array.item(HAND) + 1} of {game.hands}")),
        class_="d-middle",
    )
    rows = [_row(array, number, you, over) for number in range(2)]
    return picture("the table of Texas hold'em", middle, *rows, *below, kind="d-holdem")


def _row(array: np.ndarray, number: int, you: int | None, over: bool) -> Markup:
    hole_cards = tag("span", *map(card, array[rules.hole_slice(number)].tolist()), class_="d-hand")
    amount = array.item(AWARD + number) + array.item(BACK + number)
    parts = [
        hole_cards,
        entry("stack", chips(array.item(STACKS + number))),
        entry("bet", chips(array.item(BETS + number))),
        entry("got", chips(amount)) if over and amount else "",
    ]
    dealer = array.item(DEALER) == number
    turn = not over and array.item(TO_MOVE) == number
    return seat(number, you, *parts, note="dealer" if dealer else "", turn=turn)


def action(array: np.ndarray, option: Action, number: int) -> Markup:
    """Draw a legal action with the chips that it adds. number: of the move."""
    added = rules.cost(array, option)
    name = tag("b", words.NAMES[option].replace("_", " ").lower(), aria_hidden="true")
    costs = tag("i", f"+{added}" if added else "", aria_hidden="true")
    label = f"{words.NAMES[option]}: {words.meaning(array, option)}"
    return sign(label, name, costs, kind="d-action", **marks((number,)))


def card(number: int, coming: bool = False) -> Markup:
    """Draw a card by its number, face down for -1. coming: the card is still face down on the
    table, and only an all-seeing viewer sees it."""
    if number < 0:
        return sign("a card face down", kind="d-card d-back")
    rank, (suit, shape) = RANKS[number >> 2], SUITS[number & 3]
    short = words.RANKS[number >> 2].replace("T", "10")
    red = "d-hearts" if suit in ("hearts", "diamonds") else "d-spades"
    label = f"{rank} of {suit}{', still face down' if coming else ''}"
    above, below = tag("b", short, aria_hidden="true"), tag("i", shape, aria_hidden="true")
    return sign(label, above, below, kind=f"d-card {red}{' d-coming' if coming else ''}")


def chips(count: int) -> Markup:
    return sign(f"{count} chips", tag("b", count), kind="d-chips")
