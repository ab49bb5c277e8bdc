"""TextArena's games: every game's contract, internal randomness, moves the library validates."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pytest

from gauntlet.common.errors import IllegalAction, UserError
from gauntlet.games.base import TextMove, default_text_move
from gauntlet.games.textarena import State, TextArena
from gauntlet.games.textarena.live import Live, RandomState, start_env
from gauntlet.games.textarena.words import WRITTEN
from gauntlet.pipeline.plan.identity import describe, node_of
from tests.games.adapters import keeps_the_contract

pytest.importorskip("textarena", reason="TextArena is not installed (the extra textarena)")

FEW = ("TicTacToe", "KuhnPoker", "SimpleNegotiation")
"""A board, cards and a talk."""


def supported(name: str) -> TextArena:
    """Return the game with its smallest number of seats, if possible two."""
    for seats in (2, 1, 3, 4, 6):
        with suppress(ValueError):
            return TextArena(seats, name=name)
    raise AssertionError(f"{name} takes no number of seats")


@pytest.mark.parametrize("name", FEW)
def test_a_game_keeps_the_contract(name: str) -> None:
    keeps_the_contract(supported(name), seed=3)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in WRITTEN if name not in FEW])
def test_every_other_game_keeps_it_too(name: str) -> None:
    keeps_the_contract(supported(name), seed=3)


def transcript(game: TextArena, seed: int, between: Callable[[], object]) -> list[Any]:
    """All observations of a match of random players, with an extra action before every call."""
    rng = np.random.default_rng(seed)
    state, told = game.deal(np.random.default_rng(seed)), list[Any]()
    while seats := game.to_move(state):
        between()
        told.append(game.observe(state, seats[0]))
        between()
        (option,) = game.legal(state, seats[0])
        between()
        state = game.play(state, [default_text_move(option, rng)])
    return [*told, game.returns(state), state]


def disturb() -> None:
    random.seed(99)
    random.random()
    np.random.rand(3)


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of earlier games is kept."""
    from gauntlet.games.textarena import game
    from gauntlet.games.transition_cache import TransitionCache

    monkeypatch.setattr(game, "KEPT_HERE", TransitionCache(start_env, Live.after))


@pytest.mark.parametrize("name", ["KuhnPoker", "IndianPoker"])
def test_one_deal_is_one_game_whatever_else_draws(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calm = transcript(TextArena(name=name), 5, lambda: None)
    forget(monkeypatch)
    assert transcript(TextArena(name=name), 5, disturb) == calm


def test_a_process_finds_its_own_luck_again() -> None:
    random.seed(7)
    np.random.seed(7)
    wanted = random.random(), float(np.random.rand())
    random.seed(7)
    np.random.seed(7)
    transcript(TextArena(name="KuhnPoker"), 11, lambda: None)
    assert (random.random(), float(np.random.rand())) == wanted


def test_luck_that_is_not_lent_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above catches an adapter that lets the library use the process's random state."""

    @contextmanager
    def left(self: RandomState) -> Iterator[None]:
        yield

    calm = transcript(TextArena(name="KuhnPoker"), 5, lambda: None)
    forget(monkeypatch)
    monkeypatch.setattr(RandomState, "activated", left)
    assert transcript(TextArena(name="KuhnPoker"), 5, disturb) != calm


def test_what_the_library_calls_invalid_is_illegal_and_costs_nothing() -> None:
    game = TextArena(name="TicTacToe")
    state = game.deal(np.random.default_rng(0))
    (option,) = game.legal(state, 0)
    for wrong in ("[9]", "the middle", "[4] " * 200):
        for _ in range(3):
            assert option.text.fault(wrong)  # type: ignore[attr-defined]
            with pytest.raises(IllegalAction):
                game.play(state, [TextMove(0, wrong)])
    after = game.play(state, [TextMove(0, "I take [4]")])
    assert game.to_move(after) == (1,)
    with pytest.raises(IllegalAction):
        game.play(after, [TextMove(0, "[4]")])
    live = start_env("TicTacToe-v0", 2, 0)
    assert live.after("[9]").after("[9]").over  # left alone, the library ends the match


def test_going_back_to_another_branch_plays_it_anew() -> None:
    game = TextArena(name="TicTacToe")
    begun = State(1)
    one, other = State(1, ("[0]", "[4]")), State(1, ("[8]", "[4]"))
    seen = [game.observe(state, 0) for state in (one, other, begun, one, other)]
    assert seen[0] == seen[3] != seen[1] == seen[4]


def test_the_version_is_of_the_cell() -> None:
    game = TextArena(name="TicTacToe")
    told = describe(game)
    assert told["name"] == "TicTacToe-v0"
    assert told["version"] == game.version
    assert node_of(told)["version"] == game.version
    with pytest.raises(UserError, match=r"TextArena 0\.0\.1 is asked for"):
        TextArena(name="TicTacToe", version="0.0.1")


@pytest.mark.parametrize(
    ("name", "seats", "why"),
    [
        ("TikTakToe", 2, "has no game 'TikTakToe'"),
        ("Tak", 2, "is not supported"),
        ("TicTacToe", 3, "got 3"),
        ("Bandit", 2, "got 2"),
        ("QuantumTicTacToe", 5, "seats 2 players, got 5"),
        ("Debate", 2, "asks models over the network"),
    ],
)
def test_what_cannot_be_played_is_refused_in_a_line(name: str, seats: int, why: str) -> None:
    with pytest.raises((ValueError, UserError), match=why) as error:
        TextArena(seats, name=name)
    assert "\n" not in str(error.value)


def test_a_task_that_is_done_in_part_is_not_won() -> None:
    game = TextArena(1, name="GuessTheNumber")
    state = game.deal(np.random.default_rng(0))
    rng = np.random.default_rng(1)
    while game.to_move(state):
        state = game.play(state, [default_text_move(game.legal(state, 0)[0], rng)])
    (worth,), (reward,) = game.returns(state), game.measure(state)["reward"]
    assert (worth > 0) == (reward >= 1)
