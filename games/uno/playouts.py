"""Playing UNO many times over: simulated games, and what each option of a decision is worth."""

from __future__ import annotations

import numpy as np

from games.uno.bits import nth_of, number_of
from games.uno.chance import derive
from games.uno.compiled import allocating, compiled, inlined
from games.uno.policies import Room, choose, make_room
from games.uno.rules import (
    HANDS,
    PILE,
    PLY,
    SEED,
    STACK,
    TO_MOVE,
    WINNER,
    blank,
    copy,
    deal_lazily,
    hand_of,
    legal,
    loosen,
    mover,
    next_card,
    over,
    push,
    settle,
    step,
)

DEAL, MOVES, HIDDEN = range(3)


@compiled
def playout(state: np.ndarray, policies: np.ndarray, key: np.uint64, room: Room) -> int:
    """Plays `state` to its end, in place, one policy a seat; the winner, or -1 for none."""
    while not over(state):
        policy = policies[mover(state)]
        step(state, choose(policy, state, legal(state), key, state[PLY], room))
    return int(state[WINNER])


@allocating
def simulate(policies: np.ndarray, games: int, seed: int) -> np.ndarray:
    """Wins by seat, then games without a winner, of `games` deals; one policy a seat."""
    wins = np.zeros(len(policies) + 1, np.int64)
    state, room = blank(len(policies)), make_room()
    for game in range(games):
        deal_lazily(state, len(policies), int(np.int64(derive(seed, DEAL, game))))
        wins[playout(state, policies, derive(seed, MOVES, game), room)] += 1
    return wins


@compiled
def redeal(state: np.ndarray, seat: int, key: np.uint64) -> None:
    """Deals afresh, uniformly, all that `seat` cannot see: the pile and the other hands."""
    redeal_lazily(state, seat, key)
    settle(state)


@inlined
def redeal_lazily(state: np.ndarray, seat: int, key: np.uint64) -> None:
    """As `redeal`, with a pile as in `games.uno.rules.deal_lazily`."""
    own = hand_of(seat)
    for hand in range(HANDS, len(state), STACK):
        if hand != own:
            for place in range(hand + 1, hand + 1 + state[hand]):
                push(state, PILE, state[place])
    loosen(state, key)
    for hand in range(HANDS, len(state), STACK):
        if hand != own:
            for place in range(hand + 1, hand + 1 + state[hand]):
                state[place] = next_card(state)


def values(
    state: np.ndarray, measured: int, policies: np.ndarray, n: int, seed: int, hidden: bool = True
) -> np.ndarray:
    """The chance that seat `measured` wins after each legal action: float64 of shape (actions,),
    from the playouts of `winners`."""
    found = winners(state, policies, n, seed, hidden)
    return np.asarray((found >> measured & 1).mean(axis=1))


@allocating
def winners(state: np.ndarray, policies: np.ndarray, n: int, seed: int, hidden: bool) -> np.ndarray:
    """Who wins after each legal action of the seat to move, playout by playout.

    state: the array of a game that is not over; it is left as it was.
    policies: what every seat plays afterwards, int64 of shape (seats,), from `policies`.
    n: playouts an action. The standard error of a share is at most 0.5 / sqrt(n); that of the
        difference of two is smaller than independence would give, as all actions meet the same
        hidden cards and the same chance in each playout.
    hidden: whether each playout deals afresh what the seat to move cannot see, which values the
        actions for that seat's knowledge; False plays on from the true cards.

    Returns uint16 of shape (actions, n), actions in order of number: bit s is set where seat s
    wins; 0 where nobody does.
    """
    actions = legal(state)
    found = np.zeros((number_of(actions), n), np.uint16)
    start, trial = state.copy(), state.copy()
    room = make_room()
    for playing in range(n):
        if hidden:
            redeal_lazily(start, state[TO_MOVE], derive(seed, HIDDEN, playing))
        start[SEED] = np.int64(derive(seed, DEAL, playing))
        key = derive(seed, MOVES, playing)
        for option in range(len(found)):
            copy(start, trial)
            step(trial, nth_of(actions, option))
            winner = playout(trial, policies, key, room)
            if winner >= 0:
                found[option, playing] = 1 << winner
    return found
