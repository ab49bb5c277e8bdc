"""Replies that are no answer, for all methods: asked for again, never silently a random move."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.base import Method
from gauntlet.agents.prompting.cloze import Cloze
from gauntlet.agents.prompting.cot import Cot
from gauntlet.agents.prompting.counterfactual import Counterfactual
from gauntlet.agents.prompting.direct import Direct
from gauntlet.agents.prompting.gamebench import Base, GamebenchCot
from gauntlet.agents.prompting.letter import Letter
from gauntlet.agents.prompting.react import React
from gauntlet.agents.prompting.tutri import Tutri
from gauntlet.agents.prompting.vanilla import Vanilla
from gauntlet.games.base import TextAction, TextSpec
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.uno import Uno
from gauntlet.models.base import (
    Detail,
    Finish,
    Generate,
    Generation,
    Reply,
    Request,
    Score,
    Scores,
)
from gauntlet.models.fake import reply_in_form
from tests.agents.play import drive, turn_with

METHODS: tuple[Method, ...] = (
    *(Vanilla(), Direct(), Cot(), React(), Base(), GamebenchCot(), Letter(), Tutri()),
)
TURN = turn_with("draw", "draw two", "red 3")


class Model:
    """Gives the replies that `bad` makes of requests, else an answer in the form asked for."""

    def __init__(self, bad: Callable[[Generate, int], Generation | None]) -> None:
        self.bad, self.asked = bad, list[Generate]()

    def __call__(self, request: Request) -> Reply:
        assert isinstance(request, Generate)
        self.asked.append(request)
        reply = self.bad(request, len(self.asked))
        return reply or Generation(reply_in_form(request.prompt.text, 0.5), 1, 1)


def ended(finish: Finish, text: str = "", thoughts: str = "") -> Generation:
    return Generation(text, 1, 1, details=(Detail(finish, thoughts),))


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("text", ["", "hm, let me see"])
def test_a_cut_reply_is_asked_for_again_with_more_room(method: Method, text: str) -> None:
    """Once cut, then whole: the decision is the model's own, and says what was replaced."""
    model = Model(lambda request, number: ended("length", text) if number == 1 else None)
    decision, _ = drive(LLM(method), TURN, model)
    first = model.asked[0]
    assert (decision.status, decision.fallback) == ("ok", False)
    assert decision.notes["again"] == (0,)
    again = [one for one in model.asked if one.prompt == first.prompt]
    assert [one.max_tokens for one in again] == [first.max_tokens, 2 * first.max_tokens]
    plain, _ = drive(LLM(method), TURN, whole := Model(lambda request, number: None))
    assert (decision.option, decision.attempts) == (plain.option, plain.attempts + 1)
    assert len(model.asked) == len(whole.asked) + 1, "nothing else is asked twice"


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("finish", ["length", "refused", "filtered", "paused", "context", "failed"])
def test_what_stays_bad_is_a_fallback_by_that_name(method: Method, finish: Finish) -> None:
    model = Model(lambda request, number: ended(finish))
    decision, asked = drive(LLM(method, times=2), TURN, model)
    assert decision.fallback
    assert decision.status == ("truncated" if finish == "length" else finish)
    before, once = Model(lambda request, number: ended(finish)), LLM(method, "fallback")
    assert drive(once, TURN, before)[0].status == decision.status
    if finish == "context":
        assert len(asked) == len(before.asked), "more room does not help there"
    else:
        assert len(asked) > len(before.asked)


@pytest.mark.parametrize("method", [Cloze(), Counterfactual()], ids=["cloze", "counterfactual"])
def test_scores_that_are_withheld_are_a_fallback_by_that_name(method: Method) -> None:
    def withhold(request: Request) -> Reply:
        assert isinstance(request, Score)
        row, rows = (-math.inf,) * len(request.choices), len(request.prompts)
        return Scores((row,) * rows, (0,) * rows, (0.0,) * rows, "filtered")

    decision, asked = drive(LLM(method), TURN, withhold)
    assert (decision.fallback, decision.status, len(asked)) == (True, "filtered", 1)


def test_a_cut_reply_that_holds_an_answer_is_used() -> None:
    """Models that ramble on after their answer are not asked again."""
    model = Model(lambda request, number: ended("length", '{"action": "2"} and so on and'))
    decision, asked = drive(LLM(Vanilla()), TURN, model)
    assert (decision.option, decision.status, len(asked)) == (1, "ok", 1)


def test_a_wrong_answer_is_not_asked_for_again() -> None:
    """The model had its say; only methods that retry ask on."""
    model = Model(lambda request, number: ended("stop", "I pass"))
    decision, asked = drive(LLM(Vanilla()), TURN, model)
    assert (decision.status, decision.fallback, len(asked)) == ("malformed", True, 1)


def test_a_refusal_is_asked_for_with_another_seed() -> None:
    model = Model(lambda request, number: ended("refused") if number == 1 else None)
    drive(LLM(Cot()), TURN, model)
    first, second = model.asked
    assert second.seed != first.seed
    assert second.max_tokens == first.max_tokens


def test_room_counts_what_was_spent_on_thoughts() -> None:
    """900 tokens of thoughts above a limit of 200: another 1,100, not another 200."""
    cut = Generation("", 1, 1100, details=(Detail("length", "hm"),), thought_tokens=1100)
    model = Model(lambda request, number: cut if number == 1 else None)
    drive(LLM(Vanilla(max_tokens=200)), TURN, model)
    assert [one.max_tokens for one in model.asked] == [200, 1300]


def test_a_cut_text_of_a_move_is_asked_for_again() -> None:
    clue = TextAction(0, TextSpec("a clue", examples=("tree",), max_chars=20))
    turn = replace(turn_with("clue"), options=(clue,))
    model = Model(lambda request, number: ended("length", '{"text": "tr') if number == 1 else None)
    decision, _ = drive(LLM(Vanilla()), turn, model)
    assert (decision.status, decision.fallback) == ("ok", False)
    assert decision.text


def test_a_seat_may_give_up_instead() -> None:
    agent = LLM(Vanilla(), "forfeit")
    assert drive(agent, TURN, Model(lambda request, number: ended("refused")))[0].forfeit
    malformed = drive(agent, TURN, Model(lambda request, number: ended("stop", "?")))[0]
    assert (malformed.forfeit, malformed.fallback) == (False, True)
    agent.check(TicTacToe())
    with pytest.raises(ValueError, match="two seats"):
        agent.check(Uno(num_seats=4))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"on_bad_reply": "cry"}, "allowed are ask_again, fallback, forfeit"),
        ({"times": 0}, "1 or more"),
        ({"more_room": 1.0}, "above 1"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LLM(Vanilla(), **settings)
