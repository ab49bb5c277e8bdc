"""TUTRI: an answer and two reflections in one conversation; the last valid answer counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.agents.base import Decision, Turn
from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.tutri import Tutri
from gauntlet.games.base import Fact, Observation
from gauntlet.models.base import Generate
from tests.agents.play import drive, saying, turn_with

OPTIONS = ("red 7", "blue skip", "wild")
FULL = Tutri()
NO_HISTORY, NO_STRATEGY = Tutri(history=False), Tutri(strategy=False)


class Coach:
    """A game that advises."""

    def review(self, observation: Observation, moves: int) -> tuple[Fact, ...]:
        last = observation.history[-moves:]
        return (Fact("Player 0", f"{last[0]} to {last[-1]}"),)

    def advice(self, observation: Observation) -> tuple[str, ...]:
        return ("Keep calm.", f"Mind the {observation.options[0]}.")


def advised(moves: int = 7) -> Turn:
    game: Any = Coach()
    return replace(turn_with(*OPTIONS, moves=moves), game=game)


def holding(hand: str, *options: str) -> Turn:
    """A turn with this hand."""
    turn = turn_with(*options)
    seen = turn.observation
    with_hand = replace(seen, facts=(*seen.facts, Fact("Your hand", hand, own=True)))
    return replace(turn, observe=lambda: with_hand)


def answer(number: int) -> str:
    return f' {{"reflection": "So be it.", "action": "{number}"}}'


def talk(method: Tutri, *replies: str, turn: Turn | None = None) -> tuple[Decision, list[Any]]:
    return drive(LLM(method), turn or advised(), saying(*replies))


def later_messages(request: Any) -> list[str]:
    """Return the model's prompt after its first answer."""
    assert isinstance(request, Generate)
    return list(request.prompt.messages[2::2])


@pytest.mark.parametrize(
    ("method", "openings"),
    [
        (FULL, ["\nLook back on", "\nAdvice for"]),
        (NO_HISTORY, ["\nAdvice for"]),
        (NO_STRATEGY, ["\nLook back on"]),
    ],
)
def test_an_ablation_lacks_its_reflection_and_nothing_else(
    method: Tutri, openings: list[str]
) -> None:
    decision, asked = talk(method, *map(answer, (1, 2, 3)))
    assert decision.attempts == len(asked) == 1 + len(openings)
    messages = later_messages(asked[-1])
    assert all(said.startswith(start) for said, start in zip(messages, openings, strict=True))
    assert set(messages) <= set(later_messages(talk(FULL, *map(answer, (1, 2, 3)))[1][-1]))


BAD = {"malformed": "I pass.", "illegal": '{"action": "9"}'}


@pytest.mark.parametrize("status", ["malformed", "illegal"])
@pytest.mark.parametrize(
    ("replies", "option"),
    [
        ((1, 2, 3), 3),
        ((1, 2, None), 2),
        ((1, None, None), 1),
        ((None, 2, None), 2),
        ((None, None, 3), 3),
        ((3, None, 1), 1),
    ],
)
def test_the_last_valid_answer_wins(
    replies: tuple[int | None, ...], option: int, status: str
) -> None:
    """The option listed first is as valid as any other: index 0 is an answer."""
    texts = [BAD[status] if number is None else answer(number) for number in replies]
    decision, asked = talk(FULL, *texts)
    assert (decision.option, decision.status, decision.fallback) == (option - 1, "ok", False)
    assert decision.attempts == len(asked) == 3
    assert decision.notes["answers"] == tuple(
        status if number is None else number - 1 for number in replies
    )


def test_without_any_valid_answer_the_last_one_says_why() -> None:
    decision, asked = talk(FULL, BAD["malformed"], BAD["malformed"], BAD["illegal"])
    assert (decision.status, decision.fallback, decision.attempts) == ("illegal", True, 3)
    assert decision.notes == {"answers": ("malformed", "malformed", "illegal")}
    assert len(asked) == 3


LEGACY = Tutri(legacy_truthiness=True)
COLOURS, CHALLENGE = ("red", "yellow", "green", "blue"), ("challenge", "draw four cards")


@pytest.mark.parametrize(
    ("options", "numbers", "option", "dropped"),
    [
        (OPTIONS, (2, 3, 1), 3, (2,)),
        (OPTIONS, (2, 1, 1), 2, (1, 2)),
        (OPTIONS, (1, 1, 3), 3, (0, 1)),
        (OPTIONS[1:], (2, 1, 1), 1, ()),
        (CHALLENGE, (1, 1, 2), 1, (2,)),
        (CHALLENGE, (2, 2, 1), 1, (0, 1)),
        (COLOURS, (4, 2, 1), 1, ()),
    ],
)
def test_the_published_code_takes_the_first_card_and_no_for_no_answer(
    options: tuple[str, ...], numbers: tuple[int, ...], option: int, dropped: tuple[int, ...]
) -> None:
    """Its test of truth fails for card number 0 of the hand, playable or not, and for False; names
    of colours are true. Read rightly, the last answer would count in each of these."""
    turn = holding("red 7, blue skip, wild", *options)
    decision, _ = talk(LEGACY, *map(answer, numbers), turn=turn)
    assert (decision.option, decision.fallback) == (option - 1, False)
    assert decision.notes.get("dropped", ()) == dropped
    assert decision.notes["answers"] == tuple(number - 1 for number in numbers)
    right, _ = talk(FULL, *map(answer, numbers), turn=turn)
    assert right.option == numbers[-1] - 1
    assert "dropped" not in right.notes


@pytest.mark.parametrize(("options", "number"), [(OPTIONS, 1), (CHALLENGE, 2)])
def test_where_the_published_code_drops_all_three_the_choice_is_uniform(
    options: tuple[str, ...], number: int
) -> None:
    turn, chosen = holding("red 7, blue skip, wild", *options), set()
    for seed in range(60):
        decision, _ = drive(LLM(LEGACY), turn, saying(*[answer(number)] * 3), seed)
        assert (decision.fallback, decision.status) == (True, "malformed")
        assert decision.notes["dropped"] == (0, 1, 2)
        chosen.add(decision.option)
    assert chosen == set(range(len(options)))


def test_a_dropped_answer_is_no_better_than_an_unusable_one() -> None:
    turn = holding("red 7, wild", *OPTIONS)
    decision, _ = talk(LEGACY, answer(1), answer(1), BAD["illegal"], turn=turn)
    assert (decision.fallback, decision.status) == (True, "illegal")
    assert decision.notes == {"answers": (0, 0, "illegal"), "dropped": (0, 1)}


@given(st.lists(st.text(max_size=30), min_size=3, max_size=3))
def test_replies_are_passed_on_word_by_word(replies: list[str]) -> None:
    decision, asked = talk(FULL, *replies)
    assert [reply for reply, _ in asked[-1].prompt.turns] == replies[:2]
    assert 0 <= decision.option < len(OPTIONS)


@pytest.mark.parametrize(("moves", "enough"), [(0, False), (4, False), (5, True)])
def test_a_short_history_is_unknown(moves: int, enough: bool) -> None:
    _, asked = talk(FULL, "", "", "", turn=advised(moves))
    history = later_messages(asked[-1])[0]
    assert ("Player 0: move 1" in history) == enough
    assert ("Unknown: too few moves have been made.\n" in history) != enough


def test_a_game_without_advice_is_asked_in_general_words() -> None:
    _, asked = talk(FULL, "", "", "", turn=turn_with(*OPTIONS))
    history, strategy = later_messages(asked[-1])
    assert "They stand above.\n" in history
    assert "- Compare where each option leads" in strategy
