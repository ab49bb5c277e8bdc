"""A seat's memory of a game and beliefs about hidden cards, against Bayes' rule, card by card.

Small decks of 12 cards: three in each of two hands, one turned up, five in the pile. Every order of
the hidden cards is played through the game itself, which shows whether seat 1 would have observed
the same, and the likelihood of seat 0's moves is computed. That is the posterior, independent of
the walk's reasoning.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

import numpy as np
import pytest

from gauntlet.games.uno import State, Uno, memory, policies, posterior, rules
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
    """Yield every first state that seat 1 cannot distinguish from `start` by the cards dealt and
    the first `draws` cards of the pile."""
    array = start.array
    own, other = rules.hand_of(KNOWER), rules.hand_of(0)
    hidden = array[other + 1 : other + 1 + HAND].tolist()
    hidden += array[rules.PILE + 1 : rules.PILE + 1 + PILE].tolist()
    known = [*array[own + 1 : own + 1 + HAND].tolist(), int(array[rules.TOP])]
    for cards in itertools.permutations(hidden, HAND + draws):
        rest = [card for card in hidden if card not in cards]
        yield small_game([*cards[:HAND], *known, *rest, *cards[HAND:][::-1]])


def likelihood(start: State, actions: tuple[int, ...], policy: str, events: list[object]) -> float:
    """Return the likelihood of seat 1's observations, if the cards lie as in `start`."""
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
    """Seat 1's knowledge of a state: past events, its own cards, the other's number of cards."""
    other = len(hand(state.array, 0))
    return state.history, tuple(hand(state.array, KNOWER)), other, state.array[rules.TO_MOVE]


Weighted = list[tuple[State, float]]


@lru_cache
def exact(seed: int, policy: str) -> tuple[Weighted, Belief]:
    """Return the worlds consistent with seat 1's observations and their probabilities; and the
    resulting distribution of seat 0's hand."""
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


Forget = Callable[[memory.Memory], None]


def nothing(notes: memory.Memory) -> None:
    pass


def the_card_turned_up(notes: memory.Memory) -> None:
    notes.arrivals[:, memory.EARLY] = 0


def that_drawn_cards_were_kept(notes: memory.Memory) -> None:
    notes.arrivals[:, memory.BARRED] = -1


def what_the_other_did(notes: memory.Memory) -> None:
    notes.counts[memory.TURNS] = 0


def which_was_played(notes: memory.Memory) -> None:
    notes.turns[:, memory.TAKEN] = -1


FORGETTING = (the_card_turned_up, that_drawn_cards_were_kept, what_the_other_did, which_was_played)


def remembered(
    start: State, actions: tuple[int, ...], policy: str, forget: Forget = nothing
) -> tuple[memory.Memory, posterior.World]:
    notes, world = memory.make_memory(2), posterior.make_world(2)
    array = start.array.copy()
    memory.begin(notes, array)
    for action in actions:
        memory.follow(notes, array, KNOWER, Uno().codes((policy, policy)), action, world.weights)
    forget(notes)
    posterior.true_world(notes, array, KNOWER, world)
    return notes, world


def walked(seed: int, policy: str, forget: Forget = nothing) -> Belief:
    """Seat 1's belief about seat 0's hand when every world of the posterior walks a while."""
    _, actions = history(seed, policy)
    fitting, _ = exact(seed, policy)
    codes = Uno().codes((policy, policy))
    rounds = 20_000 // len(fitting)
    belief: Belief = Counter()
    for number, (start, chance) in enumerate(fitting):
        notes, world = remembered(start, actions, policy, forget)
        drawn = 0
        for _ in range(rounds):
            drawn = posterior.walk(notes, world, codes, 15, np.uint64(number), drawn)
            belief[holding(world.state)] += chance / rounds
    return belief


def distance(a: Belief, b: Belief) -> float:
    """Total variation."""
    return sum(abs(a.get(key, 0) - b.get(key, 0)) for key in a.keys() | b.keys()) / 2


CLOSE = 0.025
"""A sample of 20,000 steps is nearer to the truth than this."""

SMALL_GAMES = [(0, "random"), (12, "random"), (3, "rule"), (6, "rule"), (8, "helper")]
"""Games that leave 7 to 21 hands possible."""


@pytest.mark.parametrize(("seed", "policy"), SMALL_GAMES)
def test_a_walk_from_the_posterior_stays_in_it(seed: int, policy: str) -> None:
    _, belief = exact(seed, policy)
    assert len(belief) >= 7
    assert distance(walked(seed, policy), belief) < CLOSE


