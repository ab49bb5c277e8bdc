"""PettingZoo's classic games: the contract of every game, and independent engines."""

from __future__ import annotations

from typing import Any

import pytest

from gauntlet.common.errors import UserError
from gauntlet.games.pettingzoo import PettingZoo, State
from gauntlet.games.pettingzoo.classics import CLASSICS
from gauntlet.pipeline.plan.identity import describe
from tests.games.adapters import keeps_the_contract
from tests.games.cases import walk

pytest.importorskip("pettingzoo", reason="PettingZoo is not installed (the extra pettingzoo)")

FEW = ("connect_four_v3", "leduc_holdem_v4")
"""A board and cards."""


@pytest.mark.parametrize("name", FEW)
def test_a_game_keeps_the_contract(name: str) -> None:
    keeps_the_contract(PettingZoo(name=name), seed=3)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CLASSICS if name not in FEW])
def test_every_other_game_keeps_it_too(name: str) -> None:
    keeps_the_contract(PettingZoo(name=name), seed=3)


@pytest.mark.parametrize(
    ("name", "theirs"), [("tictactoe", "tic_tac_toe"), ("connect_four", "connect_four")]
)
def test_openspiel_allows_and_ends_the_same(name: str, theirs: str) -> None:
    pyspiel: Any = pytest.importorskip("pyspiel")
    for seed in range(10):
        game, other = PettingZoo(name=name), pyspiel.load_game(theirs).new_initial_state()
        for state, seats, moves in walk(game, seed):
            assert other.is_terminal() == (not seats)
            if not seats:
                assert list(game.returns(state)) == other.returns()
                break
            assert list(game.legal(state, seats[0])) == sorted(other.legal_actions())
            other.apply_action(int(moves[0]))


def test_the_drawn_board_is_the_one_that_was_played() -> None:
    """The columns and rows in move names match those of the drawing."""
    game = PettingZoo(name="tictactoe")
    state = State(0, (3, 8))  # C2R1 by player 0, C3R3 by player 1
    assert game.observe(state, 0).history == ("player 0 marked C2R1", "player 1 marked C3R3")
    assert game.observe(state, 0).facts[0].text == ". X .\n. . .\n. . O"


def test_chess_moves_are_told_in_algebraic_notation() -> None:
    chess: Any = pytest.importorskip("chess")
    game, board = PettingZoo(name="chess"), chess.Board()
    for ply, (state, seats, moves) in enumerate(walk(game, 4)):
        if not seats or ply == 60:
            break
        seen = game.observe(state, seats[0])
        assert set(seen.options) == {board.san(move) for move in board.legal_moves}
        board.push_san(seen.options[game.legal(state, seats[0]).index(moves[0])])


@pytest.mark.parametrize("name", ["leduc_holdem_v4", "texas_holdem_v4"])
def test_a_seat_is_not_told_the_other_s_cards(name: str) -> None:
    """In deals with the same cards a seat observes the same, whatever the other seat holds."""
    game, told = PettingZoo(name=name), dict[str, set[str]]()
    hidden: dict[str, set[str]] = {}
    for seed in range(60):
        state = State(seed)
        (seat,) = game.to_move(state)
        own, other = (game.observe(state, one).facts[-1].text for one in (seat, 1 - seat))
        facts = " ".join(fact.text for fact in game.observe(state, seat).facts)
        told.setdefault(f"{seat} {own}", set()).add(facts)
        hidden.setdefault(f"{seat} {own}", set()).add(other)
    assert all(len(facts) == 1 for facts in told.values())
    if name.startswith("leduc"):  # six cards: each occurs with different others
        assert any(len(others) > 1 for others in hidden.values())


def test_the_versions_are_of_the_cell() -> None:
    game = PettingZoo(name="connect_four")
    assert describe(game)["name"] == "connect_four_v3"
    assert describe(game)["version"] == game.version
    assert str(game.version).startswith("pettingzoo ")
    with pytest.raises(UserError, match="is asked for"):
        PettingZoo(name="connect_four", version="pettingzoo 0.1")


@pytest.mark.parametrize(
    ("name", "seats", "why"),
    [
        ("conect_four", 2, "has no classic game"),
        ("rps_v2", 2, "is not supported"),
        ("hanabi", 2, "is not supported"),
        ("chess", 3, "chess_v6 seats 2 players, got 3"),
        ("texas_holdem", 11, "seats 2 to 10 players, got 11"),
    ],
)
def test_what_cannot_be_played_is_refused_in_a_line(name: str, seats: int, why: str) -> None:
    with pytest.raises(ValueError, match=why) as error:
        PettingZoo(seats, name=name)
    assert "\n" not in str(error.value)
