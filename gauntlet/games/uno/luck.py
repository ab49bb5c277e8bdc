"""How much better than a reference a seat decided, with the luck of the cards removed.

The performance-difference lemma (S. Kakade and J. Langford, 2002, Approximately optimal approximate
reinforcement learning, lemma 6.1): let one seat follow any policy p that sees only what the seat
may see, let all others play known policies, and let r be a reference for the seat. With Q(s, a) the
probability that the measured seat wins if the seat takes action a and then plays r, and A(s, a) =
Q(s, a) - sum over b of r(b|s) Q(s, b),

    win rate with p  =  win rate with r  +  mean over games of the sum of A over p's decisions.

Q is estimated by playouts from worlds of `games.uno.posterior`. Each world is a draw from the
posterior, so the estimate is unbiased for any number of worlds and steps. In each world two options
are played out with the same randomness: the one taken, and one of the others, which alternate in
r's proportions from a random start. With c the probability that r takes another option, A(s, a) is
c times the mean difference between the two, so two playouts per world suffice, however many options
there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gauntlet.games.compiling import below, derive
from gauntlet.games.uno.memory import Memory, begin, follow, make_memory
from gauntlet.games.uno.policies import (
    DEAL,
    HIDDEN,
    MOVES,
    Room,
    choose,
    count_cards,
    make_room,
    playout,
    redeal_lazily,
    weigh,
)
from gauntlet.games.uno.posterior import World, make_world, true_world, walk
from gauntlet.games.uno.rules import (
    ACTIONS,
    DIRECTION,
    PLY_CAP,
    SEATS,
    SEED,
    TO_MOVE,
    WINNER,
    allocating,
    blank,
    compiled,
    copy,
    deal,
    hand_of,
    inlined,
    legal,
    loosen,
    over,
    step,
)

WALK, UNIFORM = range(2)
"""The source of worlds: the posterior, or a uniform redeal that ignores all observations. The
latter is biased and serves for comparison."""

WORLD, OTHER = 3, 4
"""The purpose of further random streams of a decision, besides those of `playouts`."""

SETTLING = 24
STEPS = 6
"""Steps of the walk before the first world and before each further one."""


class Measure(NamedTuple):
    """What decisions are judged by: whose wins count, the policy of every other seat and the
    reference for the judged one, worlds per decision, and the source of worlds."""

    measured: int
    policies: np.ndarray
    n: int
    worlds: int


class Desk(NamedTuple):
    """Buffers for judging one decision after another: the memory of the game, a world, counts and
    weights, the game's state, a playout's, the reference's weights."""

    memory: Memory
    world: World
    room: Room
    state: np.ndarray
    trial: np.ndarray
    shares: np.ndarray


@allocating
def make_desk(seats: int) -> Desk:
    return Desk(
        make_memory(seats),
        make_world(seats),
        make_room(),
        blank(seats),
        blank(seats),
        np.empty(ACTIONS, np.int64),
    )


@allocating
def advantage(
    start: np.ndarray,
    actions: np.ndarray,
    seat: int,
    measured: int,
    policies: np.ndarray,
    n: int,
    seed: int,
    worlds: int = WALK,
) -> float:
    """Return the sum of A over the decisions of `seat` in one game; unbiased, about -1 to 1.

    start: the initial state, as from `deal`. actions: those of the whole game, in order. measured:
    the seat whose wins count. policies: of every other seat, and the reference for `seat`. n:
    worlds per decision. seed: determines the playouts.
    Returns nan if an action is illegal.
    """
    measure = Measure(measured, policies, n, worlds)
    return replay(start, actions, seat, measure, seed, make_desk(len(policies)))


