"""Minimax against OpenSpiel's alpha-beta search and over every line of play; and weakened."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms.minimax import alpha_beta_search
from scipy.stats import chisquare

from gauntlet.agents import minimax
from gauntlet.agents.depth_limited_minimax import DepthLimitedMinimax
from gauntlet.agents.epsilon_random import EpsilonRandom
from gauntlet.agents.fixed import Fixed
from gauntlet.agents.minimax import Minimax, outcome, outcomes
from gauntlet.games.base import Game
from gauntlet.games.tic_tac_toe import State, TicTacToe
from tests.agents.play import against_random, drive, turn_at, turn_with, unasked
from tests.games.cases import walk

GAME = TicTacToe()


def board(drawing: str) -> State:
    """Return the drawn position, with its moves in some order that leads to it."""
    rows = "".join(drawing.split())
    crosses, noughts = ([cell for cell, mark in enumerate(rows) if mark == m] for m in "XO")
    state = GAME.deal(np.random.default_rng(0))
    for ply in range(len(crosses) + len(noughts)):
        state = GAME.play(state, (((noughts if ply % 2 else crosses)[ply // 2]),))
    return state


def test_positions_are_worth_what_openspiel_says() -> None:
    oracle = pyspiel.load_game("tic_tac_toe")
    for seed in range(60):
        other = oracle.new_initial_state()
        for state, seats, moves in walk(GAME, seed):
            if len(state.moves) > 2 and seats:
                worth, _ = alpha_beta_search(oracle, other, None, 9, maximizing_player_id=0)
                assert outcome(GAME, state) == worth, GAME.show(state)
            if seats:
                other.apply_action(moves[0])


@pytest.mark.parametrize("seat", [0, 1])
def test_it_never_loses_whatever_the_other_plays(seat: int) -> None:
    """Every one of its best moves is followed against every reply."""

    def follow(state: State, visited: set[State]) -> None:
        if state in visited:
            return
        visited.add(state)
        movers = GAME.to_move(state)
        if not movers:
            assert GAME.returns(state)[seat] >= 0, GAME.show(state)
            return
        options = GAME.legal(state, movers[0])
        if movers[0] == seat:
            decision, _ = drive(Minimax(), turn_at(GAME, state, seat), unasked)
            highest = max(decision.scores)
            pairs = zip(options, decision.scores, strict=True)
            options = tuple(action for action, score in pairs if score == highest)
        for action in options:
            follow(GAME.play(state, (action,)), visited)

    positions: set[State] = set()
    follow(GAME.deal(np.random.default_rng(0)), positions)
    assert len(positions) > 200


def test_equal_moves_are_equally_likely() -> None:
    turn = turn_at(GAME, GAME.deal(np.random.default_rng(0)), 0)
    found = Counter(drive(Minimax(), turn, unasked, seed)[0].option for seed in range(1800))
    assert chisquare([found[cell] for cell in range(9)]).pvalue > 1e-4


def test_a_decision_carries_the_outcome_of_every_option() -> None:
    turn = turn_at(GAME, board("X.. .O. ..X"), 1)
    decision, _ = drive(Minimax(), turn, unasked)
    names = dict(zip(turn.observation.options, decision.scores, strict=True))
    assert names == {"C2R1": 0, "C3R1": -1, "C1R2": 0, "C3R2": 0, "C1R3": -1, "C2R3": 0}


def test_the_tree_is_searched_once() -> None:
    turn = turn_at(GAME, GAME.deal(np.random.default_rng(0)), 0)
    drive(Minimax(), turn, unasked)
    positions = len(outcomes(GAME))
    start = time.perf_counter()
    for seed in range(100):
        drive(Minimax(), turn, unasked, seed)
    assert len(outcomes(GAME)) == positions > 1000
    assert time.perf_counter() - start < 1


def test_three_in_a_row_on_a_larger_grid_is_a_win_for_whoever_begins() -> None:
    game = TicTacToe(size=4, win_length=3)
    assert outcome(game, game.deal(np.random.default_rng(0))) == 1


@pytest.mark.parametrize("game", [GAME, TicTacToe(size=4, win_length=3)], ids=str)
def test_tic_tac_toe_of_a_size_that_can_be_searched_is_let_in(game: TicTacToe) -> None:
    Minimax().check(game)


def test_a_game_that_is_too_big_is_refused_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minimax, "POSITIONS", 20_000)
    for game in (TicTacToe(size=4), TicTacToe(size=5, win_length=4)):
        with pytest.raises(ValueError, match="20,000 positions, and TicTacToe has more; agent=sea"):
            Minimax().check(game)
        assert not outcomes(game)


def test_what_is_known_of_a_game_does_not_grow_without_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For all nine second positions, each searched separately, at most twice the budget."""
    monkeypatch.setattr(minimax, "POSITIONS", 2_500)
    outcomes(GAME).clear()
    start, sizes = GAME.deal(np.random.default_rng(0)), []
    for cell in GAME.legal(start, 0):
        assert outcome(GAME, GAME.play(start, (cell,))) == 0
        sizes.append(len(outcomes(GAME)))
    assert max(sizes) <= 2 * minimax.POSITIONS
    outcomes(GAME).clear()


@dataclass(frozen=True)
class Corridor:
    """Seats step in turn down a corridor of this length; who takes the last step wins."""

    num_seats: int = 2
    length: int = 100_000

    perfect_information: ClassVar[bool] = True

    def deal(self, rng: np.random.Generator) -> int:
        return 0

    def to_move(self, state: int) -> tuple[int, ...]:
        return () if state == self.length else (state % 2,)

    def legal(self, state: int, seat: int) -> tuple[int, ...]:
        return (0,)

    def play(self, state: int, moves: Sequence[int]) -> int:
        return state + 1

    def returns(self, state: int) -> tuple[float, ...]:
        return (1.0, -1.0) if state % 2 else (-1.0, 1.0)


def test_lines_of_play_that_are_too_long_to_follow_are_refused() -> None:
    long, short = (cast(Game[int], Corridor(length=length)) for length in (100_000, 51))
    assert outcome(short, 0) == 1
    with pytest.raises(ValueError, match="Corridor has more"):
        Minimax().check(long)


def test_states_without_a_hash_are_refused() -> None:
    class Listed(Corridor):
        def deal(self, rng: np.random.Generator) -> Any:
            return [0]

    with pytest.raises(ValueError, match="Listed's have no hash"):
        Minimax().check(cast(Game[Any], Listed()))


def test_a_game_that_takes_too_long_is_given_up() -> None:
    game = TicTacToe(size=4, win_length=4)
    with pytest.raises(ValueError, match=r"and TicTacToe takes too long to look at so many; agent"):
        outcome(game, game.deal(np.random.default_rng(0)), seconds=0.01)


# Weakened minimax.


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


def test_a_careless_player_can_lose() -> None:
    """Perfect play never does, and a player that is random half of the time sometimes does."""
    assert losses(Minimax()) == 0
    assert losses(EpsilonRandom(Minimax(), 0.5)) > 0


def losses(agent: Any, games: int = 60) -> int:
    """Games that the agent loses to a random player, over both seats."""
    return sum(against_random(GAME, agent, number % 2, number) < 0 for number in range(games))
