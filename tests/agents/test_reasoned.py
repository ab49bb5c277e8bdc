"""Reasoning methods: order of their prompts, parsing of replies, retries and fallbacks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from gauntlet.agents.base import Decision, Goal, Turn
from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.cot import Cot
from gauntlet.agents.prompting.direct import Direct
from gauntlet.agents.prompting.react import React
from gauntlet.agents.prompting.tot import Tot
from gauntlet.games.base import Observation
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.models.base import Dialogue, Generate, Generation, Reply, Request
from tests.agents.play import Answer, drive, turn_at, turn_with

OPTIONS = ("red 7", "blue skip", "wild")


def saying(*texts: str) -> Answer:
    """Replies with these texts, as many per request as samples requested."""
    left: Iterator[str] = iter(texts)

    def answer(request: Request) -> Reply:
        assert isinstance(request, Generate)
        said = [next(left) for _ in range(request.n)]
        return Generation(said[0], 1, 1, tuple(said[1:]))

    return answer


def decide(method: Any, *texts: str, turn: Turn | None = None) -> tuple[Decision, list[Any]]:
    decision, asked = drive(LLM(method), turn or turn_with(*OPTIONS), saying(*texts))
    return decision, list(asked)


HEAD = (
    "You do exactly what the user asks for, in the form that the user asks for.\n"
    "Rules: Be quick.\n"
    "A move is written as in the list of legal moves, between < and >.\n"
    "You are player 1 in a game of Snap.\n"
    "Goal: help player 0 win; your own result does not count.\n"
    "The user makes the moves of all other players.\n"
    "Pile: a red queen\n"
    "Hand: two kings\n"
)
STATE = HEAD + "Recent moves: move 6; move 7\nLegal moves: a king, snap\n"


def text_of(method: Any, **changed: Any) -> str:
    turn = replace(turn_with("a king", "snap", goal=Goal(helps=0)), **changed)
    _, asked = decide(method, *["<snap>"] * 12, turn=turn)
    return str(asked[0].prompt.text)


def test_direct_prompting_reads_so() -> None:
    """A model is trained on this wording: changing it requires retraining."""
    assert text_of(Direct(moves=2)) == STATE + (
        "Choose one of the legal moves, the best for your goal.\n"
        "Answer in this form:\n"
        "Move: <one of the legal moves>\n"
        "Move:"
    )


def test_a_chain_of_thought_is_asked_for_so() -> None:
    assert text_of(Cot(moves=2)) == STATE + (
        "First think about your situation, then choose one of the legal moves, the best for your "
        "goal.\n"
        "Answer in this form:\n"
        "Thought: your thoughts\n"
        "Move: <one of the legal moves>\n"
        "Thought:"
    )


def test_moves_with_commas_are_listed_a_line_each() -> None:
    _, (asked,) = decide(Direct(), "<x(0,2)>", turn=turn_with("x(0,2)", "x(1,0)"))
    assert "\nLegal moves:\n- x(0,2)\n- x(1,0)\nChoose one" in asked.prompt.text


def test_the_first_to_move_is_told_so() -> None:
    seen = replace(turn_with("a king", "snap", moves=0).observation)
    assert text_of(Direct(), observe=lambda: seen).count("Nobody has made a move yet.\n") == 1


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


@pytest.mark.parametrize(
    ("method", "settings", "words"),
    [
        (Direct, {"moves": -1}, "moves is -1"),
        (Direct, {"max_tokens": 0}, "max_tokens is 0; a reply needs 1"),
        (Direct, {"temperature": -0.1}, "temperature is -0.1"),
        (Direct, {"retries": -1}, "retries is -1"),
        (Cot, {"samples": 0}, "samples is 0"),
        (Cot, {"samples": 3, "temperature": 0.0}, "samples is 3 at temperature 0"),
        (Tot, {"votes": 0}, "votes is 0"),
    ],
)
def test_settings_that_cannot_be(method: Any, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        method(**settings)
