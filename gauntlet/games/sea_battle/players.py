"""Sea Battle's scripted players, playouts and evaluation; compiled."""

from __future__ import annotations

import math

import numpy as np

from gauntlet.games.compiling import below, derive
from gauntlet.games.sea_battle.rules import (
    ACTIONS,
    AT,
    CANNON,
    DAMAGE,
    HEADING,
    LEFT,
    MISSED,
    NOTES,
    PLAN,
    RAM,
    RIGHT,
    ROCK,
    SHIPS,
    SIDE,
    STAY,
    STEPS,
    SUNK,
    TURN,
    UNDECIDED,
    afloat,
    allocating,
    compiled,
    deal,
    inlined,
    is_rock,
    lead,
    lies_there,
    over,
    resolve,
    target,
)

RANDOM, GREEDY = range(2)

TOLD = {
    "random": "takes any option alike",
    "greedy": "takes the option that does enemies most damage, less that to its own side, if no "
    "other ship moves; of equal ones that which ends nearest to an enemy; one time "
    "in ten any option",
}
"""What each policy does, by name; the index is its code."""

FAR = 2 * SIDE
"""Exceeds any distance."""
WHIM = 10
"""One in this many choices of a greedy ship is random: two ships that always come as near as they
can may block or circle each other forever."""
HULL, SHIP, AIM, NEARNESS = 0.35, 2.0, 0.25, 0.03
"""Weights, in log odds of a win: of a point of damage that a ship can still take; of a ship; of a
point of damage that its best option would do now; of a square nearer to an enemy. Set by hand."""


@compiled
def course(state: np.ndarray, ship: int, manoeuvre: int) -> tuple[int, int, int, int]:
    """Return where a ship ends and with which heading, if no other ship moves; the damage it takes,
    and what it does to enemies by ramming, minus that to its own side."""
    at, heading, harm, done = state[AT + ship], state[HEADING + ship], 0, 0
    if manoeuvre == STAY:
        return at, heading, harm, done
    for step in range(2):
        square = at + STEPS[heading]
        other = lies_there(state, ship, square)
        if is_rock(state, square):
            harm += ROCK
        elif other == MISSED:
            at = square
        elif step == 0:
            harm += RAM
            done += RAM if other // 3 != ship // 3 else -RAM
        if step == 0 and manoeuvre == LEFT:
            heading = (heading + 3) % 4
        elif step == 0 and manoeuvre == RIGHT:
            heading = (heading + 1) % 4
        elif step == 0:
            break
    return at, heading, harm, done


@inlined
def gain(state: np.ndarray, ship: int, action: int) -> int:
    """Return the damage that an action does to enemies, minus that to the own side, if no other
    ship moves. Sinking without hurting an enemy ranks lowest."""
    at, heading, harm, done = course(state, ship, action // 2)
    if state[DAMAGE + ship] + harm >= SUNK and done <= 0:
        return -SUNK
    hit = target(state, ship, at, heading, action % 2)
    if hit == MISSED:
        return done - harm
    return (CANNON if hit // 3 != ship // 3 else -CANNON) + done - harm


@compiled
def distance(state: np.ndarray, ship: int, square: int) -> int:
    """Return the Manhattan distance from a square to the nearest enemy of a ship."""
    nearest = FAR
    for other in range(SHIPS):
        if other // 3 != ship // 3 and afloat(state, other):
            there = state[AT + other]
            across = abs(there % SIDE - square % SIDE) + abs(there // SIDE - square // SIDE)
            nearest = min(nearest, across)
    return nearest


@compiled
def best(state: np.ndarray, ship: int, policy: int) -> int:
    """Return the actions among which a policy chooses uniformly, as a mask with bit i for
    action i."""
    if policy == RANDOM:
        return (1 << ACTIONS) - 1
    mask, record = 0, -FAR * FAR
    for action in range(ACTIONS):
        at, _, _, _ = course(state, ship, action // 2)
        good = FAR * gain(state, ship, action) - distance(state, ship, at)
        if good > record:
            mask, record = 0, good
        if good == record:
            mask |= 1 << action
    return mask


@compiled
def choose(state: np.ndarray, ship: int, policy: int, key: np.uint64, count: int) -> int:
    """Return the action that a policy takes, by the `count`-th random numbers under `key`."""
    whim = below(WHIM, key, 2 * count) == 0
    actions, number = best(state, ship, RANDOM if whim else policy), 0
    for action in range(ACTIONS):
        number += actions >> action & 1
    place = below(number, key, 2 * count + 1)
    for _ in range(place):
        actions &= actions - 1
    return first_action(actions)


@inlined
def first_action(actions: int) -> int:
    action = 0
    while not actions >> action & 1:
        action += 1
    return action


@compiled
def worth(state: np.ndarray, team: int, notes: np.ndarray) -> float:
    """Return the value of the state for a team, 0 to 1; its score once the game is over. If some
    ships have chosen for this turn, it is the value after the turn, assuming that the others are
    greedy; `state` is then changed."""
    planning = False
    for ship in range(SHIPS):
        planning |= state[PLAN + ship] != UNDECIDED
    if planning:
        for ship in range(SHIPS):
            if state[PLAN + ship] == UNDECIDED and afloat(state, ship):
                state[PLAN + ship] = first_action(best(state, ship, GREEDY))
        resolve(state, notes)
    if over(state):
        ahead = lead(state)
        score = 0.5 if ahead == 0 else 1.0 if ahead > 0 else 0.0
        return score if team == 0 else 1.0 - score
    strength = 0.0
    for ship in range(SHIPS):
        if afloat(state, ship):
            strength += ship_value(state, ship) * (1 if ship // 3 == team else -1)
    return 1.0 / (1.0 + math.exp(-strength))


@compiled
def ship_value(state: np.ndarray, ship: int) -> float:
    """Return the value of a ship that is afloat."""
    aim = 0
    for action in range(ACTIONS):
        aim = max(aim, gain(state, ship, action))
    near = distance(state, ship, state[AT + ship])
    return float(HULL * (SUNK - state[DAMAGE + ship]) + SHIP + AIM * aim - NEARNESS * near)


def room() -> np.ndarray:
    """Return scratch space for the notes of a turn."""
    return np.zeros(NOTES, np.int64)


DEAL, MOVES = range(2)


@compiled
def playout(state: np.ndarray, policies: np.ndarray, key: np.uint64, notes: np.ndarray) -> int:
    """Play `state`, in which no ship has chosen, to its end, in place, one policy per ship; return
    by how many ships team 0 is ahead."""
    while not over(state):
        for ship in range(SHIPS):
            if afloat(state, ship):
                count = SHIPS * state[TURN] + ship
                state[PLAN + ship] = UNDECIDED
                notes[ship] = choose(state, ship, policies[ship], key, count)
        for ship in range(SHIPS):
            if afloat(state, ship):
                state[PLAN + ship] = notes[ship]
        resolve(state, notes)
    return lead(state)


@allocating
def simulate(settings: np.ndarray, policies: np.ndarray, games: int, seed: int) -> np.ndarray:
    """Return the games that team 0 wins, that team 1 wins, and draws: int64 of shape (3,).

    settings: a state with the settings of the game. policies: one per ship.
    """
    counts = np.zeros(3, np.int64)
    state, notes = settings.copy(), np.zeros(NOTES, np.int64)
    for game in range(games):
        deal(state, derive(seed, DEAL, game))
        ahead = playout(state, policies, derive(seed, MOVES, game), notes)
        counts[2 if ahead == 0 else 0 if ahead > 0 else 1] += 1
    return counts
