"""A seat's posterior over the cards it cannot see: a random walk over the hidden worlds that are
consistent with its observations, in proportion to Bayes' rule.

A world assigns a card to every hidden place: in the other hands and in the pile. The engine's
actual world is a draw from the posterior given the seat's observations, since it generated them.
The walk starts there and takes Metropolis steps that swap the cards of two hidden places, so after
any number of steps its world is again such a draw. Nothing has to be redealt or weighted; too few
steps cost variance, not bias.

All orders of the pile are equally likely a priori, so a swap is accepted by the likelihood ratio of
the observations: each move of the other seats under their policies, including that nothing fitted
when one drew; a drawn card that was kept (it is neither wild nor of the colour to match); the card
turned up at the start (a wild draw four is put back, so any other card is the likelier, the fewer
of those were dealt). The engine decides which of two equal cards a seat plays: the one that arrived
first. So a swap is rejected if it would put an equal card before the one that was played. A card
that arrived in a hand before a reshuffle swaps only with others of that time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gauntlet.games.compiling import below, word
from gauntlet.games.uno.memory import (
    ACTION,
    BARRED,
    EARLY,
    EPOCH,
    SEAT,
    SHUFFLED,
    SINCE,
    TAKEN,
    TURNS,
    UPTURNABLE,
    Memory,
    chance,
)
from gauntlet.games.uno.rules import (
    ACTIONS,
    DRAW,
    HANDS,
    PILE,
    PLY_CAP,
    SEATS,
    SHUFFLES,
    STACK,
    WILD,
    WILD_DRAW_FOUR,
    allocating,
    compiled,
    copy,
    hand_of,
    inlined,
    kind_of,
    plays,
    trait_of,
)

HELD, HIDDEN, ABLE = range(3)
"""Counters of a world: hidden places in hands, all hidden places, and UPTURNABLE."""


class World(NamedTuple):
    """A possible world: a state, with the hands and chances of Memory as they are in it.

    drafts: buffer for the chances of a proposed swap. places: the hidden places, those in hands
    first. counts: as named above. weights: buffer for the weights of a policy.
    """

    state: np.ndarray
    first: np.ndarray
    second: np.ndarray
    chances: np.ndarray
    drafts: np.ndarray
    places: np.ndarray
    counts: np.ndarray
    weights: np.ndarray


@allocating
def make_world(seats: int) -> World:
    """Return buffers for one world after another."""
    return World(
        np.empty(HANDS + STACK * seats, np.int64),
        np.empty(PLY_CAP, np.int64),
        np.empty(PLY_CAP, np.int64),
        np.empty(PLY_CAP, np.float64),
        np.empty(PLY_CAP, np.float64),
        np.empty(STACK, np.int64),
        np.empty(3, np.int64),
        np.empty(ACTIONS, np.int64),
    )


@compiled
def true_world(memory: Memory, state: np.ndarray, knower: int, world: World) -> None:
    """Set `world` to the true one: `state`, in which `knower` is to move."""
    copy(state, world.state)
    for turn in range(memory.counts[TURNS]):
        world.first[turn], world.second[turn] = memory.first[turn], memory.second[turn]
        world.chances[turn] = memory.chances[turn]
    hidden = 0
    for seat in range(state[SEATS]):
        if seat != knower:
            hand = hand_of(seat)
            for place in range(hand + 1, hand + 1 + state[hand]):
                world.places[hidden] = place
                hidden += 1
    world.counts[HELD] = hidden
    for place in range(PILE + 1, PILE + 1 + state[PILE]):
        world.places[hidden] = place
        hidden += 1
    world.counts[HIDDEN] = hidden
    world.counts[ABLE] = memory.counts[UPTURNABLE]


@compiled
def walk(
    memory: Memory, world: World, policies: np.ndarray, steps: int, key: np.uint64, count: int
) -> int:
    """Take `steps` steps with the random numbers under `key` from number `count` on; return the
    next unused number. At least one card must be hidden in a hand."""
    held, hidden = world.counts[HELD], world.counts[HIDDEN]
    for _ in range(steps):
        place = world.places[below(held, key, count)]
        other = world.places[below(hidden, key, count + 1)]
        luck = float(word(key, np.uint64(count + 2)) >> np.uint64(11)) * 2.0**-53
        count += 3
        if place != other and luck < ratio(memory, world, policies, place, other):
            swap(memory, world, place, other)
    return count


@compiled
def ratio(memory: Memory, world: World, policies: np.ndarray, place: int, other: int) -> float:
    """Return the likelihood ratio of a swap of the cards at two hidden places, the first of them in
    a hand. Writes the new chances of the turns to `world.drafts`."""
    state = world.state
    mine, theirs = ticket_at(memory, place), ticket_at(memory, other)
    epoch = state[SHUFFLES] - memory.counts[SHUFFLED]
    if memory.arrivals[mine, EPOCH] != (epoch if theirs < 0 else memory.arrivals[theirs, EPOCH]):
        return 0.0
    if not admits(memory, mine, state[other]) or not admits(memory, theirs, state[place]):
        return 0.0
    able = world.counts[ABLE]
    likelier = able / (able + freed(memory, world, place, other))
    for turn in range(first_touched(memory, mine, theirs), memory.counts[TURNS]):
        seat = memory.turns[turn, SEAT]
        gains = owner(place) == seat and memory.arrivals[mine, SINCE] <= turn
        loses = theirs >= 0 and owner(other) == seat and memory.arrivals[theirs, SINCE] <= turn
        if (gains and overtakes(memory, turn, mine, state[other])) or (
            loses and overtakes(memory, turn, theirs, state[place])
        ):
            return 0.0
        world.drafts[turn] = world.chances[turn]
        if gains != loses:
            first = world.first[turn] ^ bits(state[place], state[other], 0)
            second = world.second[turn] ^ bits(state[place], state[other], 64)
            policy = policies[seat]
            drafted = chance(policy, state[SEATS], memory.turns[turn], first, second, world.weights)
            if drafted == 0.0:
                return 0.0
            world.drafts[turn] = drafted
            likelier *= drafted / world.chances[turn]
    return float(likelier)


@compiled
def swap(memory: Memory, world: World, place: int, other: int) -> None:
    """Swap the cards at two places after `ratio` was called for them."""
    state = world.state
    mine, theirs = ticket_at(memory, place), ticket_at(memory, other)
    world.counts[ABLE] += freed(memory, world, place, other)
    for turn in range(first_touched(memory, mine, theirs), memory.counts[TURNS]):
        seat = memory.turns[turn, SEAT]
        gains = owner(place) == seat and memory.arrivals[mine, SINCE] <= turn
        loses = theirs >= 0 and owner(other) == seat and memory.arrivals[theirs, SINCE] <= turn
        if gains != loses:
            world.first[turn] ^= bits(state[place], state[other], 0)
            world.second[turn] ^= bits(state[place], state[other], 64)
            world.chances[turn] = world.drafts[turn]
    state[place], state[other] = state[other], state[place]


@inlined
def ticket_at(memory: Memory, place: int) -> int:
    """Return the arrival of the card at a place, -1 in the pile."""
    return int(memory.tickets[place]) if place >= HANDS else -1


@inlined
def owner(place: int) -> int:
    return (place - HANDS) // STACK


@inlined
def admits(memory: Memory, ticket: int, card: int) -> bool:
    """Return whether an arrival can have been that of `card`."""
    if ticket < 0 or memory.arrivals[ticket, BARRED] < 0:
        return True
    wild = trait_of(card) >= WILD
    return not wild and kind_of(card) // 15 != memory.arrivals[ticket, BARRED]


@inlined
def freed(memory: Memory, world: World, place: int, other: int) -> int:
    """Return how many more cards could have been turned up at the start if two places were
    swapped."""
    mine, theirs = ticket_at(memory, place), ticket_at(memory, other)
    leaving = int(trait_of(world.state[place]) != WILD_DRAW_FOUR)
    arriving = int(trait_of(world.state[other]) != WILD_DRAW_FOUR)
    early = memory.arrivals[mine, EARLY]
    late = memory.arrivals[theirs, EARLY] if theirs >= 0 else 0
    return int((leaving - arriving) * (early - late))


@inlined
def first_touched(memory: Memory, mine: int, theirs: int) -> int:
    """Return the first turn that a swap of two arrivals can affect."""
    since = memory.arrivals[mine, SINCE]
    return int(since if theirs < 0 else min(since, memory.arrivals[theirs, SINCE]))


@inlined
def overtakes(memory: Memory, turn: int, ticket: int, card: int) -> bool:
    """Return whether `card`, had it arrived with `ticket`, would have been played instead of the
    one that was."""
    action = memory.turns[turn, ACTION]
    return action != DRAW and ticket < memory.turns[turn, TAKEN] and plays(action, card)


@inlined
def bits(place: int, other: int, copy: int) -> int:
    """Return the bits in which hands with one or the other of two cards differ, for one copy."""
    mask = 0
    if place & 64 == copy:
        mask ^= 1 << (place & 63)
    if other & 64 == copy:
        mask ^= 1 << (other & 63)
    return mask
