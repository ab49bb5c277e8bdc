"""Playing Sea Battle many times over."""

from __future__ import annotations

import numpy as np

from games.sea_battle.compiled import allocating, compiled
from games.sea_battle.players import choose
from games.sea_battle.rules import (
    NOTES,
    PLAN,
    SHIPS,
    TURN,
    UNDECIDED,
    afloat,
    deal,
    lead,
    over,
    resolve,
)
from games.uno.chance import derive

DEAL, MOVES = range(2)


@compiled
def playout(state: np.ndarray, policies: np.ndarray, key: np.uint64, notes: np.ndarray) -> int:
    """Plays `state`, in which nobody has chosen, to its end, in place, one policy a ship; by how
    many ships team 0 is ahead."""
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
    """Games that team 0 wins, that team 1 wins, and draws: int64 of shape (3,).

    settings: a state with the settings of the game. policies: one a ship.
    """
    counts = np.zeros(3, np.int64)
    state, notes = settings.copy(), np.zeros(NOTES, np.int64)
    for game in range(games):
        deal(state, derive(seed, DEAL, game))
        ahead = playout(state, policies, derive(seed, MOVES, game), notes)
        counts[2 if ahead == 0 else 0 if ahead > 0 else 1] += 1
    return counts
