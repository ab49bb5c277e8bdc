"""How many chips more than a reference's a seat's decisions were worth, with the luck of the cards
taken out: the lemma of `games.uno.luck`, for the chips of hands with fresh stacks.

There Q(s, a), what the seat wins of this hand when it takes action a and plays the reference r from
then on, does not hang on other hands, and of hidden cards it takes the mean. The other seat's
policy is known, so what it may hold is known exactly, by Bayes' rule over all pairs of cards; the
rest of the board is any of the cards left. Each playout draws both anew, the same after all
options. So every estimate of Q is unbiased, for any number of playouts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from games.holdem.compiled import allocating, compiled, inlined
from games.holdem.playouts import BIG_BLINDS, DEAL, HIDDEN, MOVES, figure, playout, redeal
from games.holdem.policies import (
    PAIRS,
    RANDOM,
    RIVALS,
    Room,
    choose,
    kind,
    looks,
    make_room,
    strength,
    weigh,
)
from games.holdem.ranks import bit, worth
from games.holdem.rules import (
    ACTIONS,
    BIG,
    HAND,
    HANDS,
    LONGEST,
    PREFLOP,
    STREET,
    TO_MOVE,
    WON,
    board,
    deal,
    faceup,
    hole,
    legal,
    over,
    step,
)
from games.uno.chance import below, derive

EXACT, UNIFORM = range(2)
"""What the other seat may hold: by its moves, or any two cards, as if it had made none. The latter
is biased; it is here to be compared with."""

WORLD, SLIP = 3, 4
"""What random numbers are for, beside those of `playouts`."""


class Desk(NamedTuple):
    """Room to judge one decision after another: of policies, of a game, of a world and of a
    playout; for each of PAIRS how likely the other seat made its moves of this hand with it, the
    same summed up over what is possible, and its strength on the board; the worths of RIVALS; the
    reference's weights."""

    room: Room
    state: np.ndarray
    world: np.ndarray
    trial: np.ndarray
    weights: np.ndarray
    sums: np.ndarray
    strengths: np.ndarray
    rivals: np.ndarray
    shares: np.ndarray


def make_desk(settings: np.ndarray) -> Desk:
    """For a game with these settings, as `Holdem.settings` has them."""
    return Desk(
        room=make_room(),
        state=settings.copy(),
        world=settings.copy(),
        trial=settings.copy(),
        weights=np.ones(len(PAIRS)),
        sums=np.zeros(len(PAIRS)),
        strengths=np.zeros(len(PAIRS)),
        rivals=np.zeros(len(RIVALS), np.int64),
        shares=np.zeros(ACTIONS, np.int64),
    )


@allocating
def advantage(
    start: np.ndarray,
    actions: np.ndarray,
    seat: int,
    policies: np.ndarray,
    n: int,
    seed: int,
    desk: Desk,
    worlds: int,
) -> float:
    """The sum of A over the decisions of `seat` in one match of hands with fresh stacks, in big
    blinds a hand; unbiased.

    start: its first state. actions: those of the whole match, in order. policies: what the other
    seat played, and the reference for `seat`. n: playouts an option. seed: settles the playouts.
    Returns nan where an action is not legal, or is none of the other seat's policy.
    """
    state, total, hand, street = desk.state, 0.0, -1, -1
    state[:] = start
    for ply in range(len(actions)):
        action = actions[ply]
        if over(state) or not legal(state) >> action & 1:
            return np.nan
        if state[HAND] != hand:
            hand, street = state[HAND], -1
            desk.weights[:] = 1.0
        if state[TO_MOVE] == seat:
            total += judge(action, policies, n, int(np.int64(derive(seed, WORLD, ply))), desk)
        else:
            policy = policies[1 - seat]
            if looks(policy) and state[STREET] != street and worlds == EXACT:
                street = state[STREET]
                measure_strengths(state, desk)
            if not follow(action, policy, worlds, desk):
                return np.nan
        step(state, action)
    return float(total / (state[BIG] * state[HANDS]))


@compiled
def measure_strengths(state: np.ndarray, desk: Desk) -> None:
    """The `strength` of each of PAIRS on the board as it lies face up; of one with a card of the
    board anything."""
    if state[STREET] == PREFLOP:
        for at in range(len(PAIRS)):
            desk.strengths[at] = desk.room.preflop[kind(PAIRS[at, 0], PAIRS[at, 1])]
        return
    table, size, count = board(state, faceup(state[STREET])), state[STREET] + 4, 0
    for at in range(len(RIVALS)):
        if not table & RIVALS[at]:
            rank(worth(RIVALS[at] | table, size), count, desk.rivals)
            count += 1
    for at in range(len(PAIRS)):
        own = bit(PAIRS[at, 0]) | bit(PAIRS[at, 1])
        if not table & own:
            mine = worth(own | table, size)
            won = place(mine, count, desk.rivals) + place(mine + 1, count, desk.rivals)
            desk.strengths[at] = won / (2 * count)


