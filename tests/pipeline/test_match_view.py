"""Decision traces: the worked example of LLM-UNO's Fig. 3, through the cloze method."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gauntlet.agents.base import Goal, Turn
from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.cloze import Cloze
from gauntlet.agents.prompting.counterfactual import Counterfactual
from gauntlet.games.base import Fact, Observation
from gauntlet.games.uno import Uno
from gauntlet.models.base import Scores
from gauntlet.pipeline.log.exchanges import exchange
from gauntlet.pipeline.viewer.match import DecisionView, decision_view
from tests.pipeline.records import decided

OPTIONS = ("green 2", "green 9", "red skip")
PRINTED = ((0.1103, 0.0758, 0.6345), (0.0609, 0.5780, 0.1877), (0.3065, 0.3936, 0.1278))
"""Fig. 3: the probabilities of the letters A, B, C under each shift of the options."""
SUMS = (0.6915, 0.2645, 1.5191)
"""Fig. 3: the cumulative scores, which the paper summed before rounding."""


def traced(method: Any, rows: Any, options: tuple[str, ...] = OPTIONS) -> DecisionView:
    """The trace of one decision with these probabilities as the model's answers to each prompt."""
    seen = Observation("UNO", 2, "Rules.", (Fact("Top card", "green skip"),), (), options)
    turn = Turn(Uno(3), tuple(range(len(options))), Goal(1), lambda: seen)
    thinking, statics = LLM(method).decide(turn, rng=None), {}  # type: ignore[arg-type,var-annotated]
    request = next(thinking)
    logprobs = tuple(tuple(math.log(p) if p else -math.inf for p in row) for row in rows)
    reply = Scores(logprobs, (10,) * len(rows))
    written = exchange(request, reply, statics)
    with pytest.raises(StopIteration) as stop:
        thinking.send(reply)
    decision = stop.value.value
    made = decided(
        1, options=options, scores=decision.scores, chosen=decision.option, asked=(written,)
    )
    return decision_view(made, statics)


def answers(view: DecisionView) -> list[str]:
    """Return a prompt's answers, one per line, each with its probability and its option."""
    return [
        ", ".join(
            f"{answer.word} {answer.probability:.4f}"
            + ("" if answer.option is None else f" {view.options[answer.option]}")
            for answer in prompt.answers
        )
        for prompt in view.prompts
    ]


def test_the_published_example_comes_out_as_printed() -> None:
    found = traced(Cloze(), PRINTED)
    assert found.scores == pytest.approx(SUMS, abs=0.00015)
    assert found.options[found.chosen] == "red skip"
    assert found.move == "red skip"
    assert answers(found) == [
        "A 0.1103 green 2, B 0.0758 green 9, C 0.6345 red skip",
        "A 0.0609 green 9, B 0.5780 red skip, C 0.1877 green 2",
        "A 0.3065 red skip, B 0.3936 green 2, C 0.1278 green 9",
    ]


def test_a_prompt_is_told_as_it_was_sent() -> None:
    first = traced(Cloze(), PRINTED).prompts[0].text
    assert first.startswith("You are player 2 in a game of UNO.\nGoal: help player 1 win")
    assert "A) green 2\nB) green 9\nC) red skip\n" in first
    assert first.endswith("Answer:")


def test_a_verdict_stands_for_no_option_and_belongs_to_its_prompt() -> None:
    rows = ((0.2, 0.1), (0.05, 0.3), (0.0, 0.1))
    found = traced(Counterfactual(), rows)
    assert found.scores == pytest.approx((0.1, -0.25, -0.1))
    assert answers(found)[::2] == ["good 0.2000, bad 0.1000", "good 0.0000, bad 0.1000"]


def test_of_two_equal_options_each_has_its_own_letters() -> None:
    rows = ((0.1, 0.2, 0.3), (0.1, 0.2, 0.3), (0.1, 0.2, 0.3))
    found = traced(Cloze(), rows, ("red 3", "red 3", "wild naming red"))
    meant = [answer.option for prompt in found.prompts for answer in prompt.answers]
    assert meant == [0, 1, 2, 1, 2, 0, 2, 0, 1]
