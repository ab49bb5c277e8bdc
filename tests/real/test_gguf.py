"""A GGUF file in llama.cpp: unpacked for Gauntlet's own engine, and SmolLM2 with 4-bit weights."""

from __future__ import annotations

import math
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from gauntlet.common.errors import UserError
from gauntlet.models.base import Generate, Prompt, Score, Scores
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.llama_cpp.sources import Gguf
from tests.gguf_files import SMOLLM2, write_gguf
from tests.real.fetch import unpack_gguf

installed = pytest.mark.skipif(
    not (find_spec("xllamacpp") and find_spec("gguf")), reason="the extra gguf is not installed"
)
real = [
    pytest.mark.real,
    installed,
    pytest.mark.skipif(not SMOLLM2.is_file(), reason="no SmolLM2 here: make real-models"),
]
LETTERS = ("A", "B", "C")
RULES = "Rules: take a letter.\n"
QUESTION = Prompt(RULES, "A: one, B: two. Which?\n", "Answer:")


def source(file: Path, **settings: Any) -> Gguf:
    return Gguf(str(file), **{"threads": 1, "slots": 1, **settings})


def scores(model: Any, prompt: Prompt) -> Scores:
    (reply,) = model.answer([Score((prompt,), LETTERS)])
    assert isinstance(reply, Scores)
    return reply


@installed
def test_a_file_unpacked_for_our_engine_scores_the_same(tmp_path: Path) -> None:
    """Up to the rounding of llama.cpp, which keeps keys and values in 16 bits."""
    file = write_gguf(tmp_path / "tiny.gguf")
    with closing(source(file).load()) as model:
        theirs = scores(model, QUESTION)
    assert unpack_gguf(file) == tmp_path / "tiny"
    ours = scores(Checkpoint(str(tmp_path / "tiny")).load(), QUESTION)
    assert ours.logprobs[0] == pytest.approx(theirs.logprobs[0], abs=0.05)
    assert ours.tokens == theirs.tokens
    with pytest.raises(UserError, match="is there already"):
        unpack_gguf(tmp_path / "tiny.gguf")
    other = write_gguf(tmp_path / "odd.gguf", architecture="rwkv9")
    with pytest.raises(UserError, match="transformers cannot unpack it: GGUF model with arch"):
        unpack_gguf(other)
    assert not (tmp_path / "odd").exists()


class TestReal:
    """SmolLM2-135M-Instruct, with four-bit weights."""

    pytestmark = real

    def test_it_knows_the_next_letter(self) -> None:
        with closing(source(SMOLLM2, chat=False, context=256).load()) as model:
            row = scores(model, Prompt("", "A B C A B C A B C A B")).logprobs[0]
            assert row.index(max(row)) == 2
            assert sum(map(math.exp, row)) > 0.25

    def test_it_writes_json_where_asked(self) -> None:
        prompt = Prompt("", "Reply with a JSON object that gives a colour.")
        with closing(source(SMOLLM2, context=256).load()) as model:
            (reply,) = model.answer([Generate(prompt, 40, json=True)])
            assert reply.text.lstrip().startswith("{")

    def test_scores_of_four_bit_weights_are_the_same_to_the_last_bit(self) -> None:
        prompts = [Prompt(RULES * 4, f"Turn {n}.\n", "Answer:") for n in range(4)]
        with closing(source(SMOLLM2, context=256).load()) as model:
            first = [scores(model, one).logprobs for one in prompts]
            again = [scores(model, one).logprobs for one in reversed(prompts)]
        assert first == again[::-1]