@pytest.mark.parametrize(("seed", "policy"), [(2, "random"), (3, "rule"), (12, "helper")])
def test_a_walk_from_the_true_world_goes_everywhere(seed: int, policy: str) -> None:
    """Where seat 0 did not play one of two equal cards, which would settle when it came."""
    start, actions = history(seed, policy)
    notes, world = remembered(start, actions, policy)
    codes = Uno().codes((policy, policy))
    found: Belief = Counter()
    drawn = 0
    for _ in range(20_000):
        drawn = posterior.walk(notes, world, codes, 10, np.uint64(9), drawn)
        found[holding(world.state)] += 1 / 20_000
    assert distance(found, exact(seed, policy)[1]) < CLOSE


@pytest.mark.parametrize("forget", FORGETTING)
def test_a_walk_that_forgets_something_leaves_the_posterior(forget: Forget) -> None:
    furthest = max(
        distance(walked(seed, policy, forget), exact(seed, policy)[1])
        for seed, policy in SMALL_GAMES
    )
    assert furthest > 2 * CLOSE


@pytest.mark.parametrize("seats", [2, 3])
def test_a_walk_swaps_hidden_cards_only(seats: int) -> None:
    """In the middle of long games, reshuffles included: all 108 cards stay, what the seat sees
    stays, and a world's chances are those of its hands."""
    game, rng, knower = Uno(seats), np.random.default_rng(3), seats - 1
    codes = game.codes(("random",) * seats)
    for _ in range(6):
        array = game.deal(rng).array
        notes, world = memory.make_memory(seats), posterior.make_world(seats)
        memory.begin(notes, array)
        while not rules.over(array):
            if array[rules.TO_MOVE] == knower:
                posterior.true_world(notes, array, knower, world)
                posterior.walk(notes, world, codes, 200, np.uint64(array[rules.PLY]), 0)
                check_world(notes, array, world, knower)
            action = int(
                rng.choice(np.flatnonzero([rules.legal(array) >> a & 1 for a in range(61)]))
            )
            memory.follow(notes, array, knower, codes, action, world.weights)


def check_world(
    notes: memory.Memory, array: np.ndarray, world: posterior.World, knower: int
) -> None:
    there, changed = world.state, array != world.state
    hidden = np.zeros(len(array), bool)
    hidden[world.places[: world.counts[posterior.HIDDEN]]] = True
    assert not (changed & ~hidden).any()
    assert sorted(there[hidden]) == sorted(array[hidden])
    assert not hidden[rules.hand_of(knower) : rules.hand_of(knower) + rules.STACK].any()
    for turn in range(notes.counts[memory.TURNS]):
        cards = (world.first[turn], world.second[turn])
        row = notes.turns[turn]
        seats = int(array[rules.SEATS])
        fresh = memory.chance(policies.RANDOM, seats, row, *cards, world.weights)
        assert world.chances[turn] == pytest.approx(fresh)
        assert fresh > 0


TABLES = [
    ("random", "random"),
    ("rule", "rule"),
    ("rule", "random", "rule"),
    ("saboteur", "helper", "random", "first"),
]


@pytest.mark.parametrize("paper_bugs", [False, True])
@pytest.mark.parametrize("table", TABLES)
def test_what_truly_happened_is_possible_at_every_decision(
    table: Sequence[str], paper_bugs: bool
) -> None:
    game, rng = Uno(len(table), paper_bugs), np.random.default_rng(5)
    codes = game.codes(table)
    for deal in range(12):
        knower = deal % len(table)
        state = game.deal(rng)
        array = state.array.copy()
        notes, world = memory.make_memory(len(table)), posterior.make_world(len(table))
        memory.begin(notes, array)
        while seats := game.to_move(state):
            observation = game.observe(state, seats[0])
            chances = game.probabilities(table[seats[0]], observation)
            option = int(rng.choice(len(chances), p=chances))
            action = game.legal(state, seats[0])[option]
            memory.follow(notes, array, knower, codes, action, world.weights)
            if seats[0] != knower:
                own = sum(
                    chance
                    for other, chance in zip(observation.view.options, chances, strict=True)
                    if other == action
                )
                turn = notes.counts[memory.TURNS] - 1
                assert notes.chances[turn] == pytest.approx(own)
                assert notes.chances[turn] > 0
            state = game.play(state, (action,))
            assert np.array_equal(array, state.array)
            for seat in range(len(table)):
                at = rules.hand_of(seat)
                assert notes.tickets[at] == array[at]
