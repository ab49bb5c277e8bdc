"""Playing hold'em many times over: matches from the deal, and what each option of a decision gets.

Playout i brings the same cards and the same chance after every option, hand by hand.
"""

from __future__ import annotations

import numpy as np

from games.holdem.belief import Belief, believe, drawn, hold
from games.holdem.compiled import allocating, compiled, inlined
from games.holdem.policies import Room, choose
from games.holdem.ranks import bit
from games.holdem.rules import (
    ACTIONS,
    BIG,
    BOARD,
    HAND,
    HANDS,
    LOG,
    PLAY,
    RESET,
    SEED,
    STACKS,
    STREET,
    TIES,
    TO_MOVE,
    WINS,
    WON,
    board,
    copy,
    deal,
    draw,
    faceup,
    go_on,
    hole,
    legal,
    over,
    step,
)
from games.uno.chance import derive, word

DEAL, MOVES, HIDDEN = range(3)

WIN, BIG_BLINDS, HANDS_WON, HANDS_PLAYED, CAPPED = range(5)
"""What may be asked of a match that is over; see `figure`."""

ASKED = {
    "win": WIN,
    "bb_per_hand": BIG_BLINDS,
    "hands_won": HANDS_WON,
    "hands": HANDS_PLAYED,
    "capped": CAPPED,
}
"""What a match yields, by name."""


@compiled
def playout(state: np.ndarray, policies: np.ndarray, key: np.uint64, room: Room) -> None:
    """Plays `state` to the end of its match, in place, one policy a seat."""
    while not over(state):
        step(state, choose(policies[state[TO_MOVE]], state, legal(state), key, room))


@inlined
def figure(state: np.ndarray, measure: int, seat: int) -> float:
    """What a seat gets of a match that is over: WIN 1 where it has won chips; BIG_BLINDS what it
    has won, in big blinds a hand; HANDS_WON hands that it alone won; HANDS_PLAYED; CAPPED 1 where
    nobody has all chips."""
    won = state[WON] if seat == 0 else -state[WON]
    if measure == WIN:
        return 1.0 if won > 0 else 0.0
    if measure == BIG_BLINDS:
        return float(won / (state[BIG] * (state[HAND] + 1)))
    if measure == HANDS_WON:
        return float(state[WINS + seat])
    if measure == HANDS_PLAYED:
        return float(state[HAND] + 1)
    return 1.0 if state[STACKS] > 0 and state[STACKS + 1] > 0 else 0.0


@allocating
def scores(
    found: np.ndarray, settings: np.ndarray, policies: np.ndarray, measure: int, seed: int,
    first: int, room: Room,
) -> None:  # fmt: skip
    """Fills `found`, float64 of shape (games, 2), with what both seats get of matches from their
    deals.

    settings: a state with the settings of the game. first: the number of the first match.
    """
    state = settings.copy()
    for game in range(len(found)):
        deal(state, int(np.int64(derive(seed, DEAL, first + game))))
        playout(state, policies, derive(seed, MOVES, first + game), room)
        for seat in range(2):
            found[game, seat] = figure(state, measure, seat)


@inlined
def redeal(state: np.ndarray, belief: Belief, key: np.uint64) -> None:
    """Deals afresh what the seat to move cannot see: the other's cards as is believed, and of the
    board what is not face up."""
    seat = state[TO_MOVE]
    known = BOARD + faceup(state[STREET])
    used = hole(state, seat) | board(state, known - BOARD)
    at = drawn(belief.sums, (word(key, np.uint64(0)) >> np.uint64(11)) / 2.0**53)
    hold(state, 1 - seat, at)
    used |= hole(state, 1 - seat)
    count = 1
    for place in range(known, LOG):
        state[place], count = draw(used, key, count)
        used |= bit(state[place])


@compiled
def redealt(state: np.ndarray, policy: int, key: int, room: Room, belief: Belief) -> None:
    """As `redeal`, with what may be believed of a player by `policy`."""
    believe(state, policy, room, belief)
    redeal(state, belief, np.uint64(key))


@allocating
def outcomes(
    found: np.ndarray, state: np.ndarray, policies: np.ndarray, measure: int, seed: int, first: int,
    last: int, hidden: bool, room: Room, belief: Belief,
) -> None:  # fmt: skip
    """What both seats get after each legal action of the seat to move, playout by playout.

    found: float64 of shape (actions, playouts, 2), actions in order of number; those of the
    playouts from `first` up to `last` are filled in. policies: what each seat plays afterwards, and
    what the other is taken to have played so far. hidden: whether each playout deals afresh what
    the seat to move cannot see; False plays on from the true cards, those of later hands too.
    """
    actions = legal(state)
    start, trial, rest = state.copy(), state.copy(), state.copy()
    if hidden:
        believe(state, policies[1 - state[TO_MOVE]], room, belief)
    for playing in range(first, last):
        if hidden:
            redeal(start, belief, derive(seed, HIDDEN, playing))
            start[SEED] = np.int64(derive(seed, DEAL, playing))
        key = derive(seed, MOVES, playing)
        later = play_rest(start, rest, policies, key, room)
        option = 0
        for action in range(ACTIONS):
            if actions >> action & 1:
                copy(start, trial)
                trial[HANDS] = min(trial[HANDS], trial[HAND] + 1) if later else trial[HANDS]
                step(trial, action)
                playout(trial, policies, key, room)
                if later:
                    add(trial, rest)
                for seat in range(2):
                    found[option, playing, seat] = figure(trial, measure, seat)
                option += 1


@compiled
def play_rest(
    start: np.ndarray, rest: np.ndarray, policies: np.ndarray, key: np.uint64, room: Room
) -> bool:
    """Where hands do not hang on each other, plays all that come after this one into `rest`, once
    for all options; says whether there are any."""
    if start[PLAY] != RESET or start[HAND] + 1 >= start[HANDS]:
        return False
    copy(start, rest)
    for field in (TIES, WON, WINS, WINS + 1):
        rest[field] = 0
    rest[TO_MOVE] = -1
    go_on(rest)
    playout(rest, policies, key, room)
    return True


@inlined
def add(state: np.ndarray, rest: np.ndarray) -> None:
    """Counts the hands of `rest` to those of `state`."""
    for field in (TIES, WON, WINS, WINS + 1):
        state[field] += rest[field]
    state[HAND], state[HANDS] = rest[HAND], rest[HANDS]
