"""Exact means of small OpenSpiel games, and players learnt from their moves."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.chance import Row, law_of, name_of, policy_of
from gauntlet.games.openspiel.exploitability import expected
from gauntlet.games.openspiel.game import OpenSpiel
from gauntlet.games.openspiel.tree import WORD, chances, habits, listed
from gauntlet.games.playouts import RANDOM


@pytest.mark.parametrize("seats", [2, 3])
@pytest.mark.parametrize("name", ["sharp", "random"])
def test_means_are_those_of_the_listed_tree(name: str, seats: int) -> None:
    game = OpenSpiel(name="kuhn_poker", num_seats=seats)
    text = RANDOM if name == RANDOM else policy_of(game, name, 0)
    found = listed(game)
    policy = found.tree.uniform.copy()
    for row, state in enumerate(found.states):
        own = chances(habits(text), state.live)
        policy[row, : len(own)] = own
    means = game.rollouts(None, (), (text,) * seats, 1, 0, "utility")
    np.testing.assert_allclose(means[0], expected(found.tree, policy), atol=1e-12)


def test_after_a_move_the_rest_is_a_mean() -> None:
    """Seat 1 of Kuhn poker holds the king and is bet into: it calls half of the time."""
    game = OpenSpiel(name="kuhn_poker")
    state = next(
        state
        for state in (game.deal(np.random.default_rng(seed)) for seed in range(50))
        if state.actions == (0, 2)
    )
    means = game.rollouts(state, (1,), (RANDOM, RANDOM), 1, 0, "utility")
    np.testing.assert_allclose(means, [[0.5 * -2 + 0.5 * 1, 0.5 * 2 - 0.5 * 1]])


def test_a_player_is_learnt_from_its_moves() -> None:
    game = OpenSpiel(name="kuhn_poker")
    row, seen = Row(game, "utility", ("sharp", "random")), []
    for deal in range(600):
        _, turns = row.play((0, 1), (deal, 0))
        seen.append((turns[0].state, [name_of(game, turn) for turn in turns], 0))
    learnt = game.imitate(seen)
    assert learnt == game.imitate(seen)
    assert learnt.startswith(WORD)
    state = seen[0][0]
    true = law_of(game, "sharp", 0, state)
    np.testing.assert_allclose(chances(habits(learnt), game.live(state)), true, atol=0.15)


def test_a_large_game_is_not_learnt() -> None:
    game = OpenSpiel(name="liars_dice")
    assert not game.small
    assert game.imitate([]) == RANDOM
