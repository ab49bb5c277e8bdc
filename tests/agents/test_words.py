"""Free text with an open option: prompting, validation, retries, and synthetic fallback text."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest

from gauntlet.agents.base import Decision, Goal
from gauntlet.agents.human import ATTEMPTS as PATIENCE
from gauntlet.agents.human import Human
from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.base import Asking, Method, Unusable, format_facts, role
from gauntlet.agents.prompting.cloze import Cloze
from gauntlet.agents.prompting.priors import sampled_turns
from gauntlet.agents.prompting.vanilla import Vanilla
from gauntlet.agents.prompting.words import ATTEMPTS, MALFORMED, words_of
from gauntlet.games.base import Fact, Observation
from gauntlet.models.base import Dialogue, Generate, Generation, Reply, Request, Score
from tests.agents.hints import HINT, Hints
from tests.agents.play import Answer, drive, table, turn_at

TELLER = turn_at(Hints(), (0, ()), 0)
FORCED = turn_at(Hints(forced=True), (0, ()), 0)


def writing(*replies: str) -> Answer:
    """Takes the second option of two, and writes these replies in turn."""
    said: Iterator[str] = iter(replies)

    def answer(request: Request) -> Reply:
        if isinstance(request, Score):
            count = len(request.choices)
            return table(
                [
                    [float((place + row) % count == 1) for place in range(count)]
                    for row in range(len(request.prompts))
                ]
            )(request)
        return Generation(next(said), 0, 0)

    return answer


def saying(text: str) -> str:
    return json.dumps({"text": text})


def test_the_words_are_asked_for_once_the_option_is_chosen() -> None:
    decision, asked = drive(LLM(Cloze()), TELLER, writing(saying("tomato")))
    assert (decision.option, decision.text) == (1, "tomato")
    assert (decision.status, decision.fallback, decision.attempts) == ("ok", False, 2)
    assert len(decision.scores) == 2
    assert isinstance(asked[0], Score)
    assert isinstance(asked[1], Generate)
    assert asked[1].json
    assert asked[1].max_tokens > HINT.max_chars
    assert asked[1].prompt.static == asked[0].prompts[0].static
    assert asked[1].prompt.changing == (
        "Colours:\nred\ngreen\nblue\nThe colour: red\nRecent moves: none yet\n"
        "Your choice: give a hint\nIt wants words: one word\nThey have at most 10 characters.\n"
        "None of these stands among them: red, green, blue\n"
        'What do you say? Reply with one JSON object: {"text": "your words"}\n'
    )


def test_a_method_that_converses_is_followed_by_the_same_question() -> None:
    reply = '{"thoughts": "-", "action": "2"}'
    decision, asked = drive(LLM(Vanilla()), TELLER, writing(reply, saying("tomato")))
    assert (decision.option, decision.text, decision.attempts) == (1, "tomato", 2)
    assert decision.notes == {"answers": (1,)}
    assert len(asked) == 2


def test_where_there_is_nothing_to_choose_only_the_words_are_asked_for() -> None:
    decision, asked = drive(LLM(Cloze()), FORCED, writing(saying("tomato")))
    assert decision == Decision(0, attempts=1, text="tomato")
    assert [type(request) for request in asked] == [Generate]


def test_words_that_will_not_do_are_told_back_with_their_fault() -> None:
    replies = (saying("two words"), saying("Red"), saying("tomato"))
    decision, asked = drive(LLM(Cloze()), FORCED, writing(*replies))
    assert (decision.text, decision.fallback, decision.attempts) == ("tomato", False, 3)
    assert decision.notes == {"faults": ("is not one word", "holds 'red', which it must not")}
    last = asked[-1]
    assert isinstance(last, Generate)
    assert isinstance(last.prompt, Dialogue)
    assert tuple(reply for reply, _ in last.prompt.turns) == replies[:2]
    assert [told.splitlines()[1] for _, told in last.prompt.turns] == [
        "That is not one word. Wanted: one word",
        "That holds 'red', which it must not. Wanted: one word",
    ]


@pytest.mark.parametrize(("reply", "status"), [("tomato", "malformed"), (saying("red"), "illegal")])
def test_after_the_last_attempt_an_example_takes_their_place(reply: str, status: str) -> None:
    decision, asked = drive(LLM(Cloze()), FORCED, writing(*[reply] * ATTEMPTS))
    assert (decision.status, decision.fallback, decision.attempts) == (status, True, ATTEMPTS)
    assert decision.text in HINT.examples
    assert len(asked) == ATTEMPTS
    drawn = {drive(LLM(Cloze()), FORCED, writing(*[reply] * 3), seed)[0].text for seed in range(40)}
    assert drawn == set(HINT.examples)


def test_a_fallback_to_an_open_option_still_asks_for_words() -> None:
    """The record's status stays that of the first error."""

    class Mute:
        def labels(self) -> tuple[str, ...]:
            return ()

        def ask(self, turn: object, rng: np.random.Generator) -> Asking:
            return Unusable("illegal", 1, {"why": "mute"})
            yield

    method: Method = Mute()
    found = [drive(LLM(method), TELLER, writing(saying("sky")), seed)[0] for seed in range(20)]
    spoken = [decision for decision in found if decision.option == 1]
    assert spoken
    assert len(spoken) < len(found)
    for decision in spoken:
        assert (decision.text, decision.status, decision.fallback) == ("sky", "illegal", True)
        assert (decision.attempts, decision.notes) == (2, {"why": "mute"})
    silent = drive(LLM(method), TELLER, writing(*["-"] * 3), seed=found.index(spoken[0]))[0]
    assert (silent.status, silent.attempts, silent.text in HINT.examples) == ("illegal", 4, True)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ('{"text": "a {brace} in it"}', "a {brace} in it"),
        ('Well: {"text": " spaced "} and on', "spaced"),
        ('{"text": "line\nbreak"}', "line\nbreak"),
        ('{"text": "\\ud83d\\ude00"}', "\U0001f600"),
        ('{"text": "half \\ud83d"}', "half ?"),
        ('{"text": 3}', None),
        ('{"words": "sky"}', None),
        ('"sky"', None),
        ("sky", None),
        ("", None),
        ("{" * 50, None),
    ],
)
def test_the_first_object_of_a_reply_counts(reply: str, text: str | None) -> None:
    assert words_of(reply) == text


