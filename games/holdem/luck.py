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

from games.holdem.belief import Belief, forget, make_belief, measure_strengths, reweigh, sum_up
from games.holdem.compiled import allocating, compiled, inlined
from games.holdem.playouts import BIG_BLINDS, DEAL, HIDDEN, MOVES, figure, playout, redeal
from games.holdem.policies import RANDOM, Room, choose, looks, make_room, strength, weigh
from games.holdem.rules import (
    ACTIONS,
    BIG,
    HAND,
    HANDS,
    LONGEST,
    STREET,
    TO_MOVE,
    WON,
    copy,
    deal,
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
    playout; of what the other seat may hold; of the reference's weights."""

    room: Room
    state: np.ndarray
    world: np.ndarray
    trial: np.ndarray
    belief: Belief
    shares: np.ndarray


def make_desk(settings: np.ndarray) -> Desk:
    """For a game with these settings, as `Holdem.settings` has them."""
    return Desk(
        room=make_room(),
        state=settings.copy(),
        world=settings.copy(),
        trial=settings.copy(),
        belief=make_belief(),
        shares=np.zeros(ACTIONS, np.int64),
    )


@compiled
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
    copy(start, state)
    for ply in range(len(actions)):
        action = actions[ply]
        if over(state) or not legal(state) >> action & 1:
            return np.nan
        if state[HAND] != hand:
            hand, street = state[HAND], -1
            forget(desk.belief)
        if state[TO_MOVE] == seat:
            total += judge(action, policies, n, int(np.int64(derive(seed, WORLD, ply))), desk)
        else:
            policy = policies[1 - seat]
            if looks(policy) and state[STREET] != street and worlds == EXACT:
                street = state[STREET]
                measure_strengths(state, desk.room, desk.belief)
            if not follow(action, policy, worlds, desk):
                return np.nan
        step(state, action)
    return float(total / (state[BIG] * state[HANDS]))


@inlined
def follow(action: int, policy: int, worlds: int, desk: Desk) -> bool:
    """Weighs what the other seat, which is to move, may hold by its action; False where its policy
    would not have taken that with the cards that it has."""
    state, actions = desk.state, legal(desk.state)
    weigh(policy, state, actions, strength(policy, state, desk.room), desk.shares)
    if desk.shares[action] == 0:
        return False
    if looks(policy) and worlds == EXACT:
        reweigh(state, policy, action, desk.room, desk.belief)
    return True


@compiled
def judge(action: int, policies: np.ndarray, n: int, key: int, desk: Desk) -> float:
    """A(s, a) of the decision for `action` in the state on the desk, in chips, by `n` worlds."""
    state, seat, options = desk.state, desk.state[TO_MOVE], legal(desk.state)
    strong = strength(policies[seat], state, desk.room)
    total = weigh(policies[seat], state, options, strong, desk.shares)
    if desk.shares[action] == total:
        return 0.0
    sum_up(state, desk.belief)
    difference, world = 0.0, desk.world
    copy(state, world)
    world[HANDS] = state[HAND] + 1
    for playing in range(n):
        redeal(world, desk.belief, derive(key, HIDDEN, playing))
        for option in range(ACTIONS):
            share = (option == action) - desk.shares[option] / total
            if share != 0.0:
                copy(world, desk.trial)
                step(desk.trial, option)
                playout(desk.trial, policies, derive(key, MOVES, playing), desk.room)
                difference += share * (desk.trial[WON] - state[WON])
    return difference / n if seat == 0 else -difference / n


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
        copy(start, state)
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
