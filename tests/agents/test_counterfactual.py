"""Counterfactual prompting: one verdict per option."""

from __future__ import annotations

from typing import Any

import pytest

from gauntlet.agents.base import Decision
from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.counterfactual import Counterfactual
from gauntlet.models.base import Score
from tests.agents.play import Answer, drive, silent, table, turn_with, uniform


def ask(*options: str, answer: Answer = uniform, **more: Any) -> tuple[Decision, Score]:
    """Return the decision of a counterfactual player and its only request."""
    decision, (request,) = drive(LLM(Counterfactual()), turn_with(*options, **more), answer)
    assert isinstance(request, Score)
    return decision, request


def test_the_option_whose_good_exceeds_its_bad_most_is_chosen() -> None:
    verdicts = [[0.50, 0.45], [0.30, 0.10], [0.60, 0.55]]
    decision, _ = ask("a", "b", "c", answer=table(verdicts))
    assert decision.scores == pytest.approx((0.05, 0.2, 0.05))
    assert decision == Decision(1, attempts=1, scores=decision.scores)


def test_every_option_is_judged_once_and_stands_first_when_it_is() -> None:
    _, request = ask("a", "b", "c")
    assert request.choices == Counterfactual().labels() == ("good", "bad")
    endings = [prompt.changing[prompt.changing.index("Options") :] for prompt in request.prompts]
    assert endings == [
        "Options: a, b, c\nIs a a good or a bad choice?\n",
        "Options: b, a, c\nIs b a good or a bad choice?\n",
        "Options: c, a, b\nIs c a good or a bad choice?\n",
    ]


def test_options_with_commas_are_listed_a_line_each() -> None:
    _, request = ask("x(0,2)", "x(1,0)")
    assert "\nOptions:\n- x(1,0)\n- x(0,2)\nIs x(1,0) a good" in request.prompts[1].text


def test_the_prompt_reads_so() -> None:
    """A model is trained on this wording: changing it requires retraining."""
    _, request = ask("a king", "snap")
    assert request.prompts[1].text == (
        "You are player 1 in a game of Snap.\n"
        "Goal: win the game yourself.\n"
        "\n"
        "Rules: Be quick.\n"
        "\n"
        "Pile: a red queen\n"
        "Hand: two kings\n"
        "Recent moves: move 3; move 4; move 5; move 6; move 7\n"
        "Options: snap, a king\n"
        "Is snap a good or a bad choice?\n"
        "Answer:"
    )


def test_ties_go_to_the_option_listed_first() -> None:
    decision, _ = ask("a", "b", "c", answer=table([[0.1, 0.3], [0.4, 0.2], [0.4, 0.2]]))
    assert decision.option == 1


def test_more_options_than_letters_are_no_matter() -> None:
    names = [f"card {number}" for number in range(40)]
    verdicts = [[0.2 + 0.01 * (number == 33), 0.2] for number in range(40)]
    decision, request = ask(*names, answer=table(verdicts))
    assert len(request.prompts) == 40
    assert decision.option == 33


def test_a_verdict_that_is_impossible_counts_as_nought() -> None:
    decision, _ = ask("a", "b", answer=table([[0.1, 0.0], [0.0, 0.0]]))
    assert decision.scores == (pytest.approx(0.1), 0.0)
    assert decision.status == "ok"


def test_impossible_verdicts_are_malformed_and_fall_back() -> None:
    decision, _ = ask("a", "b", answer=silent)
    assert (decision.status, decision.fallback, decision.attempts) == ("malformed", True, 1)


def test_fewer_than_no_moves_cannot_be_told() -> None:
    with pytest.raises(ValueError, match="moves is -2; a prompt tells 0 or more recent moves"):
        Counterfactual(moves=-2)
