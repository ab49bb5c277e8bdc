"""Tic-tac-toe and rock-paper-scissors against OpenSpiel, known sizes and exact chances."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pyspiel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from gauntlet.games.rock_paper_scissors import HANDS, RockPaperScissors
from gauntlet.games.rock_paper_scissors import State as Rounds
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


hands = st.integers(0, 2)


def test_one_round_pays_as_in_openspiel() -> None:
    oracle = pyspiel.load_matrix_game("matrix_rps")
    game = RockPaperScissors()
    assert [oracle.row_action_name(action).lower() for action in range(3)] == list(HANDS)
    for first, second in product(range(3), repeat=2):
        state = game.play((), (first, second))
        expected = (oracle.row_utility(first, second), oracle.col_utility(first, second))
        assert game.returns(state) == expected


@given(st.lists(st.tuples(hands, hands), min_size=1, max_size=12))
def test_more_rounds_won_win_the_game(rounds: list[tuple[int, int]]) -> None:
    game, single = RockPaperScissors(rounds=len(rounds)), RockPaperScissors()
    state: Rounds = ()
    for moves in rounds:
        assert game.to_move(state) == (0, 1)
        state = game.play(state, moves)
    lead = sum(single.returns((moves,))[0] for moves in rounds)
    assert game.to_move(state) == ()
    assert game.returns(state) == (np.sign(lead), -np.sign(lead))


@pytest.mark.parametrize("rounds", [1, 2, 10])
def test_simulated_games_end_as_often_as_random_play_does(rounds: int) -> None:
    """A round moves the lead by -1, 0 or 1, a third each; so a game's lead is a sum of those."""
    chances = np.array([1.0])
    for _ in range(rounds):
        chances = np.convolve(chances, [1 / 3, 1 / 3, 1 / 3])
    exact = (chances[rounds + 1 :].sum(), chances[:rounds].sum(), chances[rounds])
    counts = RockPaperScissors(rounds=rounds).simulate(("random", "random"), 20000, seed=3)
    for count, chance in zip(counts.tolist(), exact, strict=True):
        assert binomtest(count, 20000, chance).pvalue > 1e-4