@allocating
def sample(
    players: np.ndarray,
    reference: int,
    seat: int,
    measured: int,
    games: int,
    n: int,
    seed: int,
    worlds: int = WALK,
) -> np.ndarray:
    """Play and judge games between scripted players: float64 of shape (games, 2), whether
    `measured` won, and the advantage of `seat` over the policy `reference`, as from `advantage`."""
    desk = make_desk(len(players))
    policies = players.copy()
    policies[seat] = reference
    measure = Measure(measured, policies, n, worlds)
    start, state = blank(len(players)), blank(len(players))
    actions = np.empty(PLY_CAP, np.int64)
    pairs = np.empty((games, 2), np.float64)
    for game in range(games):
        deal(start, len(players), int(np.int64(derive(seed, DEAL, game))))
        state[:] = start
        plies = record(state, players, derive(seed, MOVES, game), desk.room, actions)
        own = int(np.int64(derive(seed, HIDDEN, game)))
        pairs[game, 0] = state[WINNER] == measured
        pairs[game, 1] = replay(start, actions[:plies], seat, measure, own, desk)
    return pairs


@compiled
def record(
    state: np.ndarray, players: np.ndarray, key: np.uint64, room: Room, actions: np.ndarray
) -> int:
    """Play `state` to its end, in place, and record the actions; return their number."""
    plies = 0
    while not over(state):
        actions[plies] = choose(players[state[TO_MOVE]], state, legal(state), key, plies, room)
        step(state, actions[plies])
        plies += 1
    return plies


@compiled
def replay(
    start: np.ndarray, actions: np.ndarray, seat: int, measure: Measure, seed: int, desk: Desk
) -> float:
    """As `advantage`, with given buffers."""
    state = desk.state
    copy(start, state)
    begin(desk.memory, state)
    total = 0.0
    for ply in range(len(actions)):
        if over(state) or not legal(state) >> actions[ply] & 1:
            return np.nan
        if state[TO_MOVE] == seat:
            key = int(np.int64(derive(seed, WORLD, ply)))
            total += judge(actions[ply], measure, key, desk)
        follow(desk.memory, state, seat, measure.policies, actions[ply], desk.world.weights)
    return total


@compiled
def judge(action: int, measure: Measure, key: int, desk: Desk) -> float:
    """Return A(s, a) for `action` in the state on the desk, from `measure.n` worlds."""
    state, memory, world, policies = desk.state, desk.memory, desk.world, measure.policies
    seat, options = state[TO_MOVE], legal(state)
    counts, _ = desk.room
    count_cards(state, hand_of(seat), counts)
    total = weigh(
        policies[seat], state[SEATS], seat, state[DIRECTION], counts, options, desk.shares
    )
    if desk.shares[action] == total:
        return 0.0
    true_world(memory, state, seat, world)
    luck = derive(key, WORLD, 0)
    drawn = walk(memory, world, policies, SETTLING, luck, 0) if measure.worlds == WALK else 0
    other_shares = total - desk.shares[action]
    turn = below(other_shares, derive(key, OTHER, 0), 0)
    sum_of_differences = 0
    for playing in range(measure.n):
        if measure.worlds == WALK:
            drawn = walk(memory, world, policies, STEPS, luck, drawn)
            loosen(world.state, derive(key, HIDDEN, playing))
        else:
            redeal_lazily(world.state, seat, derive(key, HIDDEN, playing))
        world.state[SEED] = np.int64(derive(key, DEAL, playing))
        moves = derive(key, MOVES, playing)
        other = other_option(desk.shares, action, (turn + playing) % other_shares)
        for option in (action, other):
            copy(world.state, desk.trial)
            step(desk.trial, option)
            if playout(desk.trial, policies, moves, desk.room) == measure.measured:
                sum_of_differences += 1 if option == action else -1
    return float(sum_of_differences * other_shares / (measure.n * total))


@inlined
def other_option(shares: np.ndarray, chosen: int, turn: int) -> int:
    """Return the other option for this turn: each but the one taken has as many turns as its
    share."""
    option = -1
    while turn >= 0:
        option += 1
        turn -= 0 if option == chosen else shares[option]
    return option