@inlined
def rank(value: int, count: int, values: np.ndarray) -> None:
    """Puts a value among the first `count`, which are in order."""
    while count > 0 and values[count - 1] > value:
        values[count] = values[count - 1]
        count -= 1
    values[count] = value


@inlined
def place(value: int, count: int, values: np.ndarray) -> int:
    """How many of the first `count` values, which are in order, are below `value`."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def follow(action: int, policy: int, worlds: int, desk: Desk) -> bool:
    """Weighs what the other seat, which is to move, may hold by its action; False where its policy
    would not have taken that with the cards that it has."""
    state, actions = desk.state, legal(desk.state)
    strong = strength(state, desk.room) if looks(policy) else 0.0
    weigh(policy, state, actions, strong, desk.shares)
    if desk.shares[action] == 0:
        return False
    if looks(policy) and worlds == EXACT:
        for at in range(len(PAIRS)):
            if desk.weights[at] > 0:
                total = weigh(policy, state, actions, desk.strengths[at], desk.shares)
                desk.weights[at] *= desk.shares[action] / total
    return True


@allocating
def judge(action: int, policies: np.ndarray, n: int, key: int, desk: Desk) -> float:
    """A(s, a) of the decision for `action` in the state on the desk, in chips, by `n` worlds."""
    state, seat, options = desk.state, desk.state[TO_MOVE], legal(desk.state)
    strong = strength(state, desk.room) if looks(policies[seat]) else 0.0
    total = weigh(policies[seat], state, options, strong, desk.shares)
    if desk.shares[action] == total:
        return 0.0
    sum_up(state, desk)
    difference, world = 0.0, desk.world
    world[:] = state
    world[HANDS] = state[HAND] + 1
    for playing in range(n):
        redeal(world, desk.sums, derive(key, HIDDEN, playing))
        for option in range(ACTIONS):
            share = (option == action) - desk.shares[option] / total
            if share != 0.0:
                desk.trial[:] = world
                step(desk.trial, option)
                playout(desk.trial, policies, derive(key, MOVES, playing), desk.room)
                difference += share * (desk.trial[WON] - state[WON])
    return difference / n if seat == 0 else -difference / n


@inlined
def sum_up(state: np.ndarray, desk: Desk) -> None:
    """Sums the weights up, less those of pairs with a card that the seat to move sees."""
    seen, total = board(state, faceup(state[STREET])) | hole(state, state[TO_MOVE]), 0.0
    for at in range(len(PAIRS)):
        if not seen & (bit(PAIRS[at, 0]) | bit(PAIRS[at, 1])):
            total += desk.weights[at]
        desk.sums[at] = total


@allocating
def sample(
    settings: np.ndarray,
    players: np.ndarray,
    noise: int,
    reference: int,
    seat: int,
    games: int,
    n: int,
    seed: int,
    desk: Desk,
    worlds: int,
) -> np.ndarray:
    """Matches between scripted players, judged: float64 of shape (games, 2), what `seat` got in big
    blinds a hand, and its `advantage` over the policy `reference`.

    settings: a state of the game. noise: in how many of a hundred decisions `seat` takes any action
    instead. n: 0 judges nothing.
    """
    policies, found = players.copy(), np.empty((games, 2))
    policies[seat] = reference
    start, state = settings.copy(), settings.copy()
    actions = np.empty(LONGEST * settings[HANDS], np.int64)
    for game in range(games):
        deal(start, int(np.int64(derive(seed, DEAL, game))))
        state[:] = start
        count = record(state, players, seat, noise, derive(seed, MOVES, game), desk.room, actions)
        own = int(np.int64(derive(seed, HIDDEN, game)))
        found[game, 0] = figure(state, BIG_BLINDS, seat)
        found[game, 1] = np.nan
        if n > 0:
            found[game, 1] = advantage(start, actions[:count], seat, policies, n, own, desk, worlds)
    return found


@compiled
def record(
    state: np.ndarray, players: np.ndarray, seat: int, noise: int, key: np.uint64, room: Room,
    actions: np.ndarray,
) -> int:  # fmt: skip
    """Plays `state` to its end, in place, and writes down the actions; how many they are."""
    plies = 0
    while not over(state):
        policy = players[state[TO_MOVE]]
        if (
            state[TO_MOVE] == seat
            and below(100, derive(int(np.int64(key)), SLIP, plies), 0) < noise
        ):
            policy = RANDOM
        actions[plies] = choose(policy, state, legal(state), key, room)
        step(state, actions[plies])
        plies += 1
    return plies
