"""GameBench's prompts: their text, parsing of replies, reminders, fallbacks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.agents.base import Decision, Turn
from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.gamebench import (
    NO_ACTION,
    NO_OPTION,
    UNSAID,
    Base,
    GamebenchCot,
    read,
)
from gauntlet.games.base import Observation, TextAction, TextSpec
from gauntlet.games.capabilities import full_rules
from tests.agents.hints import HINT, State
from tests.agents.hints import Hints as Plain
from tests.agents.play import drive, saying, turn_at, turn_with

OPTIONS = ("red 7", "blue skip", "wild")
GUESSES = tuple(TextAction(number, HINT) for number in range(5))


@dataclass(frozen=True)
class Hints(Plain):
    """The game with words, its rules under headings."""

    @property
    def rules_summary(self) -> str:
        return "One hints at a colour, the other guesses."

    @property
    def rules_headings(self) -> Mapping[str, str]:
        return {"Hinting": "A hint is one word.", "The end": "Both win by a right guess."}

    def observe(self, state: State, seat: int) -> Observation:
        return replace(super().observe(state, seat), rules=full_rules(self))

    def fallback(self, observation: Observation) -> int:
        return 0


HEADED = turn_at(Hints(), (0, ()), 0)
WANTED = (
    'one word, such as "tomato", "grass", "sky"; at most 10 characters; without red, green, blue\n'
)
ACTIONS = f"Actions:\n1) say nothing\n2) give a hint\nAction 2 wants words: {WANTED}"
FORM = (
    'Choose one. Reply with one JSON object: {"action": "number"}; with words '
    '{"action": "number", "openended_response": "your words"}\n'
)


def decide(
    *texts: str, turn: Turn = HEADED, method: Base | None = None, seed: int = 0
) -> tuple[Decision, list[Any]]:
    decision, asked = drive(LLM(method or Base()), turn, saying(*texts), seed)
    assert len(asked) == len(texts)
    return decision, list(asked)


def object_of(action: object, text: object = None) -> str:
    words = {} if text is None else {"openended_response": text}
    return json.dumps({"action": action, **words})


def test_a_game_without_headings_explains_none() -> None:
    decision, _ = decide(*[object_of("Explain(H1)")] * 3, turn=turn_with("a king", "snap"))
    assert decision.notes == {"answers": ("illegal",) * 3}


def test_actions_that_want_the_same_words_are_told_together() -> None:
    other = TextAction(9, TextSpec("a number", ("12",), r"\d+", 3))
    turn = replace(turn_with(*"abcdef"), options=(*GUESSES[:3], 4, GUESSES[4], other))
    _, (request,) = decide(object_of("4"), turn=turn)
    assert (
        f"6) f\nAction 1 to 3, 5 wants words: {WANTED}"
        'Action 6 wants words: a number, such as "12"; at most 3 characters\nChoose one.'
    ) in request.prompt.text


@pytest.mark.parametrize(
    ("reply", "option", "text"),
    [
        (object_of("1"), 0, ""),
        (object_of(1), 0, ""),
        (object_of(" Say Nothing "), 0, ""),
        (object_of("1", "tomato"), 0, ""),
        (object_of("2", " tomato "), 1, "tomato"),
        (object_of("give a hint", 42), 1, "42"),
        ("Well: " + object_of("2", "sky") + " and on {", 1, "sky"),
        ('{"thoughts": {"a": "}"}, "action": "1"}', 0, ""),
    ],
)
def test_a_reply_gives_an_action_and_its_words(reply: str, option: int, text: str) -> None:
    decision, _ = decide(reply)
    assert decision == Decision(option, attempts=1, notes={"answers": (option,)}, text=text)


@pytest.mark.parametrize(
    ("reply", "note", "message"),
    [
        ("1", "malformed", NO_ACTION + FORM),
        ("{'action': '1'}", "malformed", NO_ACTION + FORM),
        ('{"action": null}', "malformed", NO_ACTION + FORM),
        ('{"action": true}', "malformed", NO_ACTION + FORM),
        ('{"action": "1"', "malformed", NO_ACTION + FORM),
        (object_of("3"), "illegal", NO_OPTION + ACTIONS + FORM),
        (object_of("hint"), "illegal", NO_OPTION + ACTIONS + FORM),
        (object_of("Explain(H3)"), "illegal", "\nThere is no such heading; they are H1 to H2.\n"),
    ],
)
def test_what_is_wrong_is_told_back(reply: str, note: str, message: str) -> None:
    decision, asked = decide(reply, object_of("1"))
    assert (decision.option, decision.status, decision.attempts) == (0, "ok", 2)
    assert decision.notes == {"answers": (note, 0)}
    first, again = (request.prompt for request in asked)
    assert again.static == first.static
    ((said, answered),) = again.turns
    assert said == reply
    assert answered.startswith(message)
    assert answered.endswith(FORM)


@pytest.mark.parametrize(
    "wanted", ["Explain(H2)", "explain( h2 )", "Explain(2)", "Explain(The end)"]
)
def test_a_heading_is_explained_and_takes_an_attempt(wanted: str) -> None:
    decision, asked = decide(object_of(wanted), object_of("1"))
    assert decision.notes == {"answers": ("ok", 0), "explained": ("The end",)}
    ((_, told),) = asked[1].prompt.turns
    assert told == f"\nThe end: Both win by a right guess.\n{FORM}"
    decision, _ = decide(*[object_of(wanted)] * 3)
    assert (decision.option, decision.status, decision.fallback) == (0, "malformed", True)
    assert decision.notes == {"answers": ("ok",) * 3, "explained": ("The end",) * 3}


def test_words_that_will_not_do_are_told_back() -> None:
    replies = (object_of("2"), object_of("2", "two words"), object_of("2", "sky"))
    decision, asked = decide(*replies)
    assert (decision.option, decision.text, decision.attempts) == (1, "sky", 3)
    assert decision.notes == {
        "answers": ("malformed", "illegal", 1),
        "faults": (UNSAID, "is not one word"),
    }
    told = [answered.splitlines()[1] for _, answered in asked[2].prompt.turns]
    assert told == [
        "That action wants words, as openended_response.",
        f"'two words' is not one word. Wanted: {WANTED}".strip(),
    ]


@pytest.mark.parametrize(("last", "status"), [("red", "illegal"), (None, "malformed")])
def test_an_option_without_its_words_takes_an_example(last: str | None, status: str) -> None:
    replies = (object_of("2", "Red"), "?", object_of("2", last))
    found = [decide(*replies, seed=seed)[0] for seed in range(30)]
    assert {one.text for one in found} == set(HINT.examples)
    assert {(one.option, one.status, one.fallback, one.attempts) for one in found} == {
        (1, status, True, 3)
    }


def test_the_null_action_is_the_games_own_or_else_any() -> None:
    decision, _ = decide("?", "?", object_of("9"))
    assert (decision.option, decision.status, decision.fallback) == (0, "illegal", True)
    turn = replace(turn_with(*OPTIONS), options=(0, 1, TextAction(2, HINT)))
    found = [decide("?", method=Base(attempts=1), turn=turn, seed=seed)[0] for seed in range(300)]
    options = [one.option for one in found]
    assert all(70 < options.count(option) < 130 for option in range(3))
    assert {one.text for one in found if one.option == 2} == set(HINT.examples)
    assert {(one.status, one.attempts, bool(one.text)) for one in found if one.option < 2} == {
        ("malformed", 1, False)
    }


COT = GamebenchCot(thoughts=99)


def test_thoughts_take_no_attempt_and_may_be_missing() -> None:
    decision, asked = decide(" ", "?", "?", object_of("1"), method=COT)
    assert decision.notes == {"answers": ("malformed", "malformed", "malformed", 0)}
    assert (decision.status, decision.attempts) == ("ok", 4)
    assert len(asked[-1].prompt.turns) == 3


@given(st.text(max_size=60), st.sampled_from(["", '{"action": ', '{"action": "Explain(']))
def test_no_text_at_all_is_an_error(text: str, before: str) -> None:
    reading = read(before + text, HEADED, Hints().rules_headings)
    assert reading.is_final == (isinstance(reading.note, int) and not reading.fault)


def test_luck_seeds_the_replies() -> None:
    rng = np.random.default_rng(0)
    _, (request,) = decide(object_of("1"), method=Base(temperature=1.0))
    assert (request.temperature, request.seed) == (1.0, int(rng.integers(2**31)))
