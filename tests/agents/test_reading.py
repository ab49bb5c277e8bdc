"""Parsing of written answers: moves, votes, shares."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.agents.prompting.reading import move_in, share_in, vote_in
from gauntlet.agents.prompting.tot import elected
from gauntlet.games.capabilities import move_format_of
from gauntlet.games.tic_tac_toe import TicTacToe

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
def test_no_text_at_all_is_an_error(text: str) -> None:
    for reply in (text, f"<{text}>", f"Move: {text}", f"best choice is {text}", f"is {text}"):
        assert move_in(reply, CELLS, FORM) in (0, 1, 2, "malformed", "illegal")
        assert move_in(reply, POKER) in (0, 1, 2, 3, "malformed", "illegal")
        assert vote_in(reply, 3) in (0, 1, 2, None)
        assert share_in(reply) is None or 0 <= share_in(reply) <= 1  # type: ignore[operator]
