"""Tic-tac-toe against OpenSpiel, the known size of its tree, and brute force."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pyspiel
import pytest
from scipy.stats import binomtest

from gauntlet.games.tic_tac_toe import State, TicTacToe
from tests.games.cases import walk

GAME = TicTacToe()
START = GAME.deal(np.random.default_rng(0))


def after(game: TicTacToe, *cells: int) -> State:
    state = game.deal(np.random.default_rng(0))
    for cell in cells:
        state = game.play(state, (cell,))
    return state


def test_the_whole_tree_has_its_known_size() -> None:
    """255,168 games, of which X wins 131,184, O wins 77,904 and 46,080 are drawn; they pass
    through 5,478 positions. These are the counts that the literature gives."""

    @cache
    def games_from(state: State) -> np.ndarray:
        seats = GAME.to_move(state)
        if not seats:
            return np.array([GAME.returns(state)[0] == worth for worth in (1, -1, 0)], int)
        plays = (GAME.play(state, (cell,)) for cell in GAME.legal(state, seats[0]))
        return np.sum([games_from(play) for play in plays], axis=0)

    assert games_from(START).tolist() == [131184, 77904, 46080]
    assert games_from.cache_info().currsize == 5478


@pytest.mark.parametrize(
    ("theirs", "game"),
    [
        ("tic_tac_toe", TicTacToe()),
        ("mnk(m=4,n=4,k=3)", TicTacToe(size=4, win_length=3)),
        ("mnk(m=6,n=6,k=4)", TicTacToe(size=6, win_length=4)),
        ("mnk(m=7,n=7,k=7)", TicTacToe(size=7, win_length=7)),
    ],
)
def test_lockstep_with_openspiel(theirs: str, game: TicTacToe) -> None:
    oracle = pyspiel.load_game(theirs)
    for seed in range(100):
        other = oracle.new_initial_state()
        for state, seats, moves in walk(game, seed):
            assert (not seats) == other.is_terminal()
            assert list(game.returns(state)) == other.returns()
            if seats:
                assert seats == (other.current_player(),)
                assert list(game.legal(state, seats[0])) == other.legal_actions()
                other.apply_action(moves[0])


def test_a_position_is_what_is_on_the_grid_however_it_came_about() -> None:
    one, other = after(GAME, 0, 4, 8), after(GAME, 8, 4, 0)
    assert one == other
    assert hash(one) == hash(other)
    assert GAME.observe(one, 1).facts == GAME.observe(other, 1).facts
    assert GAME.observe(one, 1).history != GAME.observe(other, 1).history


def test_simulated_games_end_as_often_as_random_play_does() -> None:
    """Exact: X wins 737/1260, O wins 121/420, 8/63 are drawn; here found from the tree too."""

    @cache
    def chances(state: State) -> tuple[Fraction, ...]:
        seats = GAME.to_move(state)
        if not seats:
            return tuple(Fraction(GAME.returns(state)[0] == worth) for worth in (1, -1, 0))
        cells = GAME.legal(state, seats[0])
        each = [chances(GAME.play(state, (cell,))) for cell in cells]
        return tuple(sum(column, Fraction()) / len(cells) for column in zip(*each, strict=True))

    exact = (Fraction(737, 1260), Fraction(121, 420), Fraction(8, 63))
    assert chances(START) == exact
    counts = GAME.simulate(("random", "random"), 20000, seed=5)
    for count, chance in zip(counts.tolist(), exact, strict=True):
        assert binomtest(count, 20000, float(chance)).pvalue > 1e-4


def test_the_rules_tell_the_parameters() -> None:
    game = TicTacToe(size=5, win_length=4)
    rules = game.observe(game.deal(np.random.default_rng(0)), 0).rules
    assert "5 columns and 5 rows" in rules
    assert "4 marks" in rules
