"""Generated games: their text says how they are played, and their values are exact."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import product
from operator import xor
from typing import Any

import numpy as np
import pytest

from benchmarks.evergreen import different, loss_range, tree
from gauntlet.agents.minimax import outcome
from gauntlet.games.evergreen import Evergreen
from gauntlet.games.evergreen.game import (
    CLEAR,
    FAMILIES,
    HARD,
    LEAST,
    MOST,
    accepted,
    candidates,
    digest,
    solved,
    suitable,
)
from gauntlet.games.evergreen.mnk import Mnk
from gauntlet.games.evergreen.rules import Bidding, TakeAway
from gauntlet.games.evergreen.rules import Heaps as Stones
from gauntlet.games.evergreen.solving import Solution, matrix_game
from tests.games import evergreen_reader as reader

READERS = {"mnk": reader.Marks, "takeaway": reader.Heaps, "bidding": reader.Prizes}


def lockstep(game: Evergreen, rng: np.random.Generator) -> None:
    """A random match by the game, and by a reader of its rules and of the position dealt."""
    state = game.deal(rng)
    seat = game.to_move(state)[0]
    told = game.observe(state, seat)
    begun = state.position != game.rules.start()
    facts = {fact.name: fact.text for fact in told.facts if begun}
    other: Any = READERS[game.family](told.rules, facts, seat)
    while seats := game.to_move(state):
        seen = [game.observe(state, seat) for seat in seats]
        moves, names = [], []
        for seat, one in zip(seats, seen, strict=True):
            asked = other.options(seat) if len(seats) == 2 else other.options()
            assert set(one.options) == asked, game
            at = int(rng.integers(len(one.options)))
            moves.append(game.legal(state, seat)[at])
            names.append(one.options[at])
        other.play([int(name.split()[1]) for name in names] if len(seats) == 2 else names[0])
        state = game.play(state, moves)
    assert game.returns(state)[0] == other.result(), game


@pytest.mark.parametrize("family", FAMILIES)
def test_a_reader_of_the_rules_plays_alike(family: str) -> None:
    for seed in range(3):
        for number in range(15):
            lockstep(Evergreen(family=family, seed=seed), np.random.default_rng((seed, number)))


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_reader_of_the_rules_plays_many_games_alike(family: str) -> None:
    for seed in range(120):
        for number in range(10):
            lockstep(Evergreen(family=family, seed=seed), np.random.default_rng((seed, number)))


@pytest.mark.parametrize(("family", "seed"), [*product(FAMILIES, range(2))])
def test_kept_games_tell_good_play_from_bad(family: str, seed: int) -> None:
    found = solved(family, seed)
    assert digest(found) == accepted(family)[seed][1]
    assert LEAST <= len(found.values) <= MOST
    assert found.margin("perfect", "random") >= CLEAR
    assert found.margin("one_ply", "random") <= HARD


@pytest.mark.parametrize("family", FAMILIES)
def test_listed_games_differ_and_are_the_first_kept(family: str) -> None:
    """Of a few seeds, the draws before the listed one are not kept, or are a lower seed's game."""
    digests = [own for _, own in accepted(family)]
    assert len(digests) == len({*digests})
    for seed in (2, len(digests) - 1):
        last, own = accepted(family)[seed]
        tried = dict[int, str]()
        for draw, found in candidates(family, seed):
            tried[draw] = digest(found)
            if draw >= last:
                break
        assert tried.pop(last) == own
        assert {*tried.values()} <= {*digests[:seed]}


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_listed_game_has_its_digest(family: str) -> None:
    for seed, (_, own) in enumerate(accepted(family)):
        found = Solution(solved(family, seed).rules, MOST)
        assert suitable(found)
        assert digest(found) == own, seed


HEAPS = TakeAway((3, 5), (1, 3, 4), split=True)
PRIZES = Bidding((3, 4, 5), 6)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (HEAPS, replace(HEAPS, heaps=(5, 3)), True),
        (TakeAway((2, 4), (1, 3)), TakeAway((4, 2), (1, 3, 5)), True),
        (HEAPS, replace(HEAPS, misere=True), False),
        (HEAPS, replace(HEAPS, heaps=(3, 6)), False),
        (PRIZES, replace(PRIZES, prizes=(2, 4, 5)), True),
        (PRIZES, replace(PRIZES, prizes=(1, 4, 5)), False),
        (Mnk(2, 3, 2), Mnk(3, 2, 2), True),
    ],
)
def test_games_are_the_same_whatever_things_are_called(one: Any, other: Any, same: bool) -> None:
    trees = dict[object, int]()
    assert (tree(one, trees) == tree(other, trees)) == same


