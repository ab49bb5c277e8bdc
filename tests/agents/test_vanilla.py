"""Vanilla prompting: the prompt, parsing of replies, and handling of bad ones."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.agents.base import Decision, Goal
from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.answers import parse_option
from gauntlet.agents.prompting.vanilla import Vanilla
from gauntlet.models.base import Generate
from tests.agents.play import drive, saying, turn_with

OPTIONS = ("red 7", "blue skip", "wild")


def decide(text: str, method: Vanilla | None = None) -> Decision:
    decision, (_,) = drive(LLM(method or Vanilla()), turn_with(*OPTIONS), saying(text))
    return decision


@pytest.mark.parametrize(
    ("reply", "option"),
    [
        ('{"thoughts": "Blue is weak.", "action": "2"}', 1),
        ('{"thoughts": "Blue is weak.", "action": 2}', 1),
        ('{"action": " 3 "}', 2),
        ('{"action": "blue skip"}', 1),
        ('{"action": "Blue Skip"}', 1),
        ('Surely!\n```json\n{"thoughts": "x",\n "action": "1"}\n```\nGood luck', 0),
        ('{"thoughts": "two\nlines", "action": "1"}', 0),
        ('} {"action": "1"} {"action": "2"}', 0),
    ],
)
def test_a_reply_names_an_option_by_number_or_name(reply: str, option: int) -> None:
    assert parse_option(reply, OPTIONS) == option


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "2",
        '{"thoughts": "no end',
        '{"thoughts": "no action"}',
        "{'action': '2'}",
        '{"action": {"number": 2}}',
        '{"action": true}',
        '{"action": null}',
        '{"action": 2.0}',
        '{"action": [2]}',
        '{"action": "2",}',
        '{"action": ' + "9" * 5000 + "}",
        '{"action": ' + "[" * 100_000 + "}",
        '{"thoughts": "a } in words", "action": "2"}',
    ],
)
def test_a_reply_without_a_readable_action_is_malformed(reply: str) -> None:
    assert parse_option(reply, OPTIONS) == "malformed"


@pytest.mark.parametrize("action", ["0", "4", "-1", "01", "red 8", "", "red"])
def test_an_action_that_is_no_option_is_illegal(action: str) -> None:
    assert parse_option(json.dumps({"action": action}), OPTIONS) == "illegal"


def test_of_equal_options_the_first_is_meant_and_a_number_stays_a_number() -> None:
    assert parse_option('{"action": "red 7"}', ("wild", "red 7", "red 7")) == 1
    assert parse_option('{"action": "2"}', ("2", "1")) == 1


@given(st.text(max_size=80))
def test_no_text_at_all_is_an_error(text: str) -> None:
    for reply in (text, "{" + text + "}", '{"action": ' + text + "}"):
        answer = parse_option(reply, OPTIONS)
        assert answer in ("malformed", "illegal", *range(len(OPTIONS)))


def test_a_good_answer_is_the_decision() -> None:
    decision = decide('{"thoughts": "I keep the wild.", "action": "1"}')
    assert decision == Decision(0, attempts=1, notes={"answers": (0,)})


@pytest.mark.parametrize(
    ("reply", "status"), [("What a game!", "malformed"), ('{"action": "9"}', "illegal")]
)
def test_a_bad_answer_is_not_asked_again_but_falls_back(reply: str, status: str) -> None:
    decision = decide(reply)
    assert (decision.status, decision.fallback, decision.attempts) == (status, True, 1)
    assert decision.notes == {"answers": (status,)}


def test_the_prompt_in_full() -> None:
    """A model is trained on this wording: whoever changes it has to train anew."""
    turn = turn_with("a king", "snap", goal=Goal(helps=0))
    _, (request,) = drive(LLM(Vanilla(moves=2, max_tokens=99)), turn, saying(""))
    assert isinstance(request, Generate)
    assert (request.max_tokens, request.temperature, request.stop) == (99, 0.0, ())
    assert request.prompt.text == (
        "You are player 1 in a game of Snap.\n"
        "Pile: a red queen\n"
        "Last moves:\n"
        "6. move 6\n"
        "7. move 7\n"
        "Hand: two kings\n"
        "Options:\n"
        "1) a king\n"
        "2) snap\n"
        "\n"
        "Rules: Be quick.\n"
        "Goal: help player 0 win; your own result does not count.\n"
        "\n"
        'Which option is best? Reply with one JSON object: {"thoughts": "one or two short '
        'sentences", "action": "the number of your option"}\n'
        "Answer:"
    )


@pytest.mark.parametrize(
    ("played", "limit", "text"),
    [(0, 20, "Last moves: unknown, none has been made\n"), (7, 0, "")],
)
def test_moves_that_cannot_or_should_not_be_told(played: int, limit: int, text: str) -> None:
    turn = turn_with("a king", "snap", moves=played)
    _, (request,) = drive(LLM(Vanilla(moves=limit)), turn, saying(""))
    assert f"Pile: a red queen\n{text}Hand: two kings\n" in request.prompt.text
