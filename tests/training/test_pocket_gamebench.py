"""The fourth pocket model: its lessons, their packing, and the shipped files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import islice

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.base import Method
from gauntlet.agents.prompting.cloze import Cloze
from gauntlet.agents.prompting.cot import Cot
from gauntlet.agents.prompting.counterfactual import Counterfactual
from gauntlet.agents.prompting.direct import Direct
from gauntlet.agents.prompting.gamebench import SHOWN, Base, GamebenchCot, Reading, read
from gauntlet.agents.prompting.rap import Rap
from gauntlet.agents.rule import Rule
from gauntlet.games.base import TextAction
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.engine.local import Local
from gauntlet.training.pocket import train
from gauntlet.training.pocket.gamebench import evaluate, tables
from gauntlet.training.pocket.gamebench.course import Writer, prompt_text, reply_text
from gauntlet.training.pocket.gamebench.tables import TABLES, Lesson, lessons, words
from gauntlet.training.pocket.writing import softmax
from tests.agents.play import drive
from tests.nodes import build, nodes

EVERY = pytest.mark.parametrize("name", TABLES)
SHORT = 40
"""More tokens than any reply taught has."""


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    found: PreTrainedTokenizerFast = AutoTokenizer.from_pretrained(train.GAMEBENCH_WEIGHTS)
    return found


@pytest.fixture(scope="module")
def model() -> Iterator[Local]:
    local = Checkpoint("pkg:models/pocket_gamebench/weights").load()
    yield local
    local.close()


@cache
def sample_lessons(name: str) -> list[Lesson]:
    """Return lessons spaced apart."""
    table = replace(TABLES[name], taught=0.3, worlds=1)
    return list(islice(lessons(table, np.random.default_rng(1)), 8))


# What the lessons say.


@EVERY
def test_a_table_is_the_game_as_it_is_configured(name: str) -> None:
    assert repr(TABLES[name].game) == repr(build(nodes("game")[name]))


@EVERY
def test_the_answer_that_is_taught_is_legal_and_what_the_search_likes(name: str) -> None:
    for lesson in sample_lessons(name):
        assert lesson.logits.shape == (len(lesson.turn.options),)
        best = int(lesson.logits.argmax())
        reading = read(reply_text(best + 1, lesson.words[best]), lesson.turn, {})
        assert (reading.is_final, reading.option, reading.text) == (True, best, lesson.words[best])


def test_words_that_are_copied_stand_in_the_prompt() -> None:
    rng = np.random.default_rng(4)
    for lesson in sample_lessons("codenames"):
        for option, said in zip(lesson.turn.options, words(lesson.turn, True, rng), strict=True):
            assert bool(said) == isinstance(option, TextAction)
            if isinstance(option, TextAction):
                assert said in option.text.examples[:SHOWN]
                assert json.dumps(said) in prompt_text(lesson.turn, rng)


# How lessons are packed.


@EVERY
def test_a_tree_teaches_every_option_and_every_token_of_the_reply(
    name: str, tokenizer: PreTrainedTokenizerFast
) -> None:
    writer, rng = Writer(tokenizer), np.random.default_rng(5)
    for lesson in sample_lessons(name):
        tree, chances = writer.tree(lesson, rng), softmax(lesson.logits)
        prompt = len(writer.encode(prompt_text(lesson.turn, rng)))
        behind, after = tree.places[: len(chances)], tree.places[len(chances) :]
        assert list(after) == list(range(prompt - 1, len(tree)))
        assert list(behind) == sorted(set(behind))
        assert behind[-1] < prompt
        told = np.array([target.chances for target in tree.targets[: len(chances)]])
        assert np.allclose(told[:, 1], chances / chances.max() / 2)
        assert np.allclose(told.sum(1), 1)
        assert [target.early for target in tree.targets] == [
            place in behind for place in tree.places
        ]
        head, number, *rest = tree.targets[len(chances) :]
        assert np.allclose(number.chances, chances)
        said = [int(head.ids[0]), None, *(int(target.ids[0]) for target in rest)]
        assert said == [tree.stem[prompt], None, *tree.stem[prompt + 2 :], tokenizer.eos_token_id]
        assert json.loads(tokenizer.decode(tree.stem[prompt:]))["action"] in {
            str(n + 1) for n in np.flatnonzero(chances)
        }


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text())
def test_any_reply_encodes_and_decodes(text: str, tokenizer: PreTrainedTokenizerFast) -> None:
    reply = reply_text(3, text or "nothing")
    ids = tokenizer.backend_tokenizer.encode(reply).ids
    assert json.loads(tokenizer.decode(ids))["action"] == "3"


# The shipped files.


@EVERY
def test_it_answers_base_in_its_form(name: str, model: Local) -> None:
    taken = [one.is_final for one in readings(model, name, 12)]
    assert sum(taken) >= len(taken) - 1


def readings(model: Local, name: str, count: int) -> list[Reading]:
    """Return the parsed first replies to turns spaced apart."""
    rng = np.random.default_rng(6)
    turns = list(islice(tables.turns(TABLES[name].game, rng), 0, 7 * count, 7))
    requests = [next(Base().ask(turn, rng)) for turn in turns]
    replies = model.answer([replace(one, max_tokens=SHORT) for one in requests])
    return [read(reply.text, turn, {}) for reply, turn in zip(replies, turns, strict=True)]


METHODS: dict[str, Method] = {
    "cloze": Cloze(),
    "counterfactual": Counterfactual(),
    "direct": Direct(max_tokens=SHORT),
    "cot": Cot(max_tokens=SHORT),
    "gamebench_cot": GamebenchCot(max_tokens=SHORT, thoughts=SHORT),
    "rap": Rap(iterations=1, depth=1, max_tokens=SHORT),
}


@pytest.mark.parametrize("method", METHODS)
def test_other_methods_run_with_it(method: str, model: Local) -> None:
    agent = LLM(METHODS[method])
    for name in ("santorini", "are_you_the_traitor"):
        turns = tables.turns(TABLES[name].game, np.random.default_rng(7))
        turn = next(turn for turn in turns if 1 < len(turn.options) < 8)
        decision, _ = drive(agent, turn, lambda request: model.answer([request])[0])
        assert 0 <= decision.option < len(turn.options)


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("santorini", "sea_battle")]


@pytest.mark.parametrize("name", [*SLOW, "air_land_sea"])
def test_it_beats_a_random_player(name: str, model: Local) -> None:
    found, _ = evaluate.play(model, TABLES[name].game, Base(), Rule("random"), DEALS[name])
    assert found.mean() > 0.5 + 2 * 0.5 / found.size**0.5


DEALS = {"santorini": 20, "sea_battle": 6, "air_land_sea": 20}
"""Numbers of deals played from both seats."""


@pytest.mark.slow
@EVERY
def test_replies_that_cannot_be_read_are_rare(name: str, model: Local) -> None:
    _, answers = evaluate.play(model, TABLES[name].game, Base(), Rule("random"), 10)
    replies = answers["read"] + answers["malformed"] + answers["illegal"]
    assert answers["malformed"] < 0.02 * replies
    assert answers["illegal"] < 0.02 * replies
