"""UNO's scripted players and playouts, compiled.

RANDOM is uniform over the distinct legal actions. LISTED is uniform over RLCard's list of legal
actions, in which a card held twice is listed twice. RULE is RLCard's rule player: it draws when it
must; it plays a wild draw four whenever that is legal, naming the colour it holds most of; else it
plays one of the fitting coloured cards, each held card being equally likely, and a wild, in a
random colour, only if nothing else fits. RLCard breaks a tie for the colour by the order of the
hand; here the tied colours are equally likely, so the order of a hand does not matter.

HELPER plays for the seat before its own, as seat 2 for seat 1, and SABOTEUR against it; each added
FURTHER moves the target one seat further back. Both look one card ahead: a card is good for a seat
that gets its turn sooner, and better if another seat has to draw. They choose uniformly among the
best cards, ignoring their own chances. They are yardsticks: a measurement must be able to detect
the effect of such a simple helper. FIRST takes the legal action with the lowest number: a habit
without an aim.
"""

from __future__ import annotations

import numpy as np

from gauntlet.games.compiling import below, derive, lowest, nth_of, number_of
from gauntlet.games.uno.rules import (
    ACTIONS,
    DIRECTION,
    DRAW,
    DRAW_TWO,
    HANDS,
    PILE,
    PLY,
    REVERSE,
    SEATS,
    SEED,
    SKIP,
    STACK,
    TO_MOVE,
    WILD,
    WILD_DRAW_FOUR,
    WILD_DRAW_FOURS,
    WILDS,
    WINNER,
    allocating,
    blank,
    compiled,
    copy,
    deal_lazily,
    hand_of,
    inlined,
    kind_of,
    legal,
    loosen,
    mover,
    next_card,
    over,
    push,
    settle,
    step,
    trait_of,
)

RANDOM, LISTED, RULE, HELPER, SABOTEUR, FIRST = range(6)
FURTHER = 8
KINDS = 60

Room = tuple[np.ndarray, np.ndarray]


@inlined
def count_cards(state: np.ndarray, stack: int, counts: np.ndarray) -> None:
    """Fill `counts` (KINDS) with the number of cards of each kind in a stack; all wilds count as
    kind 13 and all wild draw fours as kind 14."""
    counts[:] = 0
    for place in range(stack + 1, stack + 1 + state[stack]):
        trait = trait_of(state[place])
        counts[trait if trait >= WILD else kind_of(state[place])] += 1


@inlined
def weigh(
    policy: int,
    seats: int,
    seat: int,
    direction: int,
    counts: np.ndarray,
    legal: int,
    weights: np.ndarray,
) -> int:
    """Fill `weights` (ACTIONS) with integers proportional to `policy`'s probability of each legal
    action, 0 elsewhere; return their sum.

    seats, seat, direction: how many play, who is to move, and the order of play, 1 or -1.
    counts: the hand, as from `count_cards`.
    """
    if policy > RULE:
        return weigh_aimed(policy, seats, seat, direction, legal, weights)
    return weigh_held(policy, counts, legal, weights)


@inlined
def weigh_held(policy: int, counts: np.ndarray, legal: int, weights: np.ndarray) -> int:
    """As `weigh`, for the policies that look only at the hand."""
    plain = legal & ~(WILDS | WILD_DRAW_FOURS)
    if policy == RULE and plain:
        legal = plain
    total = 0
    for action in range(ACTIONS):
        weight = legal >> action & 1
        if weight and policy != RANDOM and plain >> action & 1 and action < KINDS:
            weight = counts[action]
        weights[action] = weight
        total += weight
    if policy == RULE and legal & WILD_DRAW_FOURS:
        total = name_most_held(counts, weights)
    return total


