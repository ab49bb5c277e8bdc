"""Hold'em simulations: matches from the deal, and playouts after each option of a decision.

A seat's belief about the other's two cards follows Bayes' rule over all pairs, by how likely a
policy would have made the other seat's moves of this hand with each. Playout i has the same cards
and the same chance after every option, hand by hand.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gauntlet.games.compiling import derive, word
from gauntlet.games.holdem.policies import (
    HOLES,
    PAIRS,
    RIVALS,
    Players,
    Room,
    kind,
    looks,
    pick,
    weigh,
    weigh_player,
)
from gauntlet.games.holdem.ranks import allocating, bit, compiled, inlined, worth
from gauntlet.games.holdem.rules import (
    ACTIONS,
    BIG,
    BOARD,
    CARDS,
    HAND,
    HANDS,
    LOG,
    PAID,
    PLAY,
    PLY,
    PREFLOP,
    RESET,
    SEED,
    STACKS,
    STREET,
    TIES,
    TO_MOVE,
    WINS,
    WON,
    act,
    blank,
    board,
    copy,
    deal,
    draw,
    faceup,
    go_on,
    hole,
    legal,
    over,
    post,
    step,
)


class Belief(NamedTuple):
    """weights: for each of PAIRS, how likely the other seat would have made its moves of this hand
    with it, float64 of shape (1326,). sums: their cumulative sum over the pairs possible for the
    seat to move. strengths: the `strength` of each. rivals, trial: buffers for the worths of
    RIVALS, and for a replayed hand."""

    weights: np.ndarray
    sums: np.ndarray
    strengths: np.ndarray
    rivals: np.ndarray
    trial: np.ndarray


def make_belief() -> Belief:
    """Return a uniform belief."""
    return Belief(
        weights=np.ones(len(PAIRS)),
        sums=np.zeros(len(PAIRS)),
        strengths=np.zeros(len(PAIRS)),
        rivals=np.zeros(len(RIVALS), np.int64),
        trial=blank(),
    )


@compiled
def believe(state: np.ndarray, policy: int, room: Room, belief: Belief) -> None:
    """Compute in `belief` the distribution of the other seat's cards for the seat to move, assuming
    the other plays by `policy`.

    It is uniform if the policy would not have made those moves with any cards, or does not look at
    them.
    """
    forget(belief)
    if looks(policy) and state[PLY] > 0:
        recall(state, policy, room, belief)
    sum_up(state, belief)
    if belief.sums[-1] == 0:
        forget(belief)
        sum_up(state, belief)


@inlined
def forget(belief: Belief) -> None:
    """Reset the belief to uniform."""
    for at in range(len(PAIRS)):
        belief.weights[at] = 1.0


@compiled
def recall(state: np.ndarray, policy: int, room: Room, belief: Belief) -> None:
    """Weigh every move that the other seat has made in this hand."""
    trial, other, street = belief.trial, 1 - state[TO_MOVE], -1
    copy(state, trial)
    rewind(trial)
    for ply in range(state[PLY]):
        action = state[LOG + ply]
        if trial[TO_MOVE] == other:
            if trial[STREET] != street:
                street = trial[STREET]
                measure_strengths(trial, room, belief)
            reweigh(trial, policy, action, room, belief)
        act(trial, action)


@inlined
def rewind(state: np.ndarray) -> None:
    """Restore the current hand to its start, with the blinds posted."""
    for seat in range(2):
        state[STACKS + seat] += state[PAID + seat]
    post(state)


@compiled
def reweigh(state: np.ndarray, policy: int, action: int, room: Room, belief: Belief) -> None:
    """Multiply the weights by the probability that the seat to move takes this action under
    `policy`, with the strengths from `measure_strengths`."""
    actions = legal(state)
    for at in range(len(PAIRS)):
        if belief.weights[at] > 0:
            total = weigh(policy, state, actions, belief.strengths[at], room.weights)
            belief.weights[at] *= room.weights[action] / total


@compiled
def measure_strengths(state: np.ndarray, room: Room, belief: Belief) -> None:
    """Compute the `strength` of each of PAIRS on the visible board; arbitrary for pairs that share
    a card with the board."""
    if state[STREET] == PREFLOP:
        for at in range(len(PAIRS)):
            belief.strengths[at] = room.preflop[kind(PAIRS[at, 0], PAIRS[at, 1])]
        return
    table, size, count = board(state, faceup(state[STREET])), state[STREET] + 4, 0
    for at in range(len(RIVALS)):
        if not table & RIVALS[at]:
            rank(worth(RIVALS[at] | table, size), count, belief.rivals)
            count += 1
    for at in range(len(PAIRS)):
        if not table & HOLES[at]:
            mine = worth(HOLES[at] | table, size)
            won = place(mine, count, belief.rivals) + place(mine + 1, count, belief.rivals)
            belief.strengths[at] = won / (2 * count)


@inlined
def rank(value: int, count: int, values: np.ndarray) -> None:
    """Insert a value into the first `count`, which are sorted."""
    while count > 0 and values[count - 1] > value:
        values[count] = values[count - 1]
        count -= 1
    values[count] = value


@inlined
def place(value: int, count: int, values: np.ndarray) -> int:
    """Return how many of the first `count` values, which are sorted, are below `value`."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def sum_up(state: np.ndarray, belief: Belief) -> None:
    """Compute the cumulative sums of the weights without pairs containing a card that the seat to
    move sees."""
    seen, total = board(state, faceup(state[STREET])) | hole(state, state[TO_MOVE]), 0.0
    for at in range(len(PAIRS)):
        if not seen & HOLES[at]:
            total += belief.weights[at]
        belief.sums[at] = total


