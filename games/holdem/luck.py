"""How many chips more than a reference's a seat's decisions were worth, with the luck of the cards
taken out: the lemma of `games.uno.luck`, for the chips of hands with fresh stacks.

There Q(s, a), what the seat wins of this hand when it takes action a and plays the reference r from
then on, does not depend on other hands, and of hidden cards it takes the mean. The other seat's
policy is known, so what it may hold is known exactly, by Bayes' rule over all pairs of cards; the
rest of the board is any of the cards left. Each playout draws both anew, the same after all
options. So every estimate of Q is unbiased, for any number of playouts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gauntlet.games.compiling import below, derive, word
from gauntlet.games.holdem.playouts import (
    BIG_BLINDS,
    DEAL,
    HIDDEN,
    MOVES,
    Belief,
    figure,
    forget,
    make_belief,
    measure_strengths,
    redeal,
    reweigh,
    sum_up,
)
from gauntlet.games.holdem.policies import (
    FACTS,
    RANDOM,
    Habits,
    Room,
    choose,
    looks,
    make_room,
    notice,
    strength,
    weigh,
    weigh_habits,
)
from gauntlet.games.holdem.ranks import allocating, compiled, inlined
from gauntlet.games.holdem.rules import (
    ACTIONS,
    BIG,
    HAND,
    HANDS,
    LONGEST,
    PLY,
    STREET,
    TO_MOVE,
    WON,
    copy,
    deal,
    legal,
    over,
    step,
)

EXACT, UNIFORM = range(2)
"""What the other seat may hold: by its moves, or any two cards, as if it had made none. The latter
is biased; it is here to be compared with."""

WORLD, SLIP = 3, 4
"""What random numbers are for, beside those of `playouts`."""


class Measure(NamedTuple):
    """What decisions are judged by: what each seat plays, the judged one's being the reference;
    habits that are the reference instead, if they are any; playouts an option; where worlds come
    from."""

    policies: np.ndarray
    habits: Habits
    n: int
    worlds: int


class Desk(NamedTuple):
    """Room to judge one decision after another: of policies, of a game, of a world and of a
    playout; of what the other seat may hold; of the reference's weights, and of what it goes by."""

    room: Room
    state: np.ndarray
    world: np.ndarray
    trial: np.ndarray
    belief: Belief
    shares: np.ndarray
    facts: np.ndarray


def make_desk(settings: np.ndarray) -> Desk:
    """For a game with these settings, as `Holdem.settings` has them."""
    return Desk(
        room=make_room(),
        state=settings.copy(),
        world=settings.copy(),
        trial=settings.copy(),
        belief=make_belief(),
        shares=np.zeros(ACTIONS, np.int64),
        facts=np.zeros(FACTS),
    )


@compiled
def advantage(
    start: np.ndarray, actions: np.ndarray, seat: int, measure: Measure, seed: int, desk: Desk
) -> float:
    """The sum of A over the decisions of `seat` in one match of hands with fresh stacks, in big
    blinds a hand; unbiased.

    start: its first state. actions: those of the whole match, in order. seed: settles the playouts.
    Returns nan where an action is not legal, or is none of the other seat's policy.
    """
    state, total, hand, street = desk.state, 0.0, -1, -1
    policy, worlds = measure.policies[1 - seat], measure.worlds
    copy(start, state)
    for ply in range(len(actions)):
        action = actions[ply]
        if over(state) or not legal(state) >> action & 1:
            return np.nan
        if state[HAND] != hand:
            hand, street = state[HAND], -1
            forget(desk.belief)
        if state[TO_MOVE] == seat:
            total += judge(action, measure, int(np.int64(derive(seed, WORLD, ply))), desk)
        else:
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
def judge(action: int, measure: Measure, key: int, desk: Desk) -> float:
    """A(s, a) of the decision for `action` in the state on the desk, in chips.

    In each world one option of the reference's is played beside it, each in as many worlds as it is
    likely: of n in turn the one at (i + u) / n of their chances, u at random from 0 to 1.
    """
    state, seat, options = desk.state, desk.state[TO_MOVE], legal(desk.state)
    total = refer(state, options, measure, desk, desk.shares)
    if desk.shares[action] == total:
        return 0.0
    sum_up(state, desk.belief)
    difference, world = 0.0, desk.world
    copy(state, world)
    world[HANDS] = state[HAND] + 1
    shift = (word(derive(key, WORLD, 0), np.uint64(0)) >> np.uint64(11)) / 2.0**53
    for playing in range(measure.n):
        left = int((playing + shift) * total / measure.n)
        instead = pick(desk.shares, min(left, total - 1))
        if instead != action:
            redeal(world, desk.belief, derive(key, HIDDEN, playing))
            luck = derive(key, MOVES, playing)
            difference += won(action, seat, measure, luck, desk)
            difference -= won(instead, seat, measure, luck, desk)
    return difference / measure.n if seat == 0 else -difference / measure.n


