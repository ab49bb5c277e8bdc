"""How many more chips than a reference's a seat's decisions earned, with the luck of the cards
removed: the lemma of `games.uno.luck`, applied to the chips of hands with fresh stacks.

Q(s, a) is what the seat wins in this hand if it takes action a and then plays the reference r, in
expectation over hidden cards; it does not depend on other hands. The other seat's policy is known,
so the distribution of its cards is exact by Bayes' rule over all pairs of cards; the rest of the
board is drawn from the remaining cards. Each playout draws both anew, the same for all options. So
every estimate of Q is unbiased, for any number of playouts.
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
    playout,
    redeal,
    reweigh,
    sum_up,
)
from gauntlet.games.holdem.policies import (
    FACTS,
    RANDOM,
    Players,
    Room,
    at_quantile,
    choose,
    looks,
    make_room,
    notice,
    strength,
    weigh,
    weigh_player,
)
from gauntlet.games.holdem.ranks import allocating, compiled, inlined
from gauntlet.games.holdem.rules import (
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

EXACT, UNIFORM = range(2)
"""The distribution of the other seat's cards: given its moves, or uniform as if it had made none.
The latter is biased and serves for comparison."""

WORLD, SLIP = 3, 4
"""The purpose of a random stream, besides those of `playouts`."""


class Measure(NamedTuple):
    """What decisions are judged by: the players, the reference in the judged seat; playouts per
    option; the source of worlds."""

    players: Players
    n: int
    worlds: int


class Desk(NamedTuple):
    """Buffers for judging one decision after another: of policies, of a game, of a world and of a
    playout; of the belief about the other seat's cards; of the reference's weights."""

    room: Room
    state: np.ndarray
    world: np.ndarray
    trial: np.ndarray
    belief: Belief
    shares: np.ndarray


def make_desk(settings: np.ndarray) -> Desk:
    """Return the buffers for a game with these settings, as in `Holdem.settings`."""
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
    start: np.ndarray, actions: np.ndarray, seat: int, measure: Measure, seed: int, desk: Desk
) -> float:
    """Return the sum of A over the decisions of `seat` in one match of hands with fresh stacks, in
    big blinds per hand; unbiased.

    start: its initial state. actions: those of the whole match, in order. seed: determines the
    playouts. Returns nan if an action is illegal or impossible under the other seat's policy.
    """
    state, total, hand, street = desk.state, 0.0, -1, -1
    policy, worlds = measure.players.policies[1 - seat], measure.worlds
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
    """Update the belief about the cards of the other seat, which is to move, by its action; return
    False if its policy would not have taken it with its actual cards."""
    state, actions = desk.state, legal(desk.state)
    weigh(policy, state, actions, strength(policy, state, desk.room), desk.shares)
    if desk.shares[action] == 0:
        return False
    if looks(policy) and worlds == EXACT:
        reweigh(state, policy, action, desk.room, desk.belief)
    return True


@compiled
def judge(action: int, measure: Measure, key: int, desk: Desk) -> float:
    """Return A(s, a) for `action` in the state on the desk, in chips.

    In each world it is compared with one option of the reference, stratified so that each option is
    used in proportion to its probability: playout i of n uses the option at quantile (i + u) / n, u
    uniform in [0, 1).
    """
    state, seat, options = desk.state, desk.state[TO_MOVE], legal(desk.state)
    total = weigh_player(measure.players, state, options, desk.room, desk.shares)
    if desk.shares[action] == total:
        return 0.0
    sum_up(state, desk.belief)
    difference, world = 0.0, desk.world
    copy(state, world)
    world[HANDS] = state[HAND] + 1
    shift = (word(derive(key, WORLD, 0), np.uint64(0)) >> np.uint64(11)) / 2.0**53
    for playing in range(measure.n):
        left = int((playing + shift) * total / measure.n)
        instead = at_quantile(desk.shares, min(left, total - 1))
        if instead != action:
            redeal(world, desk.belief, derive(key, HIDDEN, playing))
            luck = derive(key, MOVES, playing)
            difference += winnings(action, measure, luck, desk)
            difference -= winnings(instead, measure, luck, desk)
    return difference / measure.n if seat == 0 else -difference / measure.n


@inlined
def winnings(action: int, measure: Measure, key: np.uint64, desk: Desk) -> int:
    """Return what seat 0 has won once the world on the desk is played on from `action`."""
    copy(desk.world, desk.trial)
    step(desk.trial, action)
    playout(desk.trial, measure.players, key, desk.room)
    return int(desk.trial[WON])


@allocating
def noticed(
    start: np.ndarray, actions: np.ndarray, seat: int, desk: Desk
) -> tuple[np.ndarray, np.ndarray]:
    """Return the decisions of `seat` with several actions in one match: facts (n, FACTS), and the
    actions taken (n,)."""
    state, count = desk.state, 0
    facts, choices = np.empty((len(actions), FACTS)), np.empty(len(actions), np.int64)
    copy(start, state)
    for ply in range(len(actions)):
        options = legal(state)
        if state[TO_MOVE] == seat and options & (options - 1):
            notice(state, options, True, desk.room, facts[count])
            choices[count] = actions[ply]
            count += 1
        step(state, actions[ply])
    return facts[:count], choices[:count]


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
    """Play and judge matches between scripted players: float64 of shape (games, 2), the result of
    `seat` in big blinds per hand, and its `advantage`.

    settings: a state of the game. noise: percentage of decisions in which `seat` takes a random
    action instead. Without playouts nothing is judged.
    """
    results = np.empty((games, 2))
    start, state = settings.copy(), settings.copy()
    actions = np.empty(LONGEST * settings[HANDS], np.int64)
    for game in range(games):
        deal(start, int(np.int64(derive(seed, DEAL, game))))
        copy(start, state)
        count = record(state, players, seat, noise, derive(seed, MOVES, game), desk.room, actions)
        hidden_seed = int(np.int64(derive(seed, HIDDEN, game)))
        results[game, 0] = figure(state, BIG_BLINDS, seat)
        results[game, 1] = np.nan
        if measure.n > 0:
            results[game, 1] = advantage(start, actions[:count], seat, measure, hidden_seed, desk)
    return results


@compiled
def record(
    state: np.ndarray, players: np.ndarray, seat: int, noise: int, key: np.uint64, room: Room,
    actions: np.ndarray,
) -> int:  # fmt: skip
    """Play `state` to its end, in place, and record the actions; return their number."""
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
