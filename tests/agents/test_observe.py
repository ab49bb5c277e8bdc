"""The observer's protocol: the prompts, and parsing of replies."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.observe import Observe, confidence, guess_in, object_in
from gauntlet.games.base import TextMove
from gauntlet.games.rock_paper_scissors import RockPaperScissors
from gauntlet.games.uno import Uno
from gauntlet.games.watch import State, Watch
from gauntlet.games.watch.transcript import Transcript
from gauntlet.models.base import Dialogue, Generate, Generation, Prompt, Reply, Request
from tests.agents.play import Answer, drive, turn_at

OF = RockPaperScissors(rounds=22)
GAME = Watch(of=OF, catalogue=("A", "H", "X"), players=("H", "X"), warmup=2)
ROUNDS = ((0, 1), (2, 1), *[(1, 0)] * 20)
START = State(Transcript(OF, ("H", "X"), ((),), (ROUNDS,)))
GOOD = '{"guess_s1": "H", "guess_s2": "X", "confidence": 0.8}'

STATIC = (
    "You are the observer of a match, not one of its players.\n"
    "Rules: Players 1 and 2 play rock-paper-scissors round after round. In a round both choose a "
    "hand at the same time: rock (R), paper (P) or scissors (S). Rock beats scissors, scissors "
    "beat paper, paper beats rock. A round is told with its number, the hand of player 1 (move1), "
    "the hand of player 2 (move2) and the result for player 1: 1 a win, 0 a draw, -1 a loss. Each "
    "round is a step. Each player keeps to one strategy of this catalogue, two may have the same. "
    "Catalogue, by code: A: always plays scissors; H: plays rock 50%, paper 25%, scissors 25% of "
    "the time, whatever was played before; X: plays the hand that beats the other player's "
    "previous hand; in round 1 any hand. You watch and do not play. After each step you are shown "
    "the latest steps and guess the strategy of every player. You win if your last guess is right."
    '\nReply with one JSON object and nothing else: {"guess_s1": a code, "guess_s2": a code, '
    '"confidence": a number from 0 to 1}\n'
)
CHANGING = (
    'History:\n[\n{"round":1,"move1":"R","move2":"P","result":-1},\n'
    '{"round":2,"move1":"S","move2":"P","result":1},\n'
    '{"round":3,"move1":"P","move2":"R","result":1}\n]\n'
    "Which strategies do players 1 and 2 follow?\n"
)
REASON = (
    'This time the object also has "reasoning": three to five short phrases, separated by '
    "semicolons.\n"
)


def at(guesses: int) -> State:
    return State(START.transcript, ((1, 2),) * guesses)


def replying(*texts: str) -> Answer:
    left = list(texts)

    def answer(request: Request) -> Reply:
        return Generation(left.pop(0), 0, 0)

    return answer


def decide(state: State, *texts: str, game: Watch = GAME) -> tuple[Any, list[Any]]:
    return drive(LLM(Observe()), turn_at(game, state, 0), replying(*texts))


def test_the_prompt_in_full() -> None:
    """A network was trained on this wording: changing it requires retraining."""
    decision, (request,) = decide(START, GOOD)
    assert isinstance(request, Generate)
    assert request.prompt == Prompt(STATIC, CHANGING, "Answer:")
    assert (request.temperature, request.json, request.max_tokens) == (0.2, True, 512)
    assert (decision.text, decision.attempts, decision.fallback) == ("H X", 1, False)
    assert decision.notes == {"confidence": 0.8}


def test_reasons_are_asked_for_every_twenty_steps_and_at_the_last() -> None:
    wanted = []
    for number in range(20):
        prompt = Observe().prompt(turn_at(GAME, at(number), 0))
        assert prompt.static == STATIC
        if prompt.changing.endswith(REASON):
            wanted.append(number + 3)
    assert wanted == [20, 22]
    never = Observe(reasons=0).prompt(turn_at(GAME, at(19), 0))
    assert REASON not in never.changing


def test_a_reasoning_is_kept() -> None:
    for given, kept in (("a; b", "a; b"), (["a", "b"], "a; b"), ("half \ud83d", "half ?")):
        reply = json.dumps({"guess_s1": "H", "guess_s2": "X", "reasoning": given})
        assert decide(START, reply)[0].notes == {"confidence": 0.6, "reasoning": kept}


def test_another_reply_is_asked_for_once_with_a_reminder() -> None:
    decision, (first, again) = decide(START, "H and X", GOOD)
    assert (decision.text, decision.attempts, decision.status) == ("H X", 2, "ok")
    assert isinstance(again.prompt, Dialogue)
    ((reply, told),) = again.prompt.turns
    assert (reply, again.prompt.changing) == ("H and X", first.prompt.changing)
    assert told == (
        "\nThat is not in the form asked for. Reply with one JSON object and nothing else: "
        '{"guess_s1": a code, "guess_s2": a code, "confidence": a number from 0 to 1}\n'
        "Codes: A, H, X\n"
    )


@pytest.mark.parametrize(
    ("reply", "status"),
    [("H X", "malformed"), ('{"guess_s1": "H", "guess_s2": "Q"}', "illegal")],
)
def test_after_the_second_there_is_no_guess(reply: str, status: str) -> None:
    decision, requests = decide(START, GOOD.replace("guess_s2", "guess"), reply)
    assert (decision.text, decision.status, decision.fallback) == ("-", status, True)
    assert (decision.attempts, len(requests)) == (2, 2)
    assert GAME.play(START, [TextMove(0, decision.text)]).guesses == ((),)


@pytest.mark.parametrize(
    ("reply", "guess"),
    [
        (GOOD, (1, 2)),
        (f"Well: {GOOD} I am sure.", (1, 2)),
        ('{"guess_s1": " h", "guess_s2": "x "}', (1, 2)),
        ('{"guess_s1": "h",\n "guess_s2": "a"}', (1, 0)),
        ('{"guess_s1": "H"}', "malformed"),
        ('{"guess_s1": "H", "guess_s2": 3}', "malformed"),
        ('{"guess_s1": "H", "guess_s2": "B"}', "illegal"),
        ('{"a": {}} {"guess_s1": "H", "guess_s2": "X"}', "malformed"),
        ('["H", "X"]', "malformed"),
        ("{" * 3000, "malformed"),
        ("", "malformed"),
    ],
)
def test_what_a_reply_says(reply: str, guess: object) -> None:
    """From its first opening brace to its last closing one, as the prototype reads it."""
    assert guess_in(object_in(reply), GAME) == guess


@pytest.mark.parametrize(
    ("value", "counts"),
    [(0.25, 0.25), (7, 1.0), (-1, 0.0), ("0.5", 0.5), (None, 0.6), ("high", 0.6), (True, 0.6)],
)
def test_confidence_lies_from_0_to_1(value: object, counts: float) -> None:
    assert confidence(value) == counts
    assert confidence(math.nan) == 0.6


def test_other_games_are_asked_about_in_the_same_form() -> None:
    game = Watch(of=Uno(num_seats=3), catalogue=("rule", "first"), warmup=0)
    state = game.deal(np.random.default_rng(1))
    reply = '{"guess_s0": "rule", "guess_s1": "FIRST", "guess_s2": "rule"}'
    decision, (request,) = decide(state, reply, game=game)
    assert decision.text == "rule first rule"
    assert "Which strategies do players 0, 1 and 2 follow?\n" in request.prompt.changing
    assert "1. player 0 (Players: 3, " in request.prompt.changing
    assert "(you)" not in request.prompt.changing


@pytest.mark.parametrize(
    "settings", [{"max_tokens": 0}, {"reasons": -1}, {"temperature": 2.5}, {"temperature": -1}]
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        Observe(**settings)


def test_there_must_be_somebody_to_watch() -> None:
    with pytest.raises(ValueError, match="RockPaperScissors has nobody to watch"):
        LLM(Observe()).check(OF)