@inlined
def hold(state: np.ndarray, seat: int, at: int) -> None:
    state[CARDS + 2 * seat], state[CARDS + 2 * seat + 1] = PAIRS[at, 0], PAIRS[at, 1]


@inlined
def draw_pair(sums: np.ndarray, uniform: float) -> int:
    """Return the index into PAIRS selected by a random number in [0, 1)."""
    remaining = uniform * sums[-1]
    low, high = 0, len(sums) - 1
    while low < high:
        middle = (low + high) // 2
        if sums[middle] > remaining:
            high = middle
        else:
            low = middle + 1
    return low


DEAL, MOVES, HIDDEN = range(3)
NO_ACTION = -1

WIN, BIG_BLINDS, HANDS_WON, HANDS_PLAYED, CAPPED, SCORE = range(6)
"""The measures of a finished match; see `figure`."""

ASKED = {
    "win": WIN,
    "bb_per_hand": BIG_BLINDS,
    "hands_won": HANDS_WON,
    "hands": HANDS_PLAYED,
    "capped": CAPPED,
    "match_score": SCORE,
}
"""The measures by name."""


@compiled
def playout(state: np.ndarray, players: Players, key: np.uint64, room: Room) -> None:
    """Play `state` to the end of its match, in place."""
    while not over(state):
        total = weigh_player(players, state, legal(state), room, room.weights)
        step(state, pick(room.weights, total, state, key))


@inlined
def figure(state: np.ndarray, measure: int, seat: int) -> float:
    """Return a seat's result of a finished match: WIN 1 if it has won chips; BIG_BLINDS its
    winnings in big blinds per hand; HANDS_WON hands won outright; HANDS_PLAYED; CAPPED 1 if nobody
    has all chips; SCORE as WIN, and 1/2 if nobody has won chips."""
    won = state[WON] if seat == 0 else -state[WON]
    if measure == WIN:
        return 1.0 if won > 0 else 0.0
    if measure == SCORE:
        return 1.0 if won > 0 else 0.5 if won == 0 else 0.0
    if measure == BIG_BLINDS:
        return float(won / (state[BIG] * (state[HAND] + 1)))
    if measure == HANDS_WON:
        return float(state[WINS + seat])
    if measure == HANDS_PLAYED:
        return float(state[HAND] + 1)
    return 1.0 if state[STACKS] > 0 and state[STACKS + 1] > 0 else 0.0


@allocating
def scores(
    results: np.ndarray, settings: np.ndarray, players: Players, measure: int, seed: int,
    first: int, room: Room,
) -> None:  # fmt: skip
    """Fill `results`, float64 of shape (games, 2), with both seats' results of matches from their
    deals.

    settings: a state with the settings of the game. first: the number of the first match.
    """
    state = settings.copy()
    for game in range(len(results)):
        deal(state, int(np.int64(derive(seed, DEAL, first + game))))
        playout(state, players, derive(seed, MOVES, first + game), room)
        for seat in range(2):
            results[game, seat] = figure(state, measure, seat)


