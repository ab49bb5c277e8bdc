"""The walk over hidden worlds against Bayes' rule, card by card (`tests/games/beliefs.py`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from gauntlet.games.uno import State, Uno, memory, policies, posterior, rules
from tests.games.beliefs import KNOWER, Belief, exact, history, holding

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
    """What seat 1 believes of seat 0's hand when every world of the posterior walks a while."""
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
