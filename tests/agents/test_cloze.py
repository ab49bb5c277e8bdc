"""Cloze prompting: rotations, sums, ties, and the prompts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.agents.base import Decision, Goal
from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.cloze import LETTERS, Cloze
from gauntlet.models.base import Request, Score
from tests.agents.play import Answer, drive, silent, table, turn_with, uniform

NAMES = tuple(f"card {number}" for number in range(60))


def ask(*options: str, answer: Answer = uniform, **more: Any) -> tuple[Decision, Score]:
    """Return the decision of a cloze player and its only request."""
    decision, (request,) = drive(LLM(Cloze()), turn_with(*options, **more), answer)
    assert isinstance(request, Score)
    return decision, request


def listed(request: Score) -> list[list[str]]:
    """Return the option at each letter, one list per prompt."""
    lists = []
    for prompt in request.prompts:
        lines = prompt.changing.splitlines()
        marked = [line.split(") ") for line in lines if line[1:3] == ") "]
        assert [letter for letter, _ in marked] == list(request.choices)
        lists.append([option for _, option in marked])
    return lists


def test_the_worked_example_of_llm_uno() -> None:
    """Martinez and Roberts (2025), Fig. 3: Mistral 24B under the three rotations of three
    options. Their sums are 0.6916, 0.2645 and 1.5190, and red skip is chosen."""
    printed = [[0.1103, 0.0758, 0.6345], [0.0609, 0.5780, 0.1877], [0.3065, 0.3936, 0.1278]]
    decision, request = ask("green 2", "green 9", "red skip", answer=table(printed))
    assert listed(request) == [
        ["green 2", "green 9", "red skip"],
        ["green 9", "red skip", "green 2"],
        ["red skip", "green 2", "green 9"],
    ]
    assert decision.scores == pytest.approx((0.6916, 0.2645, 1.5190), abs=1e-9)
    assert decision.option == 2
    assert (decision.status, decision.fallback, decision.attempts) == ("ok", False, 1)


@given(st.integers(2, 40), st.data())
def test_a_liking_for_letters_alone_favours_no_option(count: int, data: st.DataObject) -> None:
    """Every option appears under every letter once, so the sums are equal to the last bit and the
    tie goes to the first option."""
    likings = st.floats(1e-9, 1.0)
    row = data.draw(st.lists(likings, min_size=min(count, 26), max_size=min(count, 26)))
    decision, _ = ask(*NAMES[:count], answer=table([row] * count))
    assert len(set(decision.scores)) == 1
    assert decision.option == 0


@given(st.integers(2, 40), st.data())
def test_a_liking_for_an_option_finds_it_wherever_it_stands(
    count: int, data: st.DataObject
) -> None:
    liked = data.draw(st.sampled_from(NAMES[:count]))

    def answer(request: Request) -> Any:
        assert isinstance(request, Score)
        rows = [[0.9 * (option == liked) for option in options] for options in listed(request)]
        return table(rows)(request)

    decision, _ = ask(*NAMES[:count], answer=answer)
    assert NAMES[decision.option] == liked


def test_equal_sums_go_to_the_option_listed_first() -> None:
    decision, _ = ask("a", "b", "c", answer=table([[0.1, 0.2, 0.3], [0.3, 0.1, 0.1], [0, 0, 0]]))
    assert decision.scores == pytest.approx((0.2, 0.5, 0.4))
    decision, _ = ask("a", "b", "c", answer=table([[0.1, 0.5, 0.5], [0, 0, 0], [0, 0, 0]]))
    assert decision.option == 1


def test_more_options_than_letters_are_each_shown_equally_often() -> None:
    _, request = ask(*NAMES[:30])
    lists = listed(request)
    assert len(lists) == 30
    assert {len(options) for options in lists} == {26}
    assert {sum(name in options for options in lists) for name in NAMES[:30]} == {26}
    assert {options[0] for options in lists} == set(NAMES[:30])


def test_only_the_letters_in_use_are_asked_about() -> None:
    _, request = ask("a", "b", "c", "d")
    assert request.choices == ("A", "B", "C", "D")
    assert Cloze().labels() == LETTERS


def test_impossible_letters_are_malformed_and_fall_back() -> None:
    decision, _ = ask("a", "b", answer=silent)
    assert (decision.status, decision.fallback, decision.attempts) == ("malformed", True, 1)


def test_one_possible_letter_is_enough() -> None:
    decision, _ = ask("a", "b", answer=table([[0, 0], [0, 1e-12]]))
    assert (decision.option, decision.status) == (0, "ok")


def test_the_prompt_reads_so() -> None:
    """A model is trained on this wording: changing it requires retraining."""
    _, request = ask("a king", "snap", goal=Goal(helps=0))
    assert request.prompts[1].text == (
        "You are player 1 in a game of Snap.\n"
        "Goal: help player 0 win; your own result does not count.\n"
        "\n"
        "Rules: Be quick.\n"
        "\n"
        "Pile: a red queen\n"
        "Hand: two kings\n"
        "Recent moves: move 3; move 4; move 5; move 6; move 7\n"
        "Options:\n"
        "A) snap\n"
        "B) a king\n"
        "Which option is best? Reply with its letter.\n"
        "Answer:"
    )


def test_without_a_goal_to_help_a_seat_plays_for_itself() -> None:
    _, request = ask("a king", "snap")
    assert "Goal: win the game yourself.\n" in request.prompts[0].static


@pytest.mark.parametrize(
    ("moves", "text"),
    [(0, ""), (1, "Recent moves: move 7\n"), (9, "Recent moves: move 1; move 2; move 3; ")],
)
def test_as_many_recent_moves_are_told_as_asked_for(moves: int, text: str) -> None:
    _, (request,) = drive(LLM(Cloze(moves)), turn_with("a", "b"), uniform)
    assert isinstance(request, Score)
    assert f"Hand: two kings\n{text or 'Options'}" in request.prompts[0].changing


def test_before_the_first_move_there_is_none_to_tell() -> None:
    _, request = ask("a", "b", moves=0)
    assert "Recent moves: none yet\n" in request.prompts[0].changing


def test_fewer_than_no_moves_cannot_be_told() -> None:
    with pytest.raises(ValueError, match="moves is -1; a prompt tells 0 or more recent moves"):
        Cloze(moves=-1)


def test_log_probabilities_are_summed_as_probabilities() -> None:
    """Summed as logarithms, b would win here."""
    decision, _ = ask("a", "b", answer=table([[0.9, 0.05], [0.05, 0.001]]))
    assert decision.option == 0
    assert decision.scores == pytest.approx((0.901, 0.1))
    logs = np.log([[0.9, 0.001], [0.05, 0.05]]).sum(axis=1)
    assert math.isfinite(logs[0])
    assert logs[1] > logs[0]
