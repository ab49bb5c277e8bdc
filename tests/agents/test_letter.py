"""One written letter: the prompt, and parsing of replies."""

from __future__ import annotations

import numpy as np
import pytest

from gauntlet.agents.base import Decision, Goal, Turn
from gauntlet.agents.prompting.base import Unusable
from gauntlet.agents.prompting.letter import Letter
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.models.base import Generate, Generation


def prompt_and_outcome(text: str, seed: int) -> tuple[str, Decision | Unusable]:
    """Return the prompt at the first move of Tic-Tac-Toe, and the result of the reply."""
    game = TicTacToe()
    state = game.deal(np.random.default_rng(0))
    turn = Turn(game, game.legal(state, 0), Goal(), lambda: game.observe(state, 0))
    asking = Letter().ask(turn, np.random.default_rng(seed))
    request = next(asking)
    assert isinstance(request, Generate)
    with pytest.raises(StopIteration) as ended:
        asking.send(Generation(text, 0, 0))
    return request.prompt.text, ended.value.value


@pytest.mark.parametrize("seed", range(6))
def test_a_letter_means_the_option_that_stands_under_it(seed: int) -> None:
    names = TicTacToe().observe(TicTacToe().deal(np.random.default_rng(0)), 0).options
    for place, letter in enumerate("ABCDEFGHI"):
        prompt, decision = prompt_and_outcome(letter, seed)
        assert isinstance(decision, Decision)
        assert f"\n{letter}) {names[decision.option]}\n" in prompt
        assert prompt.index("\nA) ") < prompt.index(f"\n{letter}) ") or place == 0


def test_the_order_is_turned_by_luck() -> None:
    first = {prompt_and_outcome("A", seed)[1].option for seed in range(30)}  # type: ignore[union-attr]
    assert len(first) > 5


@pytest.mark.parametrize("text", [" B", "B)", "(B) of course", "**B**", "B."])
def test_a_letter_is_found_at_the_start(text: str) -> None:
    assert prompt_and_outcome(text, 1) == prompt_and_outcome("B", 1)


@pytest.mark.parametrize("text", ["", "b", "Because", "none", "the first"])
def test_anything_else_is_malformed(text: str) -> None:
    assert prompt_and_outcome(text, 1)[1] == Unusable("malformed", 1)


def test_a_letter_without_an_option_is_illegal() -> None:
    assert prompt_and_outcome("Z", 1)[1] == Unusable("illegal", 1)


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="max_tokens is 0"):
        Letter(max_tokens=0)
    with pytest.raises(ValueError, match="moves"):
        Letter(moves=-1)