@inlined
def name_most_held(counts: np.ndarray, weights: np.ndarray) -> int:
    """Set weights only for the wild draw fours that name a most-held colour; return their
    number."""
    most = total = 0
    for colour in range(4):
        count = held_of(colour, counts)
        if count > most:
            most, total = count, 0
        total += count == most
    for colour in range(4):
        weights[15 * colour + WILD_DRAW_FOUR] = held_of(colour, counts) == most
    return total


@inlined
def held_of(colour: int, counts: np.ndarray) -> int:
    """Return how many cards of a colour a hand holds, not counting wilds."""
    count = 0
    for trait in range(WILD):
        count += counts[15 * colour + trait]
    return count


@inlined
def weigh_aimed(
    policy: int, seats: int, seat: int, direction: int, legal: int, weights: np.ndarray
) -> int:
    """As `weigh`, for the policies that do not look at the hand."""
    best = total = 0
    for action in range(ACTIONS):
        weights[action] = 0
        if not legal >> action & 1:
            continue
        worth = -action
        if policy != FIRST:
            worth = help_of(action % 15, seats, seat, direction, policy // FURTHER + 1)
            worth = worth if policy % FURTHER == HELPER else -worth
        if total == 0 or worth > best:
            weights[:action] = 0
            best, total = worth, 0
        if worth == best:
            weights[action] = 1
            total += 1
    return total


@inlined
def help_of(trait: int, seats: int, seat: int, direction: int, back: int) -> int:
    """Return how well a card serves the seat that lies `back` before `seat`: minus one for each
    turn that others have before its next one; plus `seats` for each card that another has to draw,
    minus `seats` for each that it has to draw itself. The range is -5 x seats to 4 x seats."""
    helped = (seat - back) % seats
    if trait == REVERSE:
        direction = -direction
    next_seat = (seat + direction) % seats
    penalty = 0
    if trait in (DRAW_TWO, WILD_DRAW_FOUR):
        penalty = 2 if trait == DRAW_TWO else 4
        if next_seat == helped:
            penalty = -penalty
    if trait == SKIP or penalty != 0:
        next_seat = (next_seat + direction) % seats
    return penalty * seats - (helped - next_seat) * direction % seats


@allocating
def make_room() -> Room:
    """Return buffers for the counts and the weights of one decision after another."""
    return np.empty(KINDS, np.int64), np.empty(ACTIONS, np.int64)


@inlined
def choose(
    policy: int,
    state: np.ndarray,
    legal: int,
    key: np.uint64,
    count: int,
    room: Room,
) -> int:
    """Return the action that `policy` takes by the `count`-th random number under `key`.

    room: as from `make_room`.
    """
    if legal == 1 << DRAW:
        return DRAW
    if policy == RANDOM:
        return nth_of(legal, below(number_of(legal), key, count))
    if legal & (legal - 1) == 0:
        return lowest(legal)
    counts, weights = room
    seat = state[TO_MOVE]
    count_cards(state, hand_of(seat), counts)
    total = weigh(policy, state[SEATS], seat, state[DIRECTION], counts, legal, weights)
    remaining = below(total, key, count)
    action = 0
    while remaining >= weights[action]:
        remaining -= weights[action]
        action += 1
    return action


DEAL, MOVES, HIDDEN = range(3)
NO_ACTION = -1


@compiled
def playout(state: np.ndarray, policies: np.ndarray, key: np.uint64, room: Room) -> int:
    """Play `state` to its end, in place, one policy per seat; return the winner, or -1 for none."""
    while not over(state):
        policy = policies[mover(state)]
        step(state, choose(policy, state, legal(state), key, state[PLY], room))
    return int(state[WINNER])


@allocating
def rollouts(
    state: np.ndarray, fresh: bool, action: int, policies: np.ndarray, count: int, seed: int
) -> np.ndarray:
    """Return the winner, or -1 for none, of `count` games from `state`, each with a fresh pile,
    after `action` unless it is NO_ACTION. fresh: True deals anew instead."""
    found, trial, room = np.empty(count, np.int64), state.copy(), make_room()
    for playing in range(count):
        copy(state, trial)
        if fresh:
            deal_lazily(trial, len(policies), int(np.int64(derive(seed, DEAL, playing))))
        else:
            loosen(trial, derive(seed, HIDDEN, playing))
            trial[SEED] = np.int64(derive(seed, DEAL, playing))
        if action != NO_ACTION:
            step(trial, action)
        found[playing] = playout(trial, policies, derive(seed, MOVES, playing), room)
    return found


def with_fresh_pile(state: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a copy with the pile and all later shuffles drawn anew, whatever their order was."""
    fresh = state.copy()
    fresh[PILE + 1 : PILE + 1 + fresh[PILE]].sort()
    loosen(fresh, np.uint64(rng.integers(2**63)))
    settle(fresh)
    fresh[SEED] = rng.integers(2**63)
    return fresh


@allocating
def simulate(policies: np.ndarray, games: int, seed: int) -> np.ndarray:
    """Return wins by seat, then games without a winner, of `games` deals; one policy per seat."""
    wins = np.zeros(len(policies) + 1, np.int64)
    state, room = blank(len(policies)), make_room()
    for game in range(games):
        deal_lazily(state, len(policies), int(np.int64(derive(seed, DEAL, game))))
        wins[playout(state, policies, derive(seed, MOVES, game), room)] += 1
    return wins


@compiled
def redeal(state: np.ndarray, seat: int, key: np.uint64) -> None:
    """Redeal uniformly everything that `seat` cannot see: the pile and the other hands."""
    redeal_lazily(state, seat, key)
    settle(state)


@inlined
def redeal_lazily(state: np.ndarray, seat: int, key: np.uint64) -> None:
    """As `redeal`, with a pile as in `games.uno.rules.deal_lazily`."""
    own_hand = hand_of(seat)
    for hand in range(HANDS, len(state), STACK):
        if hand != own_hand:
            for place in range(hand + 1, hand + 1 + state[hand]):
                push(state, PILE, state[place])
    loosen(state, key)
    for hand in range(HANDS, len(state), STACK):
        if hand != own_hand:
            for place in range(hand + 1, hand + 1 + state[hand]):
                state[place] = next_card(state)


def values(
    state: np.ndarray, measured: int, policies: np.ndarray, n: int, seed: int, hidden: bool = True
) -> np.ndarray:
    """Return the probability that seat `measured` wins after each legal action: float64 of shape
    (actions,), from the playouts of `winners`."""
    found = winners(state, policies, n, seed, hidden)
    return np.asarray((found >> measured & 1).mean(axis=1))


@allocating
def winners(state: np.ndarray, policies: np.ndarray, n: int, seed: int, hidden: bool) -> np.ndarray:
    """Return the winners after each legal action of the seat to move, per playout.

    state: the array of a game that is not over; left unchanged.
    policies: what every seat plays afterwards, int64 of shape (seats,), from `policies`.
    n: playouts per action. The standard error of a share is at most 0.5 / sqrt(n); that of the
        difference of two is smaller than for independent samples, as all actions share the same
        hidden cards and randomness in each playout.
    hidden: True redeals what the seat to move cannot see in each playout, which values the actions
        given that seat's knowledge; False uses the true cards.

    Returns uint16 of shape (actions, n), actions in numerical order: bit s is set if seat s wins; 0
    if nobody does.
    """
    actions = legal(state)
    masks = np.zeros((number_of(actions), n), np.uint16)
    start, trial = state.copy(), state.copy()
    room = make_room()
    for playing in range(n):
        if hidden:
            redeal_lazily(start, state[TO_MOVE], derive(seed, HIDDEN, playing))
        start[SEED] = np.int64(derive(seed, DEAL, playing))
        key = derive(seed, MOVES, playing)
        for option in range(len(masks)):
            copy(start, trial)
            step(trial, nth_of(actions, option))
            winner = playout(trial, policies, key, room)
            if winner >= 0:
                masks[option, playing] = 1 << winner
    return masks
