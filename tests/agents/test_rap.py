"""Reasoning via planning: the prompts, the use of the answers, the choice."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.agents.base import Decision, Goal, Turn
from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.cloze import LETTERS
from gauntlet.agents.prompting.rap import Questions, Rap, actions_in, between, grouped, shares
from gauntlet.games.base import TextAction
from gauntlet.models.base import Generate, Generation, Prompt, Reply, Request, Scores
from tests.agents.hints import HINT, Hints
from tests.agents.play import drive, silent, talk, turn_at, turn_with

TURN = turn_with("a king", "snap")
SITUATION = (
    "Pile: a red queen\nHand: two kings\n"
    "Recent moves: move 1; move 2; move 3; move 4; move 5; move 6; move 7"
)
TELLER = turn_at(Hints(), (0, ()), 0)


@dataclass
class Oracle:
    """A model with an answer to everything: `taken`, `good` and `wins` map text in the prompt to
    probabilities, 0 if absent; `foretold` gives its text, by tag."""

    taken: Mapping[str, float] = field(default_factory=dict)
    good: Mapping[str, float] = field(default_factory=dict)
    wins: Mapping[str, float] = field(default_factory=dict)
    foretold: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def __call__(self, request: Request) -> Reply:
        if isinstance(request, Generate):
            self.asked.append(f"write {request.stop[0]}")
            return Generation(self._written(request), 1, 1)
        rows = [self._row(prompt.changing, request.choices) for prompt in request.prompts]
        self.asked.append("score " + "".join(request.choices)[:5])
        return Scores(tuple(rows), (0,) * len(rows))

    def _row(self, prompt: str, choices: tuple[str, ...]) -> tuple[float, ...]:
        if "Choose one" in prompt:
            named = dict(line.split(") ", 1) for line in prompt.splitlines() if line[1:3] == ") ")
            return tuple(_log(self.taken.get(named.get(letter, ""), 0.0)) for letter in choices)
        if "good action" in prompt:
            action = prompt.partition("Your action: ")[2].partition("\n")[0]
            chance = self.good.get(action, 0.5)
        else:
            chance = self.wins.get(prompt.partition("<state>\n")[2].partition("\n")[0], 0.5)
        return (_log(chance), _log(1 - chance))

    def _written(self, request: Generate) -> str:
        tag = request.stop[0].strip("</>")
        return self.foretold.get(tag, lambda told: "no idea")(request.prompt.changing)


def _log(chance: float) -> float:
    return math.log(chance) if chance else -math.inf


def after(prompt: str) -> str:
    """Predicts that the observation is named after the action and those of the others."""
    action, others = (
        prompt.partition(f"{above}: ")[2].partition("\n")[0]
        for above in ("Your action", "What the other players do")
    )
    return f"Sure: <state>after {action}, {others}"


def decide(
    oracle: Callable[[Request], Reply], turn: Turn = TURN, **settings: Any
) -> tuple[Decision, list[Any]]:
    decision, asked = drive(LLM(Rap(**settings)), turn, oracle)
    return decision, list(asked)


TELLING = {
    "others": lambda told: "<others>they wait</others> and so on",
    "state": after,
    "actions": lambda told: "<actions>\n1. pass\n2. snap again\n",
}


def in_rounds(turn: Turn, answer: Callable[[Request], Reply]) -> tuple[Any, list[int]]:
    """Return the decision of one run, and the number of requests in each batch."""
    thinking, sizes = Rap(iterations=1).ask(turn, np.random.default_rng(0)), list[int]()

    def counted() -> Any:
        question = next(thinking)
        try:
            while True:
                sizes.append(len(question) if isinstance(question, tuple) else 1)
                question = thinking.send((yield question))
        except StopIteration as stop:
            return stop.value

    decision, _ = talk(counted(), answer)
    return decision, sizes


def test_one_run_asks_in_rounds() -> None:
    oracle = Oracle(taken={"a king": 0.5}, foretold=TELLING)
    _, sizes = in_rounds(TURN, oracle)
    assert sizes == [2, 1, 1, 2, 2, 1, 1, 1]
    assert oracle.asked == [
        *("score AB", "score yesno"),  # at the root
        *("write </others>", "write </state>", "score yesno", "write </actions>"),
        *("score AB", "score yesno"),  # one action down
        *("write </others>", "write </state>", "score yesno"),  # at full depth
    ]


def test_rewards_are_the_chances_among_the_answers() -> None:
    """Guesses: of the letters a king has .3 / .4, and good are 50 and 25%. After a king everything
    is lost, after snap won; further down nothing differs."""
    oracle = Oracle(
        taken={"a king": 0.3, "snap": 0.1, "pass": 0.2, "snap again": 0.2},
        good={"snap": 0.25},
        wins={"after a king, they wait": 0.0, "after snap, they wait": 1.0},
        foretold=TELLING,
    )
    decision, _ = decide(oracle)
    deeper = 0.5 + 0.5
    assert decision.notes["guesses"] == pytest.approx((0.75 + 0.5, 0.25 + 0.25))
    assert decision.notes["totals"] == pytest.approx((1.25 - 1 + deeper, 0.5 + 1 + deeper))
    assert decision.option == 1
    assert sum(decision.notes["visits"]) == 10
    assert min(decision.notes["visits"]) > 1
    assert (decision.status, decision.fallback) == ("ok", False)
    assert set(decision.notes["answers"]) == {"ok"}


def test_a_model_that_foretells_nothing_takes_its_best_guess() -> None:
    """The others' actions may be unknown; without a position the branch ends."""
    oracle = Oracle(taken={"snap": 0.1, "a king": 0.1}, good={"snap": 0.6})
    decision, asked = decide(oracle)
    assert decision.option == 1
    assert decision.notes["totals"] == pytest.approx((0.5 + 0.5, 0.5 + 0.6))
    assert set(decision.notes["answers"]) == {"malformed"}
    assert decision.attempts == len(asked)
    states = [r for r in asked if isinstance(r, Generate) and r.stop == ("</state>",)]
    assert "What the other players do: unknown\n" in states[0].prompt.changing


