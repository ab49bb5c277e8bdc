"""What the moves of a game reveal to a seat about the cards it cannot see, recorded as they happen.

`games.uno.posterior` turns the record into possible worlds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gauntlet.games.compiling import number_of
from gauntlet.games.uno.policies import LISTED, RANDOM, RULE, weigh_aimed
from gauntlet.games.uno.rules import (
    COLOUR,
    DIRECTION,
    DRAW,
    HANDS,
    PILE,
    PLY_CAP,
    SEATS,
    SHUFFLES,
    STACK,
    TO_MOVE,
    TOP,
    WILD,
    WILD_DRAW_FOUR,
    WILD_DRAW_FOURS,
    WILDS,
    allocating,
    compiled,
    hand_of,
    inlined,
    kind_of,
    legal_mask,
    plays,
    push,
    step,
    trait_of,
)

DEALT = 7
"""Cards dealt to each player."""

SINCE, BARRED, EPOCH, EARLY = range(4)
"""The arrival of a card in a hand: the number of turns recorded before it; the colour that the card
cannot have because it was drawn and kept, or -1; the reshuffles before it; whether it was dealt
before a card was turned up."""

SEAT, WAY, ASKED, OVER, ACTION, TAKEN = range(6)
"""A turn of a seat other than the knower: the seat, the order of play, the colour and the trait to
match, the action, and the arrival of the card that was played (-1 for a draw)."""

ARRIVALS, TURNS, SHUFFLED, UPTURNABLE = range(4)
"""Counters: arrivals, turns, the shuffles before play began, and the undealt cards that could have
been turned up."""


class Memory(NamedTuple):
    """Everything in a game that is evidence about hidden cards.

    counts: as named above. tickets: laid out like a state, with the arrivals of each hand's cards.
    arrivals, turns: rows as named above. first, second: what the seat of a turn held, bit `kind`
    set for the first and for the second copy. chances: the probability of the turn's action.
    """

    counts: np.ndarray
    tickets: np.ndarray
    arrivals: np.ndarray
    turns: np.ndarray
    first: np.ndarray
    second: np.ndarray
    chances: np.ndarray


@allocating
def make_memory(seats: int) -> Memory:
    """Return buffers for the memory of one game after another."""
    return Memory(
        np.zeros(4, np.int64),
        np.zeros(HANDS + STACK * seats, np.int64),
        np.empty((STACK + 4 * PLY_CAP, 4), np.int64),
        np.empty((PLY_CAP, 6), np.int64),
        np.empty(PLY_CAP, np.int64),
        np.empty(PLY_CAP, np.int64),
        np.empty(PLY_CAP, np.float64),
    )


@compiled
def begin(memory: Memory, state: np.ndarray) -> None:
    """Record the initial state of a game; a hand's cards past the seventh were drawn in it."""
    memory.counts[ARRIVALS] = memory.counts[TURNS] = 0
    memory.counts[SHUFFLED] = state[SHUFFLES]
    memory.counts[UPTURNABLE] = 1 + upturnable(state, PILE, 0)
    for seat in range(state[SEATS]):
        hand = hand_of(seat)
        memory.tickets[hand] = 0
        memory.counts[UPTURNABLE] += upturnable(state, hand, DEALT)
        for number in range(state[hand]):
            arrive(memory, hand, -1, 0, number < DEALT)


@inlined
def upturnable(state: np.ndarray, stack: int, after: int) -> int:
    """Return how many cards of a stack, past the first `after`, are not wild draw fours."""
    count = 0
    for place in range(stack + 1 + after, stack + 1 + state[stack]):
        count += trait_of(state[place]) != WILD_DRAW_FOUR
    return count


@inlined
def arrive(memory: Memory, hand: int, barred: int, epoch: int, early: int) -> None:
    ticket = memory.counts[ARRIVALS]
    memory.counts[ARRIVALS] += 1
    push(memory.tickets, hand, ticket)
    memory.arrivals[ticket, SINCE] = memory.counts[TURNS]
    memory.arrivals[ticket, BARRED] = barred
    memory.arrivals[ticket, EPOCH] = epoch
    memory.arrivals[ticket, EARLY] = early


