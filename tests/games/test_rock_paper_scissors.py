"""Rock-paper-scissors against OpenSpiel's payoffs and the exact probabilities of random play."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyspiel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from gauntlet.common.errors import IllegalAction
from gauntlet.games.rock_paper_scissors import HANDS, RockPaperScissors, State

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
    state: State = ()
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


def test_the_seats_move_at_once() -> None:
    """A state never holds half a round: there is nothing that one seat could see of the other."""
    game = RockPaperScissors(rounds=3)
    for moves in ((0,), (0, 1, 2), (0, 3), (-1, 0)):
        with pytest.raises(IllegalAction, match=r"for seats \(0, 1\)"):
            game.play((), moves)


def test_the_rules_speak_of_one_round_in_the_singular() -> None:
    assert "play 1 round." in RockPaperScissors().observe((), 0).rules