@allocating
def rollouts(
    results: np.ndarray, state: np.ndarray, fresh: bool, action: int, players: Players,
    measure: int, seed: int, room: Room,
) -> None:  # fmt: skip
    """Fill `results`, float64 of shape (games, 2), with both seats' results of games from `state`,
    each with a fresh face-down board and later hands, after `action` unless it is NO_ACTION.
    fresh: True deals anew, and `state` has only the settings."""
    trial = state.copy()
    for playing in range(len(results)):
        copy(state, trial)
        if fresh:
            deal(trial, int(np.int64(derive(seed, DEAL, playing))))
        else:
            redeal_board(trial, derive(seed, HIDDEN, playing))
            trial[SEED] = np.int64(derive(seed, DEAL, playing))
        if action != NO_ACTION:
            step(trial, action)
        playout(trial, players, derive(seed, MOVES, playing), room)
        for seat in range(2):
            results[playing, seat] = figure(trial, measure, seat)


@inlined
def redeal_board(state: np.ndarray, key: np.uint64) -> None:
    """Redeal the face-down part of the board, which neither seat has seen."""
    shown = BOARD + faceup(state[STREET])
    used, count = hole(state, 0) | hole(state, 1) | board(state, shown - BOARD), 0
    for place in range(shown, LOG):
        state[place], count = draw(used, key, count)
        used |= bit(state[place])


@inlined
def redeal(state: np.ndarray, belief: Belief, key: np.uint64) -> None:
    """Redeal what the seat to move cannot see: the other's cards by the belief, and the face-down
    part of the board."""
    seat = state[TO_MOVE]
    known_cards = BOARD + faceup(state[STREET])
    used = hole(state, seat) | board(state, known_cards - BOARD)
    at = draw_pair(belief.sums, (word(key, np.uint64(0)) >> np.uint64(11)) / 2.0**53)
    hold(state, 1 - seat, at)
    used |= hole(state, 1 - seat)
    count = 1
    for place in range(known_cards, LOG):
        state[place], count = draw(used, key, count)
        used |= bit(state[place])


@compiled
def redealt(state: np.ndarray, policy: int, key: int, room: Room, belief: Belief) -> None:
    """As `redeal`, with the belief about a player of `policy`."""
    believe(state, policy, room, belief)
    redeal(state, belief, np.uint64(key))


@allocating
def outcomes(
    results: np.ndarray, state: np.ndarray, players: Players, measure: int, seed: int,
    first: int, last: int, hidden: bool, room: Room, belief: Belief,
) -> None:  # fmt: skip
    """Compute both seats' results after each legal action of the seat to move, per playout.

    results: float64 of shape (actions, playouts, 2), actions in numerical order; playouts `first`
    to `last` - 1 are filled in. players: what each seat plays afterwards, and what the other, by
    its policy, is assumed to have played so far. hidden: True redeals what the seat to move cannot
    see in each playout; False uses the true cards, including those of later hands.
    """
    actions = legal(state)
    start, trial, rest = state.copy(), state.copy(), state.copy()
    if hidden:
        believe(state, players.policies[1 - state[TO_MOVE]], room, belief)
    for playing in range(first, last):
        if hidden:
            redeal(start, belief, derive(seed, HIDDEN, playing))
            start[SEED] = np.int64(derive(seed, DEAL, playing))
        key = derive(seed, MOVES, playing)
        later = play_rest(start, rest, players, key, room)
        option = 0
        for action in range(ACTIONS):
            if actions >> action & 1:
                copy(start, trial)
                trial[HANDS] = min(trial[HANDS], trial[HAND] + 1) if later else trial[HANDS]
                step(trial, action)
                playout(trial, players, key, room)
                if later:
                    add(trial, rest)
                for seat in range(2):
                    results[option, playing, seat] = figure(trial, measure, seat)
                option += 1


@compiled
def play_rest(
    start: np.ndarray, rest: np.ndarray, players: Players, key: np.uint64, room: Room
) -> bool:
    """If hands are independent, play all that follow this one into `rest`, once for all options;
    return whether there are any."""
    if start[PLAY] != RESET or start[HAND] + 1 >= start[HANDS]:
        return False
    copy(start, rest)
    for field in (TIES, WON, WINS, WINS + 1):
        rest[field] = 0
    rest[TO_MOVE] = -1
    go_on(rest)
    playout(rest, players, key, room)
    return True


@inlined
def add(state: np.ndarray, rest: np.ndarray) -> None:
    for field in (TIES, WON, WINS, WINS + 1):
        state[field] += rest[field]
    state[HAND], state[HANDS] = rest[HAND], rest[HANDS]
