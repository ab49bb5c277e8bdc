"""Rock-paper-scissors against OpenSpiel's payoffs and the exact chances of random play."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyspiel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from gauntlet.common.errors import IllegalAction
from gauntlet.games.base import Fact
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


def test_what_a_seat_is_told() -> None:
    seen = RockPaperScissors(rounds=10).observe(((0, 1), (2, 2)), 1)
    assert seen.facts == (
        Fact("Round", "3 of 10"),
        Fact("Score", "player 0: 0, player 1 (you): 1"),
    )
    assert seen.options == ("rock", "paper", "scissors")
    assert seen.history == (
        "round 1: player 0 rock, player 1 paper",
        "round 2: player 0 scissors, player 1 scissors",
    )
    assert "10 rounds" in seen.rules


def test_the_rules_speak_of_one_round_in_the_singular() -> None:
    assert "play 1 round." in RockPaperScissors().observe((), 0).rules


def test_the_rounds_are_shown() -> None:
    shown = """\
2 of 10 rounds played, score 0:1
round 1: player 0 rock, player 1 paper
round 2: player 0 scissors, player 1 scissors"""
    assert RockPaperScissors(rounds=10).show(((0, 1), (2, 2))) == shown


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"num_seats": 3}, "rock-paper-scissors seats 2 players, got 3"),
        ({"rounds": 0}, "rounds is 0; a game has 1 to 10,000"),
    ],
)
def test_impossible_parameters_are_refused(parameters: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RockPaperScissors(**parameters)


@pytest.mark.parametrize("rounds", [0, 10**9])
def test_a_game_has_neither_no_nor_endless_rounds(rounds: int) -> None:
    with pytest.raises(ValueError, match="a game has 1 to 10,000"):
        RockPaperScissors(rounds=rounds)
