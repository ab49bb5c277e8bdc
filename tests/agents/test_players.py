"""Players without a model, a person, and a language model without a usable answer."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import chisquare

from gauntlet.agents.base import Decision, Goal, Turn
from gauntlet.agents.human import Human
from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.base import Asking, Unusable
from gauntlet.agents.random import Random
from gauntlet.agents.rule import Rule
from gauntlet.games.base import Observation
from gauntlet.models.base import Generate, Reply, Request, Score, Scores
from tests.agents.play import drive, silent, turn_with, unasked


def choices(agent: Any, turn: Turn, answer: Any, times: int = 3000) -> list[int]:
    """How often each option is chosen over many random streams."""
    found = Counter(drive(agent, turn, answer, seed)[0].option for seed in range(times))
    return [found[option] for option in range(len(turn.options))]


def test_random_is_uniform() -> None:
    assert chisquare(choices(Random(), turn_with("a", "b", "c", "d"), unasked)).pvalue > 1e-4


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


# A person.


def typing(number: int) -> Reply:
    return Scores((tuple(0.0 if n == number else -math.inf for n in (1, 2, 3)),), (0,))


def test_the_number_typed_is_the_option_played() -> None:
    turn = turn_with("a", "b", "c")
    for number in (1, 2, 3):
        decision, asked = drive(Human(), turn, lambda _, n=number: typing(n))
        assert decision == Decision(number - 1, attempts=1)
        assert [request.choices for request in asked if isinstance(request, Score)] == [
            ("1", "2", "3")
        ]


def test_the_prompt_tells_the_facts_the_goal_all_moves_and_numbered_options() -> None:
    _, asked = drive(Human(), turn_with("a", "b", "c", goal=Goal(helps=2)), lambda _: typing(1))
    assert isinstance(asked[0], Score)
    (prompt,) = asked[0].prompts
    assert prompt.static == (
        "You are player 1 in a game of Snap.\n"
        "Goal: help player 2 win; your own result does not count.\n\nRules: Be quick.\n\n"
    )
    moves = "".join(f"move {number}\n" for number in range(1, 8))
    assert prompt.changing == (
        f"{moves}\nPile: a red queen\nHand: two kings\nOptions:\n1) a\n2) b\n3) c\n"
    )
    assert prompt.cue == "Your choice (1 to 3):"


def test_no_answer_at_all_is_a_recorded_fallback() -> None:
    decision, _ = drive(Human(), turn_with("a", "b"), silent)
    assert (decision.status, decision.fallback) == ("malformed", True)


def test_the_end_tells_the_last_moves_and_who_won() -> None:
    for returns, won in (
        ((1.0, -1.0), "player 0"),
        ((-1.0, 1.0), "you"),
        ((0.0, 0.0), "nobody"),
        ((1.0, 1.0), "player 0 and you"),
    ):
        told = list[Request](Human().on_end(1, ["player 0: snap"], "no cards left", returns))
        (shown,) = told
        assert isinstance(shown, Generate)
        assert shown.max_tokens == 0
        for text in ("player 0: snap", "no cards left", f"Won by {won}."):
            assert f"\n{text}\n" in shown.prompt.text