def test_without_actions_the_branch_ends_with_its_full_reward() -> None:
    telling = {**TELLING, "actions": lambda told: "<actions>\n \n"}
    oracle = Oracle(taken={"a king": 1.0}, wins={"after a king, they wait": 0.25}, foretold=telling)
    decision, _ = decide(oracle, iterations=1)
    assert decision.notes["totals"] == pytest.approx((1.0 + 0.5 + 2 * 0.25 - 1, None))
    assert decision.notes["answers"] == ("ok", "ok", "malformed")


def test_a_verdict_that_cannot_be_counts_for_neither() -> None:
    def answer(request: Request) -> Reply:
        if isinstance(request, Generate) or "win from here" not in request.prompts[0].changing:
            return Oracle(taken={"snap": 0.1}, foretold=TELLING)(request)
        return Scores(((-math.inf, -math.inf),), (0,))

    decision, _ = decide(answer, iterations=1, depth=1)
    assert decision.notes["totals"] == (None, pytest.approx(1.5))


def test_where_nothing_is_possible_the_null_action_is_taken() -> None:
    decision, asked = decide(silent)
    assert (decision.status, decision.fallback, decision.attempts) == ("malformed", True, 2)
    assert len(asked) == 2


def test_open_actions_are_given_words_first() -> None:
    words = iter(["two words", "tomato"])

    def answer(request: Request) -> Reply:
        if isinstance(request, Generate) and request.json:
            return Generation(json.dumps({"text": next(words)}), 1, 1)
        return Oracle(taken={'give a hint: "tomato"': 1.0}, foretold=TELLING)(request)

    decision, asked = decide(answer, TELLER, iterations=1)
    assert (decision.option, decision.text, decision.status) == (1, "tomato", "ok")
    assert decision.notes["answers"][:3] == ("illegal", "ok", "ok")
    assert decision.attempts == len(asked)
    assert 'B) give a hint: "tomato"\n' in asked[2].prompts[0].changing
    assert "faults" not in decision.notes


