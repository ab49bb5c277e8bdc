"""Tic-tac-toe against OpenSpiel, against the known size of its tree, and against brute force."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pyspiel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from gauntlet.common.errors import IllegalAction
from gauntlet.games.base import Fact
from gauntlet.games.tic_tac_toe import State, TicTacToe
from tests.games.cases import seeds, walk

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


def longest_run(marks: int, size: int) -> int:
    """The longest unbroken line of marks, found by walking from every cell."""
    cells = {divmod(cell, size) for cell in range(size**2) if marks >> cell & 1}
    longest = 0
    for start in cells:
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            length = 0
            while (start[0] + down * length, start[1] + right * length) in cells:
                length += 1
            longest = max(longest, length)
    return longest


@st.composite
def grids(draw: st.DrawFn) -> TicTacToe:
    size = draw(st.integers(2, 7))
    return TicTacToe(size=size, win_length=draw(st.integers(2, size)))


@given(grids(), seeds)
def test_who_has_a_long_enough_line_wins_and_the_game_ends_there(
    game: TicTacToe, seed: int
) -> None:
    for state, seats, _ in walk(game, seed):
        lines = [longest_run(marks, game.size) >= game.win_length for marks in state.marks]
        assert not all(lines)
        assert (not seats) == (any(lines) or len(state.moves) == game.size**2)
        expected = (1, -1) if lines[0] else (-1, 1) if lines[1] else (0, 0)
        assert game.returns(state) == expected


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


def test_the_first_player_always_wins_where_two_in_a_line_are_enough() -> None:
    game = TicTacToe(size=2, win_length=2)
    assert game.simulate(("random", "random"), 500, seed=0).tolist() == [500, 0, 0]


def test_what_a_seat_is_told() -> None:
    state = after(GAME, 4, 6, 1, 2)
    seen = GAME.observe(state, 0)
    assert seen.facts == (Fact("Your marks", "C2R1, C2R2"), Fact("Opponent's marks", "C3R1, C1R3"))
    assert seen.options == ("C1R1", "C1R2", "C3R2", "C2R3", "C3R3")
    assert seen.history[:2] == ("player 0 marked C2R2", "player 1 marked C1R3")
    assert GAME.observe(START, 0).facts[1] == Fact("Opponent's marks", "none")


def test_the_rules_tell_the_parameters() -> None:
    game = TicTacToe(size=5, win_length=4)
    rules = game.observe(game.deal(np.random.default_rng(0)), 0).rules
    assert "5 columns and 5 rows" in rules
    assert "4 marks" in rules


def test_the_board_is_drawn() -> None:
    drawn = """\
   C1 C2 C3
R1 .  X  O
R2 .  X  .
R3 O  .  ."""
    assert GAME.show(after(GAME, 4, 6, 1, 2)) == drawn


def test_a_taken_cell_cannot_be_marked_again() -> None:
    with pytest.raises(IllegalAction, match=r"cell 4 is not an empty cell of\n.*C1 C2 C3"):
        after(GAME, 4, 4)


def test_nothing_can_be_marked_after_the_end() -> None:
    with pytest.raises(IllegalAction, match=r"moves \[8\] for seats \(\)"):
        after(GAME, 0, 3, 1, 4, 2, 8)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"num_seats": 3}, "tic-tac-toe seats 2 players, got 3"),
        ({"size": 1}, "size is 1; a grid has 2 to 32 cells a side"),
        ({"size": 33}, "size is 33; a grid has 2 to 32 cells a side"),
        ({"size": 4, "win_length": 5}, "win_length is 5; .* has 2 to 4 marks"),
        ({"win_length": 1}, "win_length is 1; .* has 2 to 3 marks"),
    ],
)
def test_impossible_parameters_are_refused(parameters: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TicTacToe(**parameters)
