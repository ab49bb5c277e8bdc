"""What a seat may believe of small decks, by Bayes' rule, card by card.

Small decks of 12 cards: three in each of two hands, one turned up, five in the pile. Every order
of the hidden cards is played through the game itself, which says whether seat 1 would have seen
the same, and asked how likely seat 0's moves were. That is the posterior without any of the
walk's own reasoning.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from gauntlet.games.uno import State, Uno, rules
from gauntlet.games.uno.state import hand

KNOWER = 1
HAND, PILE = 3, 5

Belief = dict[tuple[int, ...], float]
"""The chance of each hand that seat 0 may hold now, as sorted kinds."""


def small_game(cards: list[int]) -> State:
    """Three cards to each seat, one turned up, the rest in the pile, the next card last."""
    array = rules.blank(2)
    array[rules.SEATS], array[rules.DIRECTION] = 2, 1
    array[rules.WINNER] = array[rules.TOP_BY] = -1
    for seat in (0, 1):
        for card in cards[HAND * seat : HAND * (seat + 1)]:
            rules.push(array, rules.hand_of(seat), card)
    for card in cards[2 * HAND + 1 :]:
        rules.push(array, rules.PILE, card)
    top = cards[2 * HAND]
    rules.lay(array, top, rules.trait_of(top), (top & 63) // 15, -1)
    return State(array)


def played(start: State, actions: list[int]) -> State:
    for action in actions:
        start = Uno().play(start, (action,))
    return start


@lru_cache
def history(seed: int, policy: str) -> tuple[State, tuple[int, ...]]:
    """A small game up to a turn of seat 1: its first state and its actions. Seat 0 has moved at
    least once and holds two cards or more; at most two cards were drawn, for odd seeds at least
    one."""
    rng, game = np.random.default_rng(seed), Uno()
    while True:
        start = state = small_game(small_deck(rng))
        actions: list[int] = []
        while game.to_move(state) and state.array[rules.PILE] >= PILE - 2:
            (seat,) = game.to_move(state)
            enough = len(actions) >= 2 and state.array[rules.PILE] <= PILE - seed % 2
            if seat == KNOWER and enough and len(hand(state.array, 0)) >= 2:
                return start, tuple(actions)
            options = game.legal(state, seat)
            chances = game.probabilities(policy, game.observe(state, seat))
            action = int(rng.choice(options, p=chances if seat != KNOWER else None))
            state = game.play(state, (action,))
            actions.append(action)


def small_deck(rng: np.random.Generator) -> list[int]:
    """12 cards of two colours, a coloured one turned up: two pairs of equal cards, a wild and
    all wild draw fours."""
    plain = rng.choice([*range(1, 12), *range(16, 27)], 5, replace=False).tolist()
    equal = [card + 64 for card in plain[:2]]
    cards = rng.permutation([*plain[1:], *equal, 13, 14, 29, 44, 59]).tolist()
    return [*cards[: 2 * HAND], plain[0], *cards[2 * HAND :]]


def worlds(start: State, draws: int) -> Iterator[State]:
    """Every first state that seat 1 cannot tell from `start` as far as the cards dealt and the
    first `draws` cards of the pile go."""
    array = start.array
    own, other = rules.hand_of(KNOWER), rules.hand_of(0)
    hidden = array[other + 1 : other + 1 + HAND].tolist()
    hidden += array[rules.PILE + 1 : rules.PILE + 1 + PILE].tolist()
    known = [*array[own + 1 : own + 1 + HAND].tolist(), int(array[rules.TOP])]
    for cards in itertools.permutations(hidden, HAND + draws):
        rest = [card for card in hidden if card not in cards]
        yield small_game([*cards[:HAND], *known, *rest, *cards[HAND:][::-1]])


def likelihood(start: State, actions: tuple[int, ...], policy: str, events: list[object]) -> float:
    """How likely seat 1 is to see what it saw, if the cards lie as in `start`."""
    game, state = Uno(), start
    pile = [*start.array[rules.PILE + 1 : rules.PILE + 1 + PILE].tolist(), start.array[rules.TOP]]
    chance = 1.0 / sum((card & 63) % 15 != 14 for card in pile)
    for ply, action in enumerate(actions):
        (seat,) = game.to_move(state)
        if action not in game.legal(state, seat):
            return 0.0
        if seat != KNOWER:
            observation = game.observe(state, seat)
            options = game.legal(state, seat)
            chance *= game.probabilities(policy, observation)[options.index(action)]
        state = game.play(state, (action,))
        if chance == 0.0 or look(state) != events[ply]:
            return 0.0
    return chance


def look(state: State) -> object:
    """What seat 1 knows of a state: what happened, its own cards, how many the other holds."""
    other = len(hand(state.array, 0))
    return state.history, tuple(hand(state.array, KNOWER)), other, state.array[rules.TO_MOVE]


Weighted = list[tuple[State, float]]


@lru_cache
def exact(seed: int, policy: str) -> tuple[Weighted, Belief]:
    """The worlds that fit what seat 1 saw with their chances; what follows for seat 0's hand."""
    start, actions = history(seed, policy)
    seen = [look(played(start, list(actions[: ply + 1]))) for ply in range(len(actions))]
    drawn = PILE - int(played(start, list(actions)).array[rules.PILE])
    fitting = [
        (world, chance)
        for world in worlds(start, drawn)
        if (chance := likelihood(world, actions, policy, seen)) > 0
    ]
    total = sum(chance for _, chance in fitting)
    belief: Belief = Counter()
    for world, chance in fitting:
        belief[holding(played(world, list(actions)).array)] += chance / total
    return [(world, chance / total) for world, chance in fitting], belief


def holding(array: np.ndarray) -> tuple[int, ...]:
    return tuple(sorted(hand(array, 0)))
