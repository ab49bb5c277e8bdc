"""Reasoning methods: their prompts in order, parsing of replies, retries and fallbacks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.agents.base import Decision, Turn
from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.answers import move_in, share_in, vote_in
from gauntlet.agents.prompting.cot import Cot
from gauntlet.agents.prompting.direct import Direct
from gauntlet.agents.prompting.react import React
from gauntlet.agents.prompting.tot import Tot, elected
from gauntlet.games.base import Observation
from gauntlet.games.capabilities import move_format_of
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.models.base import Dialogue, Generate
from tests.agents.play import drive, saying, turn_at, turn_with

OPTIONS = ("red 7", "blue skip", "wild")


def decide(method: Any, *texts: str, turn: Turn | None = None) -> tuple[Decision, list[Any]]:
    decision, asked = drive(LLM(method), turn or turn_with(*OPTIONS), saying(*texts))
    return decision, list(asked)


def test_moves_with_commas_are_listed_a_line_each() -> None:
    _, (asked,) = decide(Direct(), "<x(0,2)>", turn=turn_with("x(0,2)", "x(1,0)"))
    assert "\nLegal moves:\n- x(0,2)\n- x(1,0)\nChoose one" in asked.prompt.text


def test_react_offers_the_games_intents_or_those_that_fit_any() -> None:
    turn = turn_at(TicTacToe(), TicTacToe().deal(np.random.default_rng(0)), 0)
    reply = "I hold nothing.\nAction: take the Centre\nMove: <C2R2>"
    decision, (asked,) = decide(React(), reply, turn=turn)
    assert "Actions:\n- block: " in asked.prompt.text
    assert all(f"\n- {name}: " in asked.prompt.text for name in ("win", "fork", "centre"))
    assert (decision.option, decision.notes["actions"]) == (4, ("centre",))
    decision, (asked,) = decide(React(), "Action: dance\nMove: <wild>")
    assert "Actions:\n- attack: " in asked.prompt.text
    assert (decision.option, decision.notes["actions"]) == (2, (None,))


@pytest.mark.parametrize("method", [Direct(), Cot(), React()])
def test_a_reply_without_a_legal_move_is_asked_again_with_the_legal_moves(method: Any) -> None:
    decision, asked = decide(method, "well", "<red 8>", "Move: <Wild>")
    assert decision.option == 2
    assert (decision.status, decision.fallback, decision.attempts) == ("ok", False, 3)
    assert decision.notes["answers"] == ("malformed", "illegal", 2)
    last = asked[-1].prompt
    assert isinstance(last, Dialogue)
    assert [reply for reply, _ in last.turns] == ["well", "<red 8>"]
    assert all("Legal moves: red 7, blue skip, wild\n" in told for _, told in last.turns)
    assert len({request.seed for request in asked}) == 3


def test_after_two_more_tries_a_random_move_is_taken_and_counted() -> None:
    decision, asked = decide(Direct(), "well", "<red 8>", "<red 9>")
    assert len(asked) == 3
    assert (decision.status, decision.fallback, decision.attempts) == ("illegal", True, 3)
    decision, asked = decide(Direct(retries=0), "well")
    assert (len(asked), decision.status) == (1, "malformed")


@dataclass(frozen=True)
class Careful:
    """A game with a default move for players who gave none."""

    def fallback(self, observation: Observation) -> int:
        return observation.options.index("blue skip")


def test_a_game_may_have_a_fallback_of_its_own() -> None:
    game: Any = Careful()
    turn = replace(turn_with(*OPTIONS), game=game)
    for method in (Direct(retries=0), Tot(retries=0)):
        decision, _ = decide(method, *["well"] * 12, turn=turn)
        assert (decision.option, decision.fallback, decision.status) == (1, True, "malformed")


@pytest.mark.parametrize(
    ("texts", "option"),
    [
        (("<wild>", "<red 7>", "<red 7>"), 0),
        (("<wild>", "<red 7>", "<blue skip>"), 2),
        (("well", "<blue skip>", "<red 7>"), 1),
        (("well", "<green 1>", "<red 7>"), 0),
    ],
)
def test_the_move_of_most_samples_counts_and_of_equals_the_first(
    texts: tuple[str, ...], option: int
) -> None:
    decision, (asked,) = decide(Cot(samples=3), *texts)
    assert (decision.option, decision.attempts, asked.n) == (option, 3, 3)


def test_samples_are_asked_for_again_only_where_none_of_them_is_legal() -> None:
    decision, asked = decide(Cot(samples=2), "a", "b", "<green 1>", "<wild>")
    assert [request.n for request in asked] == [2, 2]
    assert (decision.option, decision.attempts) == (2, 4)


def test_a_tree_of_thoughts_votes_on_plans_and_on_moves() -> None:
    plans = ("I save the wild.", "I skip.", "I play red.")
    votes = ("The best choice is 2", "The best choice is 3", "The best choice is 2")
    moves = ("<red 7>", "<blue skip>", "<blue skip>")
    decision, asked = decide(Tot(), *plans, *votes, *moves, *votes[:1], "?", "?")
    assert [request.n for request in asked] == [3, 3, 3, 3]
    assert [request.stop for request in asked] == [("Move:",), (), (), ()]
    plan, vote, move, second = (request.prompt for request in asked)
    assert plan.static == vote.static == move.static == second.static
    assert "1) I save the wild.\n2) I skip.\n3) I play red.\n" in vote.text
    assert move.text == plan.text.removesuffix("Thought:") + "Your plan:\nI skip.\nMove:"
    assert "1) <red 7>\n2) <blue skip>\n3) <blue skip>\n" in second.text
    assert decision.option == 1
    assert decision.attempts == 12
    heard = ("ok",) * 6 + (0, 1, 1) + ("ok", "malformed", "malformed")
    assert decision.notes == {"answers": heard, "plan": 1}


def test_without_a_vote_the_first_candidate_is_kept() -> None:
    decision, _ = decide(Tot(), *["plan"] * 3, *["?"] * 3, "<wild>", "<red 7>", "", *["?"] * 3)
    assert (decision.option, decision.notes["plan"]) == (2, 0)


def test_a_single_legal_continuation_is_taken_without_a_vote() -> None:
    decision, asked = decide(Tot(), *["plan"] * 3, *["?"] * 3, "well", "<red 8>", "<wild>")
    assert (decision.option, len(asked)) == (2, 3)


def test_all_is_drawn_at_the_temperature_and_by_the_decisions_luck() -> None:
    texts = ["<wild>"] * 12
    for seed in (1, 2):
        turn = turn_with(*OPTIONS)
        _, first = drive(LLM(Tot(max_tokens=99)), turn, saying(*texts), seed)
        _, again = drive(LLM(Tot(max_tokens=99)), turn, saying(*texts), seed)
        assert first == again
        asked = [request for request in first if isinstance(request, Generate)]
        assert {(one.max_tokens, one.temperature) for one in asked} == {(99, 0.2)}
        assert len({request.seed for request in asked}) == len(asked)


# Parsing of written answers.


CELLS = ("C1R1", "C2R1", "C3R3")
POKER = ("fold", "call", "raise half pot", "all in")
FORM = move_format_of(TicTacToe())


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Move: <C2R1>", 1),
        ("<C1R1> would lose, so <C3R3>", 2),
        ("C1R1, no, C2R1", 1),
        ("move: c3r3!", 2),
        ("Move: < C2 R1 >", 1),
        ("C2_R1", 1),
        ("I block at C2R1. Theirs is C2R2.", "illegal"),
        ("Move: <C2R2>", "illegal"),
        ("Move: <C4R1>", "malformed"),
        ("C1R12", "malformed"),
        ("row 1, column 2", "malformed"),
        ("", "malformed"),
    ],
)
def test_the_last_cell_of_a_board_counts(reply: str, answer: int | str) -> None:
    assert move_in(reply, CELLS, FORM) == answer


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Move: <RAISE_HALF_POT>", 2),
        ("Move: <raise half pot>", 2),
        ("<Fold>? No: <ALL IN>", 3),
        ("<AllIn>", 3),
        ("Move: <raise>", "illegal"),
        ("<fold> or <check>", "illegal"),
        ("Move: call", 1),
        ("Move:\ncall\nbecause it is cheap", 1),
        ("I fold.\n**Call.**", 1),
        ("call", 1),
        ("I would call here", "malformed"),
        ("", "malformed"),
    ],
)
def test_the_last_move_between_signs_counts_or_one_that_stands_alone(
    reply: str, answer: int | str
) -> None:
    assert move_in(reply, POKER) == answer


def test_of_equal_options_the_first_is_meant() -> None:
    assert move_in("<red 7>", ("wild", "red 7", "red 7")) == 1


def test_a_board_of_more_than_nine_columns_is_read() -> None:
    form = move_format_of(TicTacToe(2, 11, 4))
    assert move_in("C11R10 and C1R1", ("C1R1", "C11R10"), form) == 0
    assert move_in("C1R1 and C11R10", ("C1R1", "C11R10"), form) == 1


@pytest.mark.parametrize(
    ("reply", "vote"),
    [
        ("The best choice is 2", 1),
        ("Of 3 plans 1 is weak.\nThe best choice is 3.", 2),
        ("the BEST CHOICE IS **1**", 0),
        ("The best choice is 1. No: the best choice is 2", 1),
        ("The best choice is 4", None),
        ("The best choice is 0", None),
        ("2", None),
        ("The best choice is the second", None),
        ("", None),
    ],
)
def test_a_vote_is_the_last_number_behind_the_words(reply: str, vote: int | None) -> None:
    assert vote_in(reply, 3) == vote


@pytest.mark.parametrize(
    ("votes", "winner"),
    [((1, 2, 2), 2), ((2, 1, None), 1), ((None, None, None), 0), ((2,), 2), ((0, 1, 2), 0)],
)
def test_most_votes_are_kept_and_of_equals_the_first(
    votes: tuple[int | None, ...], winner: int
) -> None:
    assert elected(votes) == winner


@pytest.mark.parametrize(
    ("reply", "share"),
    [
        ("The winning rate is 60", 0.6),
        ("Of 9 cells 3 are mine.\nThe winning rate is 72.5%\n\n", 0.725),
        ("The winning rate is 40 out of 100.", 0.4),
        ("The advantage score for player 1 is 30", 0.3),
        ("100", 1.0),
        ("The winning rate is 0", 0.0),
        ("The winning rate is 101", None),
        ("The winning rate is -5", None),
        ("The winning rate is 50\nGood luck", None),
        ("", None),
    ],
)
def test_a_share_is_the_number_of_the_last_line(reply: str, share: float | None) -> None:
    assert share_in(reply) == share


@given(st.text(max_size=60))
def test_no_written_answer_at_all_is_an_error(text: str) -> None:
    for reply in (text, f"<{text}>", f"Move: {text}", f"best choice is {text}", f"is {text}"):
        assert move_in(reply, CELLS, FORM) in (0, 1, 2, "malformed", "illegal")
        assert move_in(reply, POKER) in (0, 1, 2, 3, "malformed", "illegal")
        assert vote_in(reply, 3) in (0, 1, 2, None)
        assert share_in(reply) is None or 0 <= share_in(reply) <= 1  # type: ignore[operator]
