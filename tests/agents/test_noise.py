"""Irrelevant prompt variations: every prompt changes, and only in the intended way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gauntlet.agents.base import Goal, Notified, Prepared
from gauntlet.agents.llm import LLM
from gauntlet.agents.noise import Noisy, vary
from gauntlet.agents.prompting.base import Method
from gauntlet.agents.prompting.calibrated import Calibrated
from gauntlet.agents.prompting.cloze import Cloze
from gauntlet.agents.prompting.cot import Cot
from gauntlet.agents.prompting.gamebench import GamebenchCot
from gauntlet.agents.prompting.pride import Pride
from gauntlet.agents.prompting.tot import Tot
from gauntlet.agents.prompting.tutri import Tutri
from gauntlet.agents.prompting.vanilla import Vanilla
from gauntlet.agents.random import Random
from gauntlet.games.base import Fact
from gauntlet.games.holdem import Holdem
from gauntlet.games.uno import Uno
from gauntlet.models.base import Dialogue, Prompt, Request, Score
from tests.agents.play import match, opinionated, talk, turn_with, unasked

METHODS = (Cloze(), Vanilla(), Tutri(), Cot(), Tot(), GamebenchCot(), Pride(), Calibrated())
GAMES = (Uno(3), Holdem(2, hands=2))


def prompts(request: Request) -> tuple[Prompt, ...]:
    return request.prompts if isinstance(request, Score) else (request.prompt,)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("game", GAMES, ids=lambda game: type(game).__name__)
def test_every_prompt_is_another_one_of_the_same_lines(method: Method, game: Any) -> None:
    """The lines and the end of every prompt are the same, and so are the number of requests and the
    shared static part. The facts are reordered on every turn with two of a kind."""
    turns = [turn for turn, _, _ in list(match(Random(), game, 3, unasked))[:3]]
    assert len(turns) == 3
    orders = set()
    for turn in turns:
        plain, noisy = LLM(method), Noisy(LLM(method))
        own = talk(plain.decide(turn, rng()), opinionated)[1]
        told = talk(noisy.decide(turn, rng()), opinionated)[1]
        assert len(told) == len(own) > 0
        for one, other in zip(own, told, strict=True):
            for before, after in zip(prompts(one), prompts(other), strict=True):
                assert after.text != before.text
                assert sorted([*before.text.splitlines(), ""]) == sorted(after.text.splitlines())
                kept = ("system", "static", "cue", "turns")
                assert all(getattr(after, k, 0) == getattr(before, k, 0) for k in kept)
                assert after.changing.splitlines()[-1] == before.changing.splitlines()[-1]
                orders.add(after.changing != "\n" + before.changing)
            blank = tuple(replace(p, changing="") for p in prompts(one))
            assert _with(other, blank) == _with(one, blank), "settings and choices are the same"
    assert any(orders)


def _with(request: Request, blank: tuple[Prompt, ...]) -> Request:
    if isinstance(request, Score):
        return replace(request, prompts=blank)
    return replace(request, prompt=blank[0])


def rng() -> Any:
    return np.random.default_rng(5)


def test_facts_change_places_with_those_of_their_kind_alone() -> None:
    """All facts are unchanged, the seat's own in the same places; nothing else changes."""
    turn = turn_with("a", "b")
    facts = tuple(Fact(name, name, own=name in "cd") for name in "abcde")
    seen = replace(turn.observation, facts=facts)
    told = vary(seen)
    assert "".join(fact.name for fact in told.facts) == "eb" + "dc" + "a"
    assert replace(told, facts=facts) == seen
    assert vary(told) == seen
    for game in GAMES:
        state = game.deal(rng())
        seat = game.to_move(state)[0]
        known = game.observe(state, seat)
        assert {*vary(known).facts} == {*known.facts}
        assert vary(known).facts != known.facts


def test_what_is_asked_before_and_after_a_match_is_spaced_too() -> None:
    noisy, plain = Noisy(LLM(Pride())), LLM(Pride())
    assert isinstance(noisy, Prepared)
    assert isinstance(noisy, Notified)
    prepared, told = talk(noisy.prepare(Uno(3), 0, Goal()), opinionated)
    own, asked = talk(plain.prepare(Uno(3), 0, Goal()), opinionated)
    assert isinstance(prepared, Noisy)
    assert len(told) == len(asked) > 0
    for one, other in zip(asked, told, strict=True):
        for before, after in zip(prompts(one), prompts(other), strict=True):
            assert after == replace(before, changing="\n" + before.changing)
    assert not isinstance(own, Noisy)
    bare = Noisy(Random())
    assert talk(bare.prepare(Uno(3), 0, Goal()), unasked) == (bare, [])
    assert talk(bare.on_end(0, (), "", (1.0,)), unasked)[1] == []


def test_a_conversation_goes_on_from_what_was_said() -> None:
    """In a reflection only the first message is respaced, not every turn."""
    _, asked = talk(Noisy(LLM(Tutri())).decide(turn_with("a", "b"), rng()), opinionated)
    last = prompts(asked[-1])[0]
    assert isinstance(last, Dialogue)
    assert len(last.turns) == 2
    assert last.changing == prompts(asked[0])[0].changing
    assert last.changing.startswith("\n")
    assert not last.changing.startswith("\n\n")