def test_an_action_with_an_example_for_words_is_a_fallback() -> None:
    def hinting(request: Request) -> Reply:
        if isinstance(request, Generate):
            return Generation("", 1, 1)
        return Scores(tuple((-3.0, -1.0) for _ in request.prompts), (0,) * len(request.prompts))

    decision, _ = decide(hinting, TELLER, iterations=1)
    assert (decision.option, decision.status, decision.fallback) == (1, "malformed", True)
    assert decision.text in HINT.examples


def test_many_open_actions_are_asked_about_side_by_side() -> None:
    turn = Turn(TELLER.game, (TextAction(7, HINT), TextAction(8, HINT)), Goal(), TELLER.observe)
    words = iter(["?", '{"text": "sky"}', '{"text": "grass"}'])

    def answer(request: Request) -> Reply:
        if isinstance(request, Generate) and request.json:
            return Generation(next(words), 1, 1)
        return Oracle(taken={'give a hint: "sky"': 0.1})(request)

    decision, sizes = in_rounds(turn, answer)
    assert sizes[:3] == [2, 1, 2]
    assert decision.notes["answers"][:3] == ("malformed", "ok", "ok")
    assert (decision.option, decision.text) == (1, "sky")


@pytest.mark.parametrize("count", [2, 26, 27, 60, 100])
def test_more_options_than_letters_are_asked_about_in_groups(count: int) -> None:
    names = [f"option {number}" for number in range(count)]
    decision, asked = decide(Oracle(taken=dict.fromkeys(names, 0.01)), turn_with(*names))
    groups = -(-count // 26)
    which, good = asked[:2]
    assert (len(which.prompts), len(good.prompts)) == (groups, count)
    told = [
        line.split(") ", 1)[1]
        for prompt in which.prompts
        for line in prompt.changing.splitlines()
        if line[1:3] == ") "
    ]
    assert told == names
    chances = [guess - 0.5 for guess in decision.notes["guesses"]]
    assert sum(chances) == pytest.approx(1, abs=1e-2)
    assert max(chances) - min(chances) < 0.01


@given(st.integers(1, 300))
def test_groups_are_even_and_hold_all(count: int) -> None:
    actions = [str(number) for number in range(count)]
    groups = grouped(actions)
    sizes = [len(group) for group in groups]
    assert [action for group in groups for action in group] == actions
    assert sizes == sorted(sizes, reverse=True)
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= 26
    assert len(groups) == math.ceil(count / 26)


def test_letters_may_stand_for_yes_and_no() -> None:
    assert Rap().labels() == (*LETTERS, "yes", "no")
    assert Rap(letters=True).labels() == LETTERS
    _, asked = decide(Oracle(taken={"snap": 0.5}), letters=True, iterations=1)
    assert asked[1].choices == ("A", "B")
    assert (
        asked[1]
        .prompts[0]
        .changing.endswith("Is this a good action? \nA) yes\nB) no\nReply with A or B.\n")
    )


def test_who_helps_another_is_asked_whether_that_one_wins() -> None:
    seen = turn_with("a", "b", goal=Goal(helps=0))
    prompt: Prompt = Questions(seen.observation, seen.goal, False).will_win("dark")
    assert "Goal: help player 0 win" in prompt.static
    assert "Will player 0 win from here in the end? " in prompt.changing


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("<state>a\nb</state> c", "a\nb"),
        ("well: <state> a ", "a"),
        ("<state> </state>", None),
        ("a</state>", None),
        ("", None),
        ("<state>half \ud83d", "half ?"),
    ],
)
def test_text_is_read_between_its_tags(reply: str, text: str | None) -> None:
    assert between("state", reply) == text


def test_actions_are_read_a_line_each() -> None:
    text = "1. up\n2) up\n\nB) left\n- 3 right\n  down \n* up\nA1 is free"
    assert actions_in(text) == ("up", "left", "3 right", "down", "A1 is free")
    assert len(actions_in("\n".join(map(str, range(99))))) == 26


def test_shares_are_of_these_words_alone() -> None:
    assert shares((math.log(0.02), math.log(0.06))) == pytest.approx((0.25, 0.75))
    assert shares((-900.0, -900.0)) == (0.5, 0.5)
    assert shares((-math.inf, -3.0)) == (0.0, 1.0)
    assert shares((-math.inf, -math.inf)) is None
