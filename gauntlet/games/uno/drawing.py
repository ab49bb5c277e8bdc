"""Draws UNO's table: the top card, the piles, and every hand, open or as a number of cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from markupsafe import Markup

from gauntlet.common.markup import tag
from gauntlet.games.base import Observation
from gauntlet.games.drawing import by_place, entry, marks, picture, seat, sign
from gauntlet.games.uno import rules
from gauntlet.games.uno.game import Uno
from gauntlet.games.uno.rules import DRAW, WILD
from gauntlet.games.uno.state import State, View, card_order, hand
from gauntlet.games.uno.words import CARD_NAMES, COLOURS

STYLE = Path(__file__).with_suffix(".css")

SIGNS = (*"0123456789", "\u2298", "\u21c4", "+2", "W", "W+4")
"""The sign on a card, by its trait; its colour is also written below."""


@dataclass(frozen=True)
class Table:
    """The contents of a drawing of UNO, as numbers of `games.uno.rules`.

    top: the kind of the top card. colour: the one to match, -1 while a wild has none. sizes: cards
    held, by seat. hands: the kinds of the visible cards, by seat. turn: the seat to move, None if
    the game is over. pile, played: numbers of cards. you: the viewer's seat, None if all cards are
    open. next_up: the kinds of the next cards to draw, if all cards are open. moves: those of the
    viewer, by the kind of the card played, or DRAW.
    """

    top: int
    colour: int
    direction: int
    sizes: Sequence[int]
    hands: Mapping[int, Sequence[int]]
    turn: int | None
    pile: int
    played: int
    you: int | None = None
    next_up: Sequence[int] = ()
    moves: Mapping[int, Sequence[int]] = field(default_factory=dict)


def draw_state(game: Uno, state: State) -> Markup:
    array = state.array
    top, colour = array.item(rules.TOP) & 63, array.item(rules.COLOUR)
    over = bool(rules.over(array))
    return draw_table(full_table(array, game.num_seats, top, colour, over))


def draw_view(game: Uno, observation: Observation) -> Markup:
    view: View = observation.view
    return draw_table(seen_table(view, view.colour, view.options))


def full_table(array: np.ndarray, seats: int, top: int, colour: int, over: bool) -> Table:
    """Return everything in a state of UNO or UNO Arena."""
    pile = array[rules.PILE + 1 : rules.PILE + 1 + array.item(rules.PILE)].tolist()
    hands = {number: hand(array, number) for number in range(seats)}
    return Table(
        top=top,
        colour=colour,
        direction=array.item(rules.DIRECTION),
        sizes=[len(cards) for cards in hands.values()],
        hands=hands,
        turn=None if over else array.item(rules.TO_MOVE),
        played=array.item(rules.PLAYED),
        pile=len(pile),
        next_up=[card & 63 for card in pile[:-6:-1]],
    )


def seen_table(view: View, colour: int, actions: Sequence[int]) -> Table:
    """Return what a seat sees of UNO or UNO Arena: only its own hand. colour: as in Table. actions:
    the cards it may play, as the game numbers them, or DRAW."""
    own_cards = [kind for kind, count in enumerate(view.hand) for _ in range(count)]
    return Table(
        top=15 * view.colour + view.trait,
        colour=colour,
        direction=view.direction,
        sizes=view.sizes,
        hands={view.seat: own_cards},
        turn=view.seat,
        played=sum(view.played),
        you=view.seat,
        pile=len(rules.DECK) - sum(view.sizes) - sum(view.played),
        moves=by_place(a % 15 if a != DRAW and a % 15 >= WILD else a for a in actions),
    )


def draw_table(table: Table, *more: Markup) -> Markup:
    """Draw the table; `more` goes below its middle."""
    rows = [_row(table, number) for number in range(len(table.sizes))]
    return picture("UNO's table", _middle(table), *more, *rows, kind="d-uno")


def _middle(table: Table) -> Markup:
    up = table.direction > 0
    parts = [
        entry("top card", card(table.top)),
        entry("colour to match", _colour(table.colour)),
        entry("to draw", _face_down(table.pile, tuple(table.moves.get(DRAW, ())))),
        _fact("played", table.played),
        _fact("order of play", "upwards" if up else "downwards"),
        entry("next to be drawn", *map(card, table.next_up)) if table.next_up else "",
    ]
    return tag("div", *parts, class_="d-middle")


@cache
def _fact(name: str, value: object) -> Markup:
    return entry(name, tag("b", value))


def _row(table: Table, number: int) -> Markup:
    size, kinds = table.sizes[number], table.hands.get(number)
    moves = table.moves if number == table.you else {}
    held = fan(tuple(kinds), moves) if kinds is not None else _closed(size)
    note = f"{size} card{'s' if size != 1 else ''}"
    return seat(number, table.you, held, note=note, turn=number == table.turn)


def fan(kinds: tuple[int, ...], moves: Mapping[int, Sequence[int]]) -> Markup:
    """Draw a hand. moves: of its cards, by kind."""
    return _fan(kinds, tuple((kind, tuple(own)) for kind, own in moves.items()))


@lru_cache(maxsize=1000)
def _fan(kinds: tuple[int, ...], moves: tuple[tuple[int, tuple[int, ...]], ...]) -> Markup:
    own = dict(moves)
    cards = [card(kind, own.get(kind, ())) for kind in sorted(kinds, key=card_order)]
    return tag("div", *cards, class_="d-hand")


def _closed(size: int) -> Markup:
    return tag("div", _face_down(size), class_="d-hand")


@lru_cache(maxsize=1000)
def card(kind: int, moves: tuple[int, ...] = ()) -> Markup:
    colour, trait = divmod(kind, 15)
    plain = trait < WILD
    below = tag("i", COLOURS[colour] if plain else "wild", aria_hidden="true")
    above = tag("b", data_sign=SIGNS[trait], aria_hidden="true")
    look = f"d-card d-{COLOURS[colour] if plain else 'wild'}"
    return sign(CARD_NAMES[kind], above, below, kind=look, **marks(moves))


@cache
def _colour(colour: int) -> Markup:
    """Draw a colour's name on that colour; without colour if it is not named yet."""
    if colour < 0:
        return tag("b", "not named yet", class_="d-name-tag d-unnamed")
    return tag("b", COLOURS[colour], class_=f"d-name-tag d-{COLOURS[colour]}")


@lru_cache(maxsize=1000)
def _face_down(count: int, moves: tuple[int, ...] = ()) -> Markup:
    """Draw face-down cards, as one with their number on it."""
    cards = f"{count} card{'s' if count != 1 else ''} face down"
    number = tag("b", data_sign=count, aria_hidden="true")
    return sign(cards, number, kind="d-card d-back", **marks(moves))