@inlined
def won(action: int, seat: int, measure: Measure, key: np.uint64, desk: Desk) -> int:
    """What seat 0 has won when the world on the desk is played on from `action`."""
    copy(desk.world, desk.trial)
    step(desk.trial, action)
    finish(desk.trial, seat, measure, key, desk)
    return int(desk.trial[WON])


@inlined
def refer(
    state: np.ndarray, actions: int, measure: Measure, desk: Desk, weights: np.ndarray
) -> int:
    """As `policies.weigh`, of the reference, whose turn it is."""
    if len(measure.habits.asked):
        notice(state, actions, measure.habits.looks, desk.room, desk.facts)
        return weigh_habits(measure.habits, actions, desk.facts, weights)
    policy = measure.policies[state[TO_MOVE]]
    return weigh(policy, state, actions, strength(policy, state, desk.room), weights)


@compiled
def finish(state: np.ndarray, seat: int, measure: Measure, key: np.uint64, desk: Desk) -> None:
    """As `playouts.playout`, with the reference in `seat`."""
    weights = desk.room.weights
    while not over(state):
        actions = legal(state)
        if state[TO_MOVE] == seat:
            total = refer(state, actions, measure, desk, weights)
            action = pick(weights, below(total, key, LONGEST * state[HAND] + state[PLY]))
        else:
            action = choose(measure.policies[1 - seat], state, actions, key, desk.room)
        step(state, action)


@inlined
def pick(weights: np.ndarray, left: int) -> int:
    """The action that a random number below the sum of `weights` stands for: as `policies.choose`
    has it, which is part of what settles matches and is left as it is."""
    action = 0
    while left >= weights[action]:
        left -= weights[action]
        action += 1
    return action


@allocating
def returns(
    settings: np.ndarray, seat: int, measure: Measure, games: int, seed: int, desk: Desk
) -> np.ndarray:
    """What the reference gets in `seat` from the deals of `seed`, in big blinds a hand: float64 of
    shape (games,)."""
    state, found = settings.copy(), np.empty(games)
    for game in range(games):
        deal(state, int(np.int64(derive(seed, DEAL, game))))
        finish(state, seat, measure, derive(seed, MOVES, game), desk)
        found[game] = figure(state, BIG_BLINDS, seat)
    return found


@allocating
def noticed(
    start: np.ndarray, actions: np.ndarray, seat: int, desk: Desk
) -> tuple[np.ndarray, np.ndarray]:
    """Where `seat` had several actions in one match: facts (n, FACTS), and what it took (n,)."""
    state, count = desk.state, 0
    facts, taken = np.empty((len(actions), FACTS)), np.empty(len(actions), np.int64)
    copy(start, state)
    for ply in range(len(actions)):
        options = legal(state)
        if state[TO_MOVE] == seat and options & (options - 1):
            notice(state, options, True, desk.room, facts[count])
            taken[count] = actions[ply]
            count += 1
        step(state, actions[ply])
    return facts[:count], taken[:count]


@allocating
def sample(
    settings: np.ndarray,
    players: np.ndarray,
    noise: int,
    measure: Measure,
    seat: int,
    games: int,
    seed: int,
    desk: Desk,
) -> np.ndarray:
    """Matches between scripted players, judged: float64 of shape (games, 2), what `seat` got in big
    blinds a hand, and its `advantage`.

    settings: a state of the game. noise: in how many of a hundred decisions `seat` takes any action
    instead. Without playouts nothing is judged.
    """
    found = np.empty((games, 2))
    start, state = settings.copy(), settings.copy()
    actions = np.empty(LONGEST * settings[HANDS], np.int64)
    for game in range(games):
        deal(start, int(np.int64(derive(seed, DEAL, game))))
        copy(start, state)
        count = record(state, players, seat, noise, derive(seed, MOVES, game), desk.room, actions)
        own = int(np.int64(derive(seed, HIDDEN, game)))
        found[game, 0] = figure(state, BIG_BLINDS, seat)
        found[game, 1] = np.nan
        if measure.n > 0:
            found[game, 1] = advantage(start, actions[:count], seat, measure, own, desk)
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
