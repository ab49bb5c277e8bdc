"""Weakened minimax: depth-limited, and with random moves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gauntlet.agents.depth_limited_minimax import DepthLimitedMinimax
from gauntlet.agents.epsilon_random import EpsilonRandom
from gauntlet.agents.fixed import Fixed
from gauntlet.agents.minimax import Minimax
from gauntlet.agents.random import Random
from gauntlet.games.rock_paper_scissors import RockPaperScissors
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.uno import Uno
from tests.agents.play import drive, turn_at, turn_with, unasked
from tests.agents.test_minimax import board

GAME = TicTacToe()


def chosen(agent: Any, drawing: str) -> set[str]:
    """Return all moves that the agent takes here, over many random streams."""
    state = board(drawing)
    turn = turn_at(GAME, state, GAME.to_move(state)[0])
    found = {drive(agent, turn, unasked, seed)[0].option for seed in range(60)}
    return {turn.observation.options[option] for option in found}


def test_one_ply_sees_a_win_and_no_threat() -> None:
    assert chosen(DepthLimitedMinimax(1), "XX. OO. ...") == {"C3R1"}
    assert len(chosen(DepthLimitedMinimax(1), "XX. .O. ...")) == 6


def test_two_plies_see_a_threat_and_no_fork() -> None:
    assert chosen(DepthLimitedMinimax(2), "XX. .O. ...") == {"C3R1"}
    assert "C3R1" in chosen(DepthLimitedMinimax(2), "X.. .O. ..X")


def test_enough_plies_are_perfect_play() -> None:
    for drawn in ("X.. .O. ..X", "XO. .X. ..O", "XX. .O. ..."):
        state = board(drawn)
        turn = turn_at(GAME, state, GAME.to_move(state)[0])
        few, all_of_them = (
            drive(agent, turn, unasked)[0] for agent in (DepthLimitedMinimax(6), Minimax())
        )
        assert few.scores == all_of_them.scores


def test_carelessness_comes_as_often_as_it_should() -> None:
    turn, agent = turn_with("a", "b", "c", "d"), EpsilonRandom(Fixed(1), 0.2)
    found = [drive(agent, turn, unasked, seed)[0].option for seed in range(2000)]
    others = sum(option > 0 for option in found) / len(found)
    assert others == pytest.approx(0.15, abs=5 * (0.15 * 0.85 / len(found)) ** 0.5)
    assert {
        drive(EpsilonRandom(Fixed(2), 0.0), turn, unasked, seed)[0].option for seed in range(9)
    } == {1}


def test_who_cannot_play_a_game_is_refused() -> None:
    EpsilonRandom(Random()).check(Uno())
    for agent in (DepthLimitedMinimax(), EpsilonRandom(Minimax())):
        agent.check(GAME)
        for game in (RockPaperScissors(), Uno()):
            with pytest.raises(ValueError, match=r"minimax.* plays games"):
                agent.check(game)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: DepthLimitedMinimax(0), "depth is 0; it looks 1 to 6 plies ahead"),
        (lambda: DepthLimitedMinimax(7), "depth is 7"),
        (
            lambda: EpsilonRandom(Random(), -0.1),
            "noise is -0.1; a probability lies between 0 and 1",
        ),
    ],
)
def test_settings_that_cannot_be(build: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        build()


def test_a_careless_player_can_lose() -> None:
    """Perfect play never does, and a player that is random half of the time sometimes does."""
    assert losses(Minimax()) == 0
    assert losses(EpsilonRandom(Minimax(), 0.5)) > 0


def losses(agent: Any, games: int = 60) -> int:
    """Games that the agent loses to a random player, over both seats."""
    lost = 0
    for number in range(games):
        rng, state = np.random.default_rng(number), GAME.deal(np.random.default_rng(0))
        while movers := GAME.to_move(state):
            player = agent if movers[0] == number % 2 else Random()
            turn = turn_at(GAME, state, movers[0])
            decision, _ = drive(player, turn, unasked, int(rng.integers(2**31)))
            state = GAME.play(state, (turn.options[decision.option],))
        lost += GAME.returns(state)[number % 2] < 0
    return lost
