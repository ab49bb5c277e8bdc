"""UCT: against perfect play, OpenSpiel's search and dominated moves; and what version 1 plays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from gauntlet.agents.base import Goal, Turn
from gauntlet.agents.minimax import outcome
from gauntlet.agents.uct import UCT
from gauntlet.games.openspiel import OpenSpiel
from gauntlet.games.playouts import play_on, random_playout
from gauntlet.games.rock_paper_scissors import RockPaperScissors
from gauntlet.games.santorini import Santorini
from gauntlet.games.tic_tac_toe import TicTacToe
from tests.agents.play import drive, unasked

CONNECT_FOUR = OpenSpiel()


def position(game: Any, moves: tuple[int, ...]) -> Any:
    state = game.deal(np.random.default_rng(0))
    for move in moves:
        state = game.play(state, (move,))
    return state


def decided(agent: UCT, game: Any, state: Any, seed: int = 0) -> Any:
    (seat,) = game.to_move(state)
    turn = Turn(game, game.legal(state, seat), Goal(), lambda: game.observe(state, seat))
    return drive(agent, turn, unasked, seed)[0]


def test_one_playout_is_random_play() -> None:
    """450 decisions with nine options; a fixed seed."""
    game = TicTacToe()
    state = position(game, ())
    chosen = [decided(UCT(1), game, state, seed).option for seed in range(450)]
    assert chisquare(np.bincount(chosen, minlength=9)).pvalue > 1e-4


@pytest.mark.parametrize("moves", [(), (0,), (0, 4), (0, 8), (4, 0, 8), (0, 1, 3), (2, 4, 6), (1,)])
def test_many_playouts_play_perfectly(moves: tuple[int, ...]) -> None:
    game = TicTacToe()
    state = position(game, moves)
    (seat,) = game.to_move(state)
    option = decided(UCT(2000), game, state).option
    after = game.play(state, (game.legal(state, seat)[option],))
    assert outcome(game, after) == outcome(game, state)


def test_visits_are_those_of_openspiels_search() -> None:
    """OpenSpiel counts results from -1 to 1, hence twice the exploration. No seat can win soon:
    OpenSpiel gives moves that end the game no bonus. The difference of two mean shares of 16
    searches has a standard error of at most 1.3 points."""
    import pyspiel

    state, shares = position(CONNECT_FOUR, (3, 3, 2)), np.zeros((2, 7))
    for seed in range(16):
        shares[0] += decided(UCT(400), CONNECT_FOUR, state, seed).scores
        evaluator = pyspiel.RandomRolloutEvaluator(1, seed + 1_000)
        bot = pyspiel.MCTSBot(CONNECT_FOUR.engine, evaluator, 2.8, 400, 100, False, seed, False)
        for child in bot.mcts_search(CONNECT_FOUR.live(state)).children:
            shares[1, child.action] += child.explore_count / 400
    assert shares[0] / 16 == pytest.approx(shares[1] / 16, abs=0.06)


@pytest.mark.parametrize(("card", "option"), [(2, "Bet"), (0, "Pass")])
def test_hidden_cards_are_redealt(card: int, option: str) -> None:
    """Kuhn poker after a bet: the king calls and the jack folds, whatever the other holds."""
    game = OpenSpiel(name="kuhn_poker")
    for deal in range(40):
        state = game.deal(np.random.default_rng(deal))
        if state.actions[1] != card:
            continue
        state = game.play(state, (1,))
        decision = decided(UCT(100), game, state, deal)
        assert game.observe(state, 1).options[decision.option].endswith(option)


@pytest.mark.parametrize(
    ("game", "moves", "options"),
    [
        (TicTacToe(), (0, 5), [2, 4, 2, 3, 4, 3]),
        (CONNECT_FOUR, (3, 3, 2), [3, 4, 4, 3, 1, 5]),
    ],
)
def test_version_1_makes_these_moves(game: Any, moves: tuple[int, ...], options: list[int]) -> None:
    """A change of these is a new VERSION, and the ladders of the old one are void."""
    state = position(game, moves)
    assert [decided(UCT(64), game, state, seed).option for seed in range(6)] == options


@pytest.mark.parametrize("game", [CONNECT_FOUR, OpenSpiel(name="kuhn_poker"), Santorini()])
def test_fast_playouts_have_the_law_of_the_rules(game: Any) -> None:
    """Mean return of seat 0 over 400 games, within 4.5 standard errors."""
    state, rng, fast = position(game, ()), np.random.default_rng(5), random_playout(game)
    games = 400 if game is not Santorini() else 100
    one = np.array([fast(state, rng)[0] for _ in range(games)])
    policies = ("random", "random")
    few = 40 if isinstance(game, Santorini) else games
    other = np.array([game.returns(play_on(game, state, policies, rng)[0])[0] for _ in range(few)])
    error = np.sqrt(one.var() / len(one) + other.var() / len(other))
    assert abs(one.mean() - other.mean()) < 4.5 * error


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"playouts": 0}, "playouts is 0"),
        ({"exploration": -1.0}, "exploration is -1"),
        ({"version": 2}, "plays version 1"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        UCT(**settings)


def test_seats_that_move_at_once_are_refused() -> None:
    with pytest.raises(ValueError, match="move in turn"):
        UCT().check(RockPaperScissors())
