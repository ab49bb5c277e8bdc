"""Several samples of one prompt: each independent of other requests, for every model."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.json import encode

from gauntlet.common.errors import ModelError
from gauntlet.models.base import Generate, Generation, Model, Prompt
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.engine.text import stream
from gauntlet.models.fake import Fake
from gauntlet.models.human import TerminalModel
from gauntlet.pipeline.log.exchanges import exchange
from tests.models.conftest import MakeCheckpoint

PROMPT = Prompt("Rules: draw.\n", "Hand: red 1\n", "Answer:", "You are brief.\n")
WARM = Generate(PROMPT, 9, 1.0, seed=4)
COLD = replace(WARM, temperature=0.0)


@pytest.fixture(scope="module", params=["fake", "packed", "portable", "reference"])
def model(request: pytest.FixtureRequest, make_checkpoint: MakeCheckpoint) -> Model:
    if request.param == "fake":
        return Fake(texts=tuple("ABCDEFGHIJ")).load()
    folder = make_checkpoint("gpt2" if request.param == "portable" else "llama")
    engine = "reference" if request.param == "reference" else "packed"
    return Checkpoint(str(folder), engine=engine).load()


def written(model: Model, request: Generate) -> Generation:
    (reply,) = model.answer([request])
    assert isinstance(reply, Generation)
    return reply


def test_a_sample_is_the_same_whatever_their_number(model: Model) -> None:
    alone, *several, longest = (written(model, replace(WARM, n=n)) for n in (1, 2, 3, 4))
    assert len(set(longest.texts)) > 1
    for n, reply in enumerate((alone, *several), 1):
        assert reply.texts == longest.texts[:n]
        assert reply.prompt_tokens == longest.prompt_tokens
    assert longest.tokens > alone.tokens


def test_samples_of_the_likeliest_text_are_equal(model: Model) -> None:
    alone, several = written(model, COLD), written(model, replace(COLD, n=3))
    assert several.texts == (alone.text,) * 3
    assert several.tokens == 3 * alone.tokens
    assert several.prompt_tokens == alone.prompt_tokens


def test_samples_do_not_depend_on_company_or_order(model: Model) -> None:
    others = [replace(WARM, seed=seed, n=seed, prompt=Prompt("", f"{seed}:")) for seed in (1, 2, 3)]
    asks = [replace(WARM, n=3), COLD, *others, WARM, replace(COLD, n=2)]
    together = model.answer(asks)
    assert [model.answer([ask])[0] for ask in reversed(asks)] == list(together)[::-1]


@given(st.integers(0, 2**63), st.integers(0, 50), st.integers(1, 50))
def test_samples_of_all_seeds_have_luck_of_their_own(seed: int, sample: int, further: int) -> None:
    drawn = stream(seed, sample).random(4)
    assert (stream(seed, 0).random(4) == np.random.default_rng(seed).random(4)).all()
    for other in ((seed, sample + further), (seed + further, sample), (seed + (1 << 32), 0)):
        assert (stream(*other).random(4) != drawn).all()


def test_a_person_is_not_asked_for_several_answers() -> None:
    reading, writing = os.pipe()
    with pytest.raises(ModelError, match="not 2") as raised:
        TerminalModel(reading).answer([Generate(PROMPT, 5, n=2)])
    assert "\n" not in str(raised.value)
    os.close(reading)
    os.close(writing)


def test_what_has_its_usual_value_is_not_in_the_log() -> None:
    logged = exchange(Generate(Prompt("a\n", "b"), 5), Generation("c", 1, 1), {})
    assert sorted(json.loads(encode(logged))) == [
        *("cue", "kind", "logical_tokens", "settings", "shared", "static", "text", "tokens")
    ]
