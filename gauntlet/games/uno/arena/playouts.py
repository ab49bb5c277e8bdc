"""UNO Arena's scripted players, simulated games and playouts.

RANDOM is uniform over the options of every decision. RULE takes a card of the top card's number or
function, else one of the colour in force, else a wild, else a wild draw four; it names a colour
that it holds most of, not counting wilds, and challenges with probability 1/2. It is uniform over
equally good options, and a card held twice is one option.
"""

from __future__ import annotations

import numpy as np

from gauntlet.games.compiling import below, derive, nth_of, number_of
from gauntlet.games.uno.arena.rules import (
    CARD,
    CHALLENGE,
    IN_FORCE,
    PHASE,
    WINNERS,
    deal_lazily,
    legal,
    over,
    step,
)
from gauntlet.games.uno.policies import DEAL, HIDDEN, MOVES, NO_ACTION, redeal_lazily
from gauntlet.games.uno.rules import (
    DRAW,
    EVERY_COLOUR,
    PLAIN,
    PLY,
    SEED,
    TO_MOVE,
    TRAIT,
    WILD,
    allocating,
    blank,
    compiled,
    copy,
    hand_of,
    inlined,
    kind_of,
    loosen,
    mover,
    trait_of,
)

RANDOM, RULE = range(2)


@inlined
def choose(policy: int, state: np.ndarray, key: np.uint64) -> int:
    """Return the action that `policy` takes, by the random number of this ply under `key`."""
    actions = legal(state)
    if policy == RULE:
        actions = preferred(state, actions)
    if actions == 1 << DRAW:
        return DRAW
    return nth_of(actions, below(number_of(actions), key, state[PLY]))


@inlined
def preferred(state: np.ndarray, actions: int) -> int:
    """Return the actions of a mask among which RULE chooses."""
    if state[PHASE] == CHALLENGE:
        return actions
    if state[PHASE] != CARD:
        return most_held(state)
    trait = int(state[TRAIT])
    if trait < WILD and actions & EVERY_COLOUR << trait:
        return actions & EVERY_COLOUR << trait
    coloured = actions & PLAIN << (15 * int(state[IN_FORCE]))
    if coloured:
        return coloured
    return actions & -actions


@inlined
def most_held(state: np.ndarray) -> int:
    """Return the colours that the seat to move holds most of, as a mask."""
    colours = most = 0
    hand = hand_of(state[TO_MOVE])
    for colour in range(4):
        count = 0
        for place in range(hand + 1, hand + 1 + state[hand]):
            count += kind_of(state[place]) // 15 == colour and trait_of(state[place]) < WILD
        if count > most:
            most, colours = count, 0
        if count == most:
            colours |= 1 << colour
    return colours


@compiled
def playout(state: np.ndarray, policies: np.ndarray, key: np.uint64) -> int:
    """Play `state` to its end, in place, one policy per seat; return the winners as a mask of
    seats."""
    while not over(state):
        step(state, choose(policies[mover(state)], state, key))
    return int(state[WINNERS])


@allocating
def rollouts(
    state: np.ndarray, fresh: bool, action: int, policies: np.ndarray, count: int, seed: int
) -> np.ndarray:
    """Return the winners, a mask of seats, of `count` games from `state`, each with a fresh pile,
    after `action` unless it is NO_ACTION. fresh: True deals anew instead."""
    found, trial = np.empty(count, np.int64), state.copy()
    for playing in range(count):
        copy(state, trial)
        if fresh:
            deal_lazily(trial, len(policies), int(np.int64(derive(seed, DEAL, playing))))
        else:
            loosen(trial, derive(seed, HIDDEN, playing))
            trial[SEED] = np.int64(derive(seed, DEAL, playing))
        if action != NO_ACTION:
            step(trial, action)
        found[playing] = playout(trial, policies, derive(seed, MOVES, playing))
    return found


@allocating
def simulate(policies: np.ndarray, games: int, seed: int) -> np.ndarray:
    """Return wins by seat, then games without a winner (none), of `games` deals; one policy per
    seat.

    A shared win counts for each of its seats.
    """
    wins = np.zeros(len(policies) + 1, np.int64)
    state = blank(len(policies))
    for game in range(games):
        deal_lazily(state, len(policies), int(np.int64(derive(seed, DEAL, game))))
        winners = playout(state, policies, derive(seed, MOVES, game))
        for seat in range(len(policies)):
            wins[seat] += winners >> seat & 1
    return wins


@allocating
def winners(state: np.ndarray, policies: np.ndarray, n: int, seed: int, hidden: bool) -> np.ndarray:
    """Return the winners after each legal action of the seat to move: as
    `games.uno.policies.winners`."""
    actions = legal(state)
    masks = np.empty((number_of(actions), n), np.uint16)
    start, trial = state.copy(), state.copy()
    for playing in range(n):
        if hidden:
            redeal_lazily(start, state[TO_MOVE], derive(seed, HIDDEN, playing))
        key = derive(seed, MOVES, playing)
        for option in range(len(masks)):
            copy(start, trial)
            step(trial, nth_of(actions, option))
            masks[option, playing] = playout(trial, policies, key)
    return masks
