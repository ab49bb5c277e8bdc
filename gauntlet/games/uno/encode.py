"""UNO for learning players: decisions as vectors, actions as codes, games to practise on.

Codes are action numbers. A decision is 240 zeros and ones plus, as shares of the deck, the size of
the pile and of the hands, the own one first, then on by seat. The zeros and ones are four planes of
4 colours x 15 traits: cards of which the hand holds none, one, or two or more, and the card to
match. A wild is set in all four colours of its plane; as the card to match, in the colour that it
named. Source: RLCard 1.2.0's UNO environment, which omits the sizes and the number of wilds in a
hand.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gauntlet.games.compiling import below, derive, nth_of, number_of
from gauntlet.games.uno.policies import DEAL, KINDS, MOVES, count_cards
from gauntlet.games.uno.rules import (
    ACTIONS,
    CARDS,
    COLOUR,
    PILE,
    PLY,
    SEATS,
    TO_MOVE,
    TOP,
    WILD,
    WINNER,
    blank,
    compiled,
    deal,
    hand_of,
    legal,
    over,
    step,
    trait_of,
)
from gauntlet.games.uno.state import View

PLANES = 4 * KINDS

Room = tuple[np.ndarray, np.ndarray]
Told = tuple[np.ndarray, np.ndarray]


def width(seats: int) -> int:
    """Return the length of a decision's vector."""
    return PLANES + 1 + seats


def features(table: View) -> np.ndarray:
    """Return what a seat sees, float32 of shape (`width`,)."""
    sizes = (CARDS - sum(table.sizes) - sum(table.played), *table.sizes)
    row = np.empty(width(len(table.sizes)), np.float32)
    encode(np.array(table.hand), np.array(sizes), table.seat, table.colour, table.trait, row)
    return row


@compiled
def encode(
    held: np.ndarray, sizes: np.ndarray, seat: int, colour: int, trait: int, row: np.ndarray
) -> None:
    """Fill `row` (float32, `width`) with what `seat` sees.

    held: its cards by kind, as from `policies.count_cards`. sizes: the pile, then the hands by
    seat. colour, trait: of the card to match.
    """
    row[:] = 0
    for kind in range(KINDS):
        number = held[kind % 15 if kind % 15 >= WILD else kind]
        row[KINDS * min(number, 2) + kind] = 1
    row[3 * KINDS + 15 * colour + trait] = 1
    seats = len(sizes) - 1
    row[PLANES] = sizes[0] / CARDS
    for further in range(seats):
        row[PLANES + 1 + further] = sizes[1 + (seat + further) % seats] / CARDS


@compiled
def open_game(state: np.ndarray, seat: int, seed: int, game: int) -> int:
    """Deal game `game` under `seed` and play on to a choice of `seat`; returns as `play_on`."""
    deal(state, state[SEATS], int(np.int64(derive(seed, DEAL, game))))
    return play_on(state, seat, derive(seed, MOVES, game))


@compiled
def go_on(state: np.ndarray, seat: int, seed: int, game: int, code: int) -> int:
    """Make the choice and play on to the next one of `seat`; returns as `play_on`."""
    step(state, code)
    return play_on(state, seat, derive(seed, MOVES, game))


@compiled
def play_on(state: np.ndarray, seat: int, key: np.uint64) -> int:
    """Play at random, in place, until `seat` has a choice; return its codes as a mask, 0 once
    over."""
    while not over(state):
        actions = legal(state)
        forced = actions & (actions - 1) == 0
        if state[TO_MOVE] == seat and not forced:
            return int(actions)
        step(state, nth_of(actions, below(number_of(actions), key, state[PLY])))
    return 0


@compiled
def describe(state: np.ndarray, seat: int, codes: int, room: Room, encoding: Told) -> None:
    """Encode the choice that `seat` has in `state`, as `encode` does, and its `codes`, a mask."""
    held, sizes = room
    row, legal_codes = encoding
    count_cards(state, hand_of(seat), held)
    sizes[0] = state[PILE]
    for other in range(state[SEATS]):
        sizes[1 + other] = state[hand_of(other)]
    encode(held, sizes, seat, state[COLOUR], trait_of(state[TOP]), row)
    for code in range(len(legal_codes)):
        legal_codes[code] = codes >> code & 1


class Practice:
    """UNO against random players: implements `games.base.Practice`.

    state: the array of the current game.
    """

    num_codes: ClassVar[int] = ACTIONS
    _open, _go_on = staticmethod(open_game), staticmethod(go_on)

    def __init__(self, seats: int, seat: int, seed: int) -> None:
        self.features = np.zeros(width(seats), np.float32)
        self.legal = np.zeros(self.num_codes, np.bool_)
        self.state = blank(seats)
        self.state[SEATS] = seats
        self._seat, self._seed, self._game = seat, seed, 0
        self._room = np.zeros(KINDS, np.int64), np.zeros(seats + 1, np.int64)

    def begin(self, game: int) -> bool:
        self._game = game
        return self._encode_choice(self._open(self.state, self._seat, self._seed, game))

    def take(self, code: int) -> bool:
        return self._encode_choice(
            self._go_on(self.state, self._seat, self._seed, self._game, code)
        )

    @property
    def result(self) -> float:
        winner = self.state.item(WINNER)
        return 0.0 if winner < 0 else 1.0 if winner == self._seat else -1.0

    def _encode_choice(self, codes: int) -> bool:
        if codes:
            describe(self.state, self._seat, codes, self._room, (self.features, self.legal))
        return codes != 0
