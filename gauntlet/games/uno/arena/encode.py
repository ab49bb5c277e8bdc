"""UNO Arena for learning players, in the manner of `games.uno.encode`.

Codes are UNO's, in which a wild names its colour, then ACTIONS + CALL and ACTIONS + YIELD. So the
choice of a wild and of its colour is one: a wild to be played has four codes; when its colour is
then to be named, each colour has one code, and the decision is encoded as it was before the wild.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gauntlet.games.compiling import below, derive, nth_of, number_of
from gauntlet.games.uno import encode
from gauntlet.games.uno import state as uno
from gauntlet.games.uno.arena.rules import (
    CHALLENGE,
    COLOUR,
    PHASE,
    WINNERS,
    View,
    deal,
    legal,
    over,
    step,
)
from gauntlet.games.uno.policies import DEAL, MOVES
from gauntlet.games.uno.rules import (
    ACTIONS,
    DRAW,
    PLY,
    SEATS,
    TO_MOVE,
    WILD,
    WILD_DRAW_FOUR,
    WILD_DRAW_FOURS,
    WILDS,
    compiled,
    inlined,
)

NUM_CODES = ACTIONS + 2


def features(view: View) -> np.ndarray:
    """Return what a seat sees; if a colour is to be named, what it saw when it chose the wild."""
    return encode.features(before_wild(view) if view.phase == COLOUR else view.table)


def before_wild(view: View) -> uno.View:
    """Return the table as it was before the wild whose colour is to be named."""
    table = view.table
    hand, played_counts, sizes = list(table.hand), list(table.played), list(table.sizes)
    hand[table.trait] += 1
    played_counts[table.trait] -= 1
    sizes[table.seat] += 1
    return table._replace(
        trait=view.under % 15, hand=tuple(hand), played=tuple(played_counts), sizes=tuple(sizes)
    )


def codes_of(phase: int, action: int, trait: int) -> tuple[int, ...]:
    """Return the codes of an action. trait: of the top card."""
    if phase == COLOUR:
        return (15 * action + trait,)
    if phase == CHALLENGE:
        return (ACTIONS + action,)
    if action in (WILD, WILD_DRAW_FOUR):
        return tuple(15 * colour + action for colour in range(4))
    return (action,)


@inlined
def legal_codes(state: np.ndarray) -> int:
    """Return the codes of the seat to move, as a mask, if a card or a challenge is to be
    decided."""
    actions = legal(state)
    if state[PHASE] == CHALLENGE:
        return actions << ACTIONS
    codes = actions & ~(1 << WILD | 1 << WILD_DRAW_FOUR)
    if actions >> WILD & 1:
        codes |= WILDS
    if actions >> WILD_DRAW_FOUR & 1:
        codes |= WILD_DRAW_FOURS
    return codes


@inlined
def play_code(state: np.ndarray, code: int) -> None:
    """Apply the choice of a code, in place; a wild with its colour."""
    if code > DRAW:
        step(state, code - ACTIONS)
    elif code != DRAW and code % 15 >= WILD:
        step(state, code % 15)
        if not over(state):
            step(state, code // 15)
    else:
        step(state, code)


@compiled
def open_game(state: np.ndarray, seat: int, seed: int, game: int) -> int:
    """As `games.uno.encode.open_game`."""
    deal(state, state[SEATS], int(np.int64(derive(seed, DEAL, game))))
    return play_on(state, seat, derive(seed, MOVES, game))


@compiled
def go_on(state: np.ndarray, seat: int, seed: int, game: int, code: int) -> int:
    """As `games.uno.encode.go_on`."""
    play_code(state, code)
    return play_on(state, seat, derive(seed, MOVES, game))


@compiled
def play_on(state: np.ndarray, seat: int, key: np.uint64) -> int:
    """As `games.uno.encode.play_on`; the other seats choose each of a wild's two plies at
    random."""
    while not over(state):
        if state[TO_MOVE] == seat:
            codes = legal_codes(state)
            if codes & (codes - 1) != 0:
                return int(codes)
        actions = legal(state)
        step(state, nth_of(actions, below(number_of(actions), key, state[PLY])))
    return 0


class Practice(encode.Practice):
    """UNO Arena against random players; a shared win is a win."""

    num_codes: ClassVar[int] = NUM_CODES
    _open, _go_on = staticmethod(open_game), staticmethod(go_on)

    @property
    def result(self) -> float:
        return 1.0 if self.state.item(WINNERS) >> self._seat & 1 else -1.0
