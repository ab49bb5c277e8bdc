"""The wordings say the same in different words."""

from __future__ import annotations

import string
from dataclasses import asdict

import numpy as np
import pytest

from gauntlet.agents.base import Goal, Turn
from gauntlet.agents.prompting.cloze import Cloze
from gauntlet.agents.prompting.vanilla import Vanilla
from gauntlet.agents.prompting.wording import WORDINGS, Wording
from gauntlet.games.uno import Uno
from gauntlet.models.base import Generate, Score

OTHERS = [name for name in WORDINGS if name != "plain"]


def turn() -> Turn:
    game = Uno(2)
    state = game.deal(np.random.default_rng(4))
    (seat,) = game.to_move(state)
    return Turn(game, game.legal(state, seat), Goal(helps=1), lambda: game.observe(state, seat))


def places(words: Wording) -> dict[str, set[str | None]]:
    """The placeholders of each text."""
    parse = string.Formatter().parse
    texts = asdict(words).items()
    return {name: {part[1] for part in parse(text)} - {None} for name, text in texts}


@pytest.mark.parametrize("name", OTHERS)
def test_every_wording_tells_the_same(name: str) -> None:
    assert places(WORDINGS[name]) == places(WORDINGS["plain"])


@pytest.mark.parametrize("name", OTHERS)
def test_every_text_is_worded_anew(name: str) -> None:
    plain, other = asdict(WORDINGS["plain"]), asdict(WORDINGS[name])
    assert not [key for key in plain if plain[key].strip() == other[key].strip()]


def test_a_prompt_of_each_wording_holds_the_facts() -> None:
    seen = turn().observation
    texts = set()
    for name in WORDINGS:
        for method in (Cloze(wording=name), Vanilla(wording=name)):
            request = next(method.ask(turn(), np.random.default_rng(0)))
            assert isinstance(request, (Score, Generate))
            prompt = request.prompts[0] if isinstance(request, Score) else request.prompt
            assert seen.rules in prompt.text
            assert all(fact.text in prompt.text for fact in seen.facts)
            assert all(option in prompt.text for option in seen.options)
            assert "{" not in prompt.text.replace('{"', "")
            texts.add(prompt.text)
    assert len(texts) == 2 * len(WORDINGS)


def test_an_unknown_wording_is_refused() -> None:
    with pytest.raises(ValueError, match=r"wording is 'ters'.*did you mean 'terse'"):
        Cloze(wording="ters")
