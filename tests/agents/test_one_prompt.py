"""Methods of one prompt a decision: cloze, counterfactual, one letter, vanilla."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.agents.base import Decision, Goal, Turn
from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.answers import parse_option
from gauntlet.agents.prompting.base import Unusable
from gauntlet.agents.prompting.cloze import Cloze
from gauntlet.agents.prompting.counterfactual import Counterfactual
from gauntlet.agents.prompting.letter import Letter
from gauntlet.agents.prompting.vanilla import Vanilla
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.models.base import Generate, Generation, Request, Score
from tests.agents.play import Answer, drive, saying, silent, table, turn_with, uniform

NAMES = tuple(f"card {number}" for number in range(60))


def ask_cloze(*options: str, answer: Answer = uniform, **more: Any) -> tuple[Decision, Score]:
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
    decision, request = ask_cloze("green 2", "green 9", "red skip", answer=table(printed))
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
    decision, _ = ask_cloze(*NAMES[:count], answer=table([row] * count))
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

    decision, _ = ask_cloze(*NAMES[:count], answer=answer)
    assert NAMES[decision.option] == liked


def test_equal_sums_go_to_the_option_listed_first() -> None:
    decision, _ = ask_cloze(
        "a", "b", "c", answer=table([[0.1, 0.2, 0.3], [0.3, 0.1, 0.1], [0, 0, 0]])
    )
    assert decision.scores == pytest.approx((0.2, 0.5, 0.4))
    decision, _ = ask_cloze("a", "b", "c", answer=table([[0.1, 0.5, 0.5], [0, 0, 0], [0, 0, 0]]))
    assert decision.option == 1
    decision, _ = ask_cloze("a", "b", answer=table([[0, 0], [0, 1e-12]]))
    assert (decision.option, decision.status) == (0, "ok"), "one possible letter is enough"


def test_more_options_than_letters_are_each_shown_equally_often() -> None:
    _, request = ask_cloze(*NAMES[:30])
    lists = listed(request)
    assert len(lists) == 30
    assert {len(options) for options in lists} == {26}
    assert {sum(name in options for options in lists) for name in NAMES[:30]} == {26}
    assert {options[0] for options in lists} == set(NAMES[:30])


def test_impossible_letters_are_malformed_and_fall_back() -> None:
    decision, _ = ask_cloze("a", "b", answer=silent)
    assert (decision.status, decision.fallback, decision.attempts) == ("malformed", True, 1)


@pytest.mark.parametrize(
    ("moves", "made", "text"),
    [
        (0, 7, "Options"),
        (1, 7, "Recent moves: move 7\n"),
        (9, 7, "Recent moves: move 1; move 2; move 3; "),
        (5, 0, "Recent moves: none yet\n"),
    ],
)
def test_a_prompt_tells_the_number_of_recent_moves_that_is_set(
    moves: int, made: int, text: str
) -> None:
    _, (request,) = drive(LLM(Cloze(moves)), turn_with("a", "b", moves=made), uniform)
    assert isinstance(request, Score)
    assert f"Hand: two kings\n{text}" in request.prompts[0].changing


# Counterfactual: one verdict per option.


def ask_verdicts(*options: str, answer: Answer = uniform, **more: Any) -> tuple[Decision, Score]:
    """Return the decision of a counterfactual player and its only request."""
    decision, (request,) = drive(LLM(Counterfactual()), turn_with(*options, **more), answer)
    assert isinstance(request, Score)
    return decision, request


def test_the_option_whose_good_exceeds_its_bad_most_is_chosen() -> None:
    verdicts = [[0.50, 0.45], [0.30, 0.10], [0.60, 0.55]]
    decision, _ = ask_verdicts("a", "b", "c", answer=table(verdicts))
    assert decision.scores == pytest.approx((0.05, 0.2, 0.05))
    assert decision == Decision(1, attempts=1, scores=decision.scores)


def test_an_impossible_verdict_counts_as_0() -> None:
    decision, _ = ask_verdicts("a", "b", answer=table([[0.1, 0.0], [0.0, 0.0]]))
    assert decision.scores == (pytest.approx(0.1), 0.0)
    assert decision.status == "ok"


# One written letter.


def prompt_and_outcome(text: str, seed: int) -> tuple[str, Decision | Unusable]:
    """Return the prompt at the first move of Tic-Tac-Toe, and the result of the reply."""
    game = TicTacToe()
    state = game.deal(np.random.default_rng(0))
    turn = Turn(game, game.legal(state, 0), Goal(), lambda: game.observe(state, 0))
    asking = Letter().ask(turn, np.random.default_rng(seed))
    request = next(asking)
    assert isinstance(request, Generate)
    with pytest.raises(StopIteration) as ended:
        asking.send(Generation(text, 0, 0))
    return request.prompt.text, ended.value.value


@pytest.mark.parametrize("seed", range(6))
def test_a_letter_means_the_option_that_stands_under_it(seed: int) -> None:
    names = TicTacToe().observe(TicTacToe().deal(np.random.default_rng(0)), 0).options
    for place, letter in enumerate("ABCDEFGHI"):
        prompt, decision = prompt_and_outcome(letter, seed)
        assert isinstance(decision, Decision)
        assert f"\n{letter}) {names[decision.option]}\n" in prompt
        assert prompt.index("\nA) ") < prompt.index(f"\n{letter}) ") or place == 0


def test_the_order_is_turned_by_luck() -> None:
    first = {prompt_and_outcome("A", seed)[1].option for seed in range(30)}  # type: ignore[union-attr]
    assert len(first) > 5


@pytest.mark.parametrize("text", [" B", "B)", "(B) of course", "**B**", "B."])
def test_a_letter_is_found_at_the_start(text: str) -> None:
    assert prompt_and_outcome(text, 1) == prompt_and_outcome("B", 1)


@pytest.mark.parametrize("text", ["", "b", "Because", "none", "the first"])
def test_anything_else_is_malformed(text: str) -> None:
    assert prompt_and_outcome(text, 1)[1] == Unusable("malformed", 1)


def test_a_letter_without_an_option_is_illegal() -> None:
    assert prompt_and_outcome("Z", 1)[1] == Unusable("illegal", 1)


# Vanilla: one JSON object.


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


@pytest.mark.parametrize(
    ("played", "limit", "text"),
    [(0, 20, "Last moves: unknown, none has been made\n"), (7, 0, "")],
)
def test_moves_that_cannot_or_should_not_be_told(played: int, limit: int, text: str) -> None:
    turn = turn_with("a king", "snap", moves=played)
    _, (request,) = drive(LLM(Vanilla(moves=limit)), turn, saying(""))
    assert f"Pile: a red queen\n{text}Hand: two kings\n" in request.prompt.text
