"""Players without a model, and the language model player without a usable answer."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from gauntlet.agents.base import Decision, Turn
from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.base import Asking, Unusable
from gauntlet.agents.random import Random
from gauntlet.agents.rule import Rule
from gauntlet.games.base import Observation
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.uno import Uno
from tests.agents.play import drive, turn_at, turn_with, unasked


def choices(agent: Any, turn: Turn, answer: Any, times: int = 3000) -> list[int]:
    """How often each option is chosen over many random streams."""
    found = Counter(drive(agent, turn, answer, seed)[0].option for seed in range(times))
    return [found[option] for option in range(len(turn.options))]


def test_random_is_uniform() -> None:
    assert chisquare(choices(Random(), turn_with("a", "b", "c", "d"), unasked)).pvalue > 1e-4


def test_random_says_nothing_of_why() -> None:
    decision, asked = drive(Random(), turn_with("a", "b"), unasked)
    assert decision == Decision(decision.option)
    assert asked == []


class Loaded:
    """A game whose only scripted player takes three options with chances 0, 1/4 and 3/4."""

    policies = ("loaded", "random")

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        assert policy == "loaded"
        return (0.0, 0.25, 0.75)


def test_rule_draws_from_the_chances_of_the_scripted_player() -> None:
    game: Any = Loaded()
    never, seldom, often = choices(
        Rule("loaded"), replace(turn_with("a", "b", "c"), game=game), unasked
    )
    assert never == 0
    assert chisquare([seldom, often], [750, 2250]).pvalue > 1e-4


def test_rule_plays_the_rule_of_uno() -> None:
    """RLCard's rule player names the colour that it holds most of; here every chance is known."""
    game = Uno()
    state = game.deal(np.random.default_rng(4))
    turn = turn_at(game, state, game.to_move(state)[0])
    chances = np.array(game.probabilities("rule", turn.observation))
    found = np.array(choices(Rule(), turn, unasked, 1000))
    assert (found[chances == 0] == 0).all()
    expected = chances[chances > 0] * 1000
    assert len(expected) == 1 or chisquare(found[chances > 0], expected).pvalue > 1e-4


def test_rule_refuses_a_game_without_that_policy() -> None:
    Rule("rule").check(Uno())
    Rule("random").check(TicTacToe())
    with pytest.raises(ValueError, match="TicTacToe has no scripted policy 'rule'; it has random"):
        Rule("rule").check(TicTacToe())
    bare: Any = object()
    with pytest.raises(ValueError, match="object has no scripted policy 'rule'; it has random"):
        Rule("rule").check(bare)


class Gibberish:
    """A prompting method whose model never answers with an option."""

    def labels(self) -> tuple[str, ...]:
        return ()

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        return Unusable("ambiguous", attempts=3)
        yield


def test_a_model_without_an_answer_is_replaced_by_a_recorded_random_move() -> None:
    player, turn = LLM(Gibberish()), turn_with("a", "b", "c")
    decision, _ = drive(player, turn, unasked, seed=8)
    assert decision == Decision(decision.option, "ambiguous", fallback=True, attempts=3)
    assert drive(player, turn, unasked, seed=8)[0] == decision
    assert chisquare(choices(player, turn, unasked)).pvalue > 1e-4