def test_a_reply_without_an_object_is_told_so() -> None:
    decision, _ = drive(LLM(Cloze()), FORCED, writing("sky", saying("sky")))
    assert decision.notes == {"faults": (MALFORMED,)}


def test_a_person_types_the_words_and_is_told_what_is_wrong_with_them() -> None:
    decision, asked = drive(Human(), TELLER, writing("red", " tomato "))
    assert (decision.option, decision.text) == (1, "tomato")
    assert (decision.fallback, decision.attempts) == (False, 3)
    first, again = (request.prompt for request in asked if isinstance(request, Generate))
    assert first.changing.startswith(asked[0].prompts[0].changing)  # type: ignore[union-attr]
    assert first.changing.endswith(
        "Your choice: give a hint\nIt wants words: one word\nThey have at most 10 characters.\n"
        "None of these stands among them: red, green, blue\n"
    )
    assert again.changing == first.changing + "'red' holds 'red', which it must not\n"


def test_a_person_without_words_is_not_asked_for_ever() -> None:
    decision, asked = drive(Human(), FORCED, writing(*[""] * PATIENCE))
    assert (decision.status, decision.fallback, len(asked)) == ("illegal", True, PATIENCE)
    assert decision.text in HINT.examples


def test_random_play_for_preparation_says_examples() -> None:
    turns = list(sampled_turns(Hints(), 1, Goal(), 60))
    hinted = {turn.observation.history[0] for turn in turns}
    assert hinted == {"player 0 said nothing", *(f"player 0 hinted {w}" for w in HINT.examples)}


def observation(role: str = "", team: tuple[int, ...] = ()) -> Observation:
    return Observation("Snap", 1, "Be quick.", (), (), (), role=role, team=team)


def test_role_and_team_stand_in_the_first_lines() -> None:
    first = "You are player 1 in a game of Snap.\n"
    assert role(observation()) == role(observation(team=(1,))) == first
    assert (
        role(observation("the spymaster"))
        == "You are player 1, the spymaster, in a game of Snap.\n"
    )
    assert role(observation(team=(1, 3))) == f"{first}Your team: you and player 3.\n"
    assert (
        role(observation(team=(0, 1, 3))) == f"{first}Your team: you and player 0 and player 3.\n"
    )


def test_a_fact_of_several_lines_stands_below_its_name() -> None:
    facts = (Fact("Heap", "3"), Fact("Board", "x o\n. x"))
    assert format_facts(facts) == "Heap: 3\nBoard:\nx o\n. x\n"