@compiled
def follow(
    memory: Memory,
    state: np.ndarray,
    knower: int,
    policies: np.ndarray,
    action: int,
    weights: np.ndarray,
) -> None:
    """Make a legal action in `state` and record what it reveals to the seat `knower`.

    policies: of every seat; the knower's own does not matter. weights: buffer of length ACTIONS.
    """
    seat, colour = state[TO_MOVE], state[COLOUR]
    if seat != knower:
        remember(memory, state, policies[seat], action, weights)
    if action != DRAW:
        hand = hand_of(seat)
        for place in range(place_of(state, hand, action), hand + state[hand]):
            memory.tickets[place] = memory.tickets[place + 1]
        memory.tickets[hand] -= 1
    step(state, action)
    epoch = state[SHUFFLES] - memory.counts[SHUFFLED]
    for other in range(state[SEATS]):
        hand = hand_of(other)
        while memory.tickets[hand] < state[hand]:
            arrive(memory, hand, colour if other == seat else -1, epoch, 0)


@inlined
def place_of(state: np.ndarray, hand: int, action: int) -> int:
    place = hand + 1
    while not plays(action, state[place]):
        place += 1
    return place


@compiled
def remember(
    memory: Memory, state: np.ndarray, policy: int, action: int, weights: np.ndarray
) -> None:
    """Record the turn in which `action` is about to be made, and its probability."""
    count = memory.counts[TURNS]
    seat = state[TO_MOVE]
    hand = hand_of(seat)
    first = second = 0
    for place in range(hand + 1, hand + 1 + state[hand]):
        bit = 1 << kind_of(state[place])
        if state[place] < 64:
            first |= bit
        else:
            second |= bit
    turn = memory.turns[count]
    turn[SEAT], turn[WAY], turn[ACTION] = seat, state[DIRECTION], action
    turn[ASKED], turn[OVER] = state[COLOUR], trait_of(state[TOP])
    turn[TAKEN] = -1 if action == DRAW else memory.tickets[place_of(state, hand, action)]
    memory.first[count], memory.second[count] = first, second
    memory.chances[count] = chance(policy, state[SEATS], turn, first, second, weights)
    memory.counts[TURNS] += 1


@compiled
def chance(
    policy: int, seats: int, turn: np.ndarray, first: int, second: int, weights: np.ndarray
) -> float:
    """Return the probability that `policy`, holding these cards, takes the action of the turn.

    Reimplements the policies of `games.uno.policies` on masks instead of counts.
    """
    held, action = first | second, turn[ACTION]
    legal = legal_mask(held, turn[ASKED], turn[OVER])
    if not legal >> action & 1:
        return 0.0
    if action == DRAW:
        return 1.0
    if policy == RANDOM:
        return 1.0 / number_of(legal)
    if policy != LISTED and policy != RULE:
        total = weigh_aimed(policy, seats, turn[SEAT], turn[WAY], legal, weights)
        return float(weights[action] / total)
    plain = legal & ~(WILDS | WILD_DRAW_FOURS)
    wilds = 4 if plain != legal else 0
    if policy == RULE and plain:
        wilds = 0
    if action % 15 < WILD:
        copies = (first >> action & 1) + (second >> action & 1)
        return float(copies / (number_of(plain & first) + number_of(plain & second) + wilds))
    if policy == RULE and action % 15 == WILD_DRAW_FOUR:
        return naming(action // 15, first, second)
    if wilds == 0:
        return 0.0
    return 1.0 / (number_of(plain & first) + number_of(plain & second) + wilds)


@inlined
def naming(colour: int, first: int, second: int) -> float:
    """Return the probability that the rule player names `colour`: uniform over those that it holds
    most of."""
    own = held_in(colour, first, second)
    tied = 0
    for other in range(4):
        count = held_in(other, first, second)
        if count > own:
            return 0.0
        tied += count == own
    return 1.0 / tied


@inlined
def held_in(colour: int, first: int, second: int) -> int:
    cards = ((1 << WILD) - 1) << (15 * colour)
    return number_of(first & cards) + number_of(second & cards)
