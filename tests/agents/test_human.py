"""A human player: prompts, typed numbers, and how matches end."""

from __future__ import annotations

import math

from gauntlet.agents.base import Decision, Goal
from gauntlet.agents.human import Human
from gauntlet.models.base import Generate, Reply, Request, Score, Scores
from tests.agents.play import drive, silent, turn_with


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