@pytest.mark.slow
@pytest.mark.parametrize(("family", "games"), [("mnk", 332), ("takeaway", 320), ("bidding", 299)])
def test_so_many_of_the_listed_games_are_different(family: str, games: int) -> None:
    assert different(family, [draw for draw, _ in accepted(family)]) == games


def test_a_loss_lies_among_those_by_every_equilibrium() -> None:
    rng, spans = np.random.default_rng(4), list[float]()
    for seed in range(4):
        game = Evergreen(family="bidding", seed=seed)
        state = game.deal(rng)
        while seats := game.to_move(state):
            moves = [game.legal(state, seat) for seat in seats]
            for seat in seats:
                for at, move in enumerate(moves[seat]):
                    low, high = loss_range(game.solution, state.position, seat, at)
                    loss = game.solution.loss(state.position, seat, move)
                    assert low - 1e-6 <= loss <= high + 1e-6
                    spans.append(high - low)
            state = game.play(state, [each[int(rng.integers(len(each)))] for each in moves])
    assert max(spans) > 0.5
    assert np.median(spans) < 1e-6


def test_a_seed_beyond_the_list_has_a_game_that_is_not_listed() -> None:
    seed = 4_611_686_018_427_387_903  # 62 bits
    found = solved("bidding", seed)
    assert suitable(found)
    assert digest(found) not in {own for _, own in accepted("bidding")}
    assert Evergreen(family="bidding", seed=seed).deal_key != Evergreen(family="bidding").deal_key


def test_tic_tac_toe_has_its_known_values() -> None:
    """5,478 positions; a draw; of the first moves none loses."""
    rules: Any = Mnk(3, 3, 3)
    found = Solution(rules, MOST)
    assert found.value(found.rules.start()) == 0.5
    assert len(found.values) == 5_478
    assert set(found.options(found.rules.start(), 0)) == {0.5}


def test_nim_is_won_by_its_sums() -> None:
    """C. L. Bouton (1901): the player to move loses at nim-sum 0."""
    rules: Any = TakeAway((4, 3, 5), (1, 2, 3, 4, 5))
    found = Solution(rules, MOST)
    for heaps in product(range(5), range(4), range(6)):
        value = found.value(Stones(heaps, 0, 0))
        assert value == float(reduce(xor, heaps) != 0), heaps


@pytest.mark.parametrize(
    ("table", "value", "row"),
    [
        ([[0.5, 0.0, 1.0], [1.0, 0.5, 0.0], [0.0, 1.0, 0.5]], 0.5, [1 / 3, 1 / 3, 1 / 3]),
        ([[1.0, 0.0], [0.0, 0.5]], 1 / 3, [1 / 3, 2 / 3]),
        ([[0.3, 0.4], [0.1, 0.9]], 0.3, [1.0, 0.0]),
    ],
)
def test_matrix_games(table: list[list[float]], value: float, row: list[float]) -> None:
    found, mix, _ = matrix_game(np.array(table))
    assert found == pytest.approx(value)
    assert mix == pytest.approx(row)


@pytest.mark.parametrize("family", ["mnk", "takeaway"])
def test_what_both_gave_away_is_the_result(family: str) -> None:
    """Seat 0's score is the value of the deal, less its losses, plus the other's."""
    game = Evergreen(family=family, seed=1)
    for number in range(30):
        rng = np.random.default_rng(number)
        state = game.deal(rng)
        total = game.solution.value(state.position)
        while seats := game.to_move(state):
            legal = game.legal(state, seats[0])
            move = legal[int(rng.integers(len(legal)))]
            loss = game.solution.loss(state.position, seats[0], move)
            total += loss if seats[0] else -loss
            state = game.play(state, (move,))
        assert total == pytest.approx((game.returns(state)[0] + 1) / 2)


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"family": "mnks"}, "family is 'mnks'; did you mean 'mnk'"),
        ({"seed": -1}, "seed is -1; it is a number from 0"),
        ({"num_seats": 3}, "evergreen seats 2 players, got 3"),
    ],
)
def test_a_wrong_setting_is_refused(settings: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=line):
        Evergreen(**settings)


def test_minimax_plays_what_a_family_draws() -> None:
    """A state has the moves that led to it too, which do not multiply the positions searched."""
    game = Evergreen(family="takeaway", seed=3)
    state = game.deal(np.random.default_rng(1))
    value = outcome(game, state)
    while game.to_move(state):
        (seat,) = game.to_move(state)
        best = max(
            game.legal(state, seat),
            key=lambda move: (1 - 2 * seat) * outcome(game, game.play(state, (move,))),
        )
        state = game.play(state, (best,))
        assert outcome(game, state) == value
    assert game.returns(state)[0] == value
